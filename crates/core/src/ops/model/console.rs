//! One console without its tasks: every step of it is a call, and it can die at each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use countersign_wire::{RequestKey, Stream};
use parking_lot::RwLock;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::bus::MemoryBus;
use crate::bus::{PolicyHeard, time_asleep};
use crate::clock::Clock;
use crate::data_dir::DataDir;
use crate::domain::presence::Consoles;
use crate::domain::{StallLimits, Timestamp};
use crate::identity::{Identity, KeyChoice};
use crate::ops::apply::bus_state;
use crate::ops::apply::{apply_all, drop_leftover_holds};
use crate::ops::automatic::Judge;
use crate::ops::hello_barrier::HelloBarrier;
use crate::ops::job::{BusBinding, Job, PastKnown};
use crate::ops::policy_feed::PolicyKnown;
use crate::ops::publisher::{Outgoing, Settlements};
use crate::ops::turns::Peers;
use crate::ops::writer_state::{Counts, WriterConfig, WriterState};
use crate::ops::{TrustedKeys, incoming};
use crate::store::{self, Reader, Writer, bus_stream};

/// When a console dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Death {
    No,
    /// Before its transaction is committed.
    Before,
    /// After that, before anybody was notified.
    After,
}

#[derive(Clone, Default)]
pub(super) struct ModelClock(Arc<AtomicI64>);

impl ModelClock {
    pub(super) fn turn(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for ModelClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_800_000_000_000 + self.0.load(Ordering::Relaxed))
    }
}

pub(super) const EPOCH: &str = "e";

pub(super) struct Console {
    folder: TempDir,
    pub(super) identity: Arc<Identity>,
    pub(super) trusted: TrustedKeys,
    realm: Uuid,
    clock: ModelClock,
    writer: Option<Writer>,
    pub(super) state: Option<WriterState>,
    pub(super) reader: Reader,
    pub(super) outgoing: Vec<Outgoing>,
    settlements: Settlements,
    /// First message of each stream that the intake has not delivered in this life.
    next: BTreeMap<Stream, u64>,
    pub(super) caught_up: bool,
    pub(super) knows_policy: bool,
}

pub(super) fn identity(folder: &TempDir, name: &str) -> Arc<Identity> {
    let data = DataDir::open(folder.path()).unwrap();
    Arc::new(Identity::open(&data, name, KeyChoice::File).unwrap())
}

impl Console {
    pub(super) async fn new(
        folder: TempDir,
        identity: Arc<Identity>,
        trusted: TrustedKeys,
        realm: Uuid,
        clock: ModelClock,
    ) -> Self {
        let path = folder.path().join("countersign.db");
        std::fs::write(&path, empty_store().await).unwrap();
        let reader = store::open_read_only(&path).await.unwrap();
        let mut console = Self {
            folder,
            identity,
            trusted,
            realm,
            clock,
            writer: None,
            state: None,
            reader,
            outgoing: Vec::new(),
            settlements: Settlements::default(),
            next: BTreeMap::new(),
            caught_up: false,
            knows_policy: true,
        };
        console.start().await;
        console
    }

    /// What a console does at its start; nothing of its last life is left in memory.
    pub(super) async fn start(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.close().unwrap();
        }
        let path = self.folder.path().join("countersign.db");
        let (mut writer, reader) = store::open(&path).await.unwrap();
        std::mem::replace(&mut self.reader, reader).close().await;
        writer.pragma_update(None, "synchronous", "OFF").unwrap();
        self.outgoing.clear();
        self.caught_up = false;
        self.settlements = Settlements::default();
        let mut state = self.blank();
        let tx = writer.begin().unwrap();
        drop_leftover_holds(&state, &tx).unwrap();
        state.counts = Counts::read(&tx).unwrap();
        tx.commit().unwrap();
        self.writer = Some(writer);
        self.state = Some(state);
        for stream in [Stream::Requests, Stream::Decisions, Stream::Receipts] {
            let writer = self.writer.as_mut().unwrap();
            let next = bus_stream::next_seq(writer, stream.name(), EPOCH).unwrap();
            let next = u64::try_from(next).unwrap();
            self.next.insert(stream, next);
        }
        let binding = BusBinding {
            realm: self.realm,
            root: *self.trusted.log().root(),
            epochs: [Stream::Requests, Stream::Decisions, Stream::Receipts]
                .map(|stream| (stream.name(), EPOCH.to_owned()))
                .into(),
            hellos: HelloBarrier::default(),
            hello_gap: false,
            hellos_stored: 0,
        };
        let bound = Job::kept(move |writer, batch| bus_state::bound(writer, batch, &binding));
        self.work(vec![bound], Death::No).await;
    }

    fn blank(&self) -> WriterState {
        let policy_known = PolicyKnown::new();
        policy_known.set(Some(heard_now()));
        WriterState::new(WriterConfig {
            identity: Arc::clone(&self.identity),
            clock: Arc::new(self.clock.clone()),
            largest: Box::new(|| usize::MAX),
            trusted: self.trusted.clone(),
            waiting_limit: 10_000,
            stall_limits: StallLimits::default(),
            settlements: self.settlements.clone(),
            peers: Peers {
                me: self.identity.console_id.into(),
                consoles: Arc::new(RwLock::new(Consoles::default())),
            },
            policy_known,
            controls: Arc::default(),
            judge: Judge::new(Arc::default()),
            projects: true,
        })
    }

    /// One transaction, as the writer makes it.
    pub(super) async fn work(&mut self, jobs: Vec<Job>, death: Death) {
        let state = self.state.as_mut().unwrap();
        let known = self.knows_policy.then(heard_now);
        state.policy_known.set(known);
        let now = state.clock.now();
        let tx = self.writer.as_mut().unwrap().begin().unwrap();
        let settlements = self.settlements.clone();
        let gathered = apply_all(state, &tx, now, &settlements, jobs).unwrap();
        if death == Death::Before {
            drop(tx);
            return Box::pin(self.start()).await;
        }
        tx.commit().unwrap();
        if death == Death::After {
            return Box::pin(self.start()).await;
        }
        self.outgoing.extend(gathered.outgoing);
        for reply in gathered.replies {
            reply();
        }
    }

    /// One transaction of a command that decides beside this console.
    pub(super) async fn work_beside(&mut self, jobs: Vec<Job>) {
        let mut state = self.blank();
        state.projects = false;
        state.bus.clone_from(&self.state.as_ref().unwrap().bus);
        let now = state.clock.now();
        let tx = self.writer.as_mut().unwrap().begin().unwrap();
        let settlements = Settlements::default();
        let done = apply_all(&mut state, &tx, now, &settlements, jobs);
        done.unwrap();
        tx.commit().unwrap();
    }

    /// The intake: up to `count` messages of a stream in its order.
    pub(super) async fn deliver(
        &mut self,
        bus: &MemoryBus,
        stream: Stream,
        count: usize,
        death: Death,
    ) {
        // Reports are read after what they are about.
        if stream == Stream::Receipts && !self.caught_up {
            return;
        }
        let next = self.next[&stream];
        let messages: Vec<_> = bus.of(stream)[next as usize - 1..]
            .iter()
            .take(count)
            .map(|stored| stored.message(stream))
            .collect();
        if messages.is_empty() {
            return;
        }
        self.next.insert(stream, next + messages.len() as u64);
        let job = match stream {
            Stream::Requests => Job::Requests(Arc::new(
                messages.into_iter().map(incoming::request).collect(),
            )),
            Stream::Decisions => Job::Decisions(Arc::new(
                messages.into_iter().map(incoming::decision).collect(),
            )),
            _ => Job::Receipts(Arc::new(
                messages.into_iter().map(incoming::receipt).collect(),
            )),
        };
        self.work(vec![job], death).await;
    }

    /// Reads what the streams hold; `first` says which of the two is read first.
    pub(super) async fn catch_up(&mut self, bus: &MemoryBus, first: Stream) {
        let other = match first {
            Stream::Requests => Stream::Decisions,
            _ => Stream::Requests,
        };
        for stream in [first, other] {
            self.deliver(bus, stream, usize::MAX, Death::No).await;
        }
        if !self.caught_up {
            self.caught_up = true;
            let reported = PastKnown::new(Default::default(), CancellationToken::new());
            self.work(vec![bus_state::caught_up(reported)], Death::No)
                .await;
        }
        self.deliver(bus, Stream::Receipts, usize::MAX, Death::No)
            .await;
        self.work(vec![bus_state::reports_known()], Death::No).await;
    }

    /// Time passes: what is due is done.
    pub(super) async fn tick(&mut self, death: Death) {
        let state = self.state.as_mut().unwrap();
        state.next_due = None;
        self.work(Vec::new(), death).await;
    }

    /// Its store, for questions.
    pub(super) fn store(&self) -> &Writer {
        self.writer.as_ref().unwrap()
    }

    /// The first column of every row.
    pub(super) fn texts(&self, sql: &str, of: &[&str]) -> Vec<String> {
        let mut select = self.store().prepare(sql).unwrap();
        let of = of.iter();
        let found = of.enumerate().map(|(at, value)| (at + 1, value));
        for (at, value) in found {
            select.raw_bind_parameter(at, value).unwrap();
        }
        let rows = select.raw_query().mapped(|row| row.get(0));
        rows.collect::<Result<_, _>>().unwrap()
    }

    pub(super) fn state(&self, key: &RequestKey) -> Option<String> {
        let sql = "SELECT state FROM requests WHERE ws = ? AND agent = ? AND request_id = ?";
        let of = [
            key.workspace.as_ref(),
            key.agent.as_ref(),
            key.request_id.as_ref(),
        ];
        self.texts(sql, &of).pop()
    }
}

/// A store that was just made: making one costs more than a whole life in it.
async fn empty_store() -> &'static [u8] {
    static EMPTY: tokio::sync::OnceCell<Vec<u8>> = tokio::sync::OnceCell::const_new();
    let make = async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countersign.db");
        let (writer, reader) = store::open(&path).await.unwrap();
        reader.close().await;
        writer.close().unwrap();
        std::fs::read(&path).unwrap()
    };
    EMPTY.get_or_init(make).await
}

/// The bus answers at this moment.
fn heard_now() -> PolicyHeard {
    PolicyHeard {
        at: tokio::time::Instant::now(),
        asleep: time_asleep(),
        last_revision: 0,
    }
}
