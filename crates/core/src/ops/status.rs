//! The console's status.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_wire::Stream;

use super::presence::LiveConsole;
use crate::Fault;
use crate::bus::Bus;
use crate::domain::Timestamp;
use crate::domain::controls::Controls;
use crate::runtime::{App, Role};
use crate::store::alarms::Alarm;
use crate::store::{agents, audit, bus_stream, meta, newer, outbox, requests};

pub use crate::domain::stall::ALIVE_MS;

/// How long the bus is waited for when it is asked how far its streams are.
const POSITION_LIMIT: Duration = Duration::from_secs(1);

const UNREAD_LOOK: Duration = Duration::from_millis(100);

/// One stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPosition {
    /// Last sequence on the bus; none while it is not reached.
    pub last_seq: Option<u64>,
    /// Last sequence that is projected here.
    pub projected_seq: u64,
    /// Whether a message on the bus is not read here yet; none where that is unknown.
    pub behind: Option<bool>,
}

/// What is on the bus and not read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread {
    /// At most so many messages.
    pub messages: u64,
    /// Whether some were read meanwhile.
    pub moves: bool,
}

/// Everything that `status` and the status bar show.
#[derive(Debug, Clone)]
pub struct Status {
    /// Whether requests can be sent to the bus now.
    pub connected: bool,
    /// Without user, password or token.
    pub url: Option<String>,
    /// Version of the server.
    pub server_version: Option<String>,
    /// In which ways the bus is less safe than it should be.
    pub insecure: Vec<&'static str>,
    /// Projected streams by name.
    pub streams: BTreeMap<String, StreamPosition>,
    /// Whether the past is read.
    pub caught_up: bool,
    /// Requests that wait.
    pub waiting: i64,
    /// Messages that were rejected.
    pub rejected: i64,
    /// Decisions and votes that are held or on their way.
    pub outbox: i64,
    /// Agents that were heard lately.
    pub agents: i64,
    /// The consoles of the realm that are there.
    pub consoles: Vec<LiveConsole>,
    /// When this was read, by the server's time.
    pub at: Timestamp,
    /// Panic, pauses, stops and bypasses.
    pub controls: Controls,
    /// Rules that approve now, in all workspaces; none under panic.
    pub rules_approving: usize,
    /// What a person must look at, newest first.
    pub alarms: Vec<Alarm>,
    /// The end of the audit chain.
    pub audit: audit::Head,
    /// The last audit row that is anchored on the bus.
    pub anchored_seq: i64,
    /// Why nothing is decided.
    pub read_only: Option<String>,
    /// Why the store takes no writes.
    pub store_failed: Option<String>,
}

impl App {
    /// How the console is now.
    pub async fn status(&self) -> Result<Status, Fault> {
        let reader = self.reader();
        let (waiting, rejected) = requests::counts(reader).await?;
        let now = self.now().0;
        let heard = |seen: Option<i64>| seen.is_some_and(|at| now - at < ALIVE_MS);
        let known = agents::all(reader).await?;
        let (streams, complete) = self.positions().await?;
        let state = self.bus().map(|bus| bus.state().borrow().clone());
        let read_only = meta::get(reader, meta::READ_ONLY)
            .await?
            .filter(|why| !why.is_empty())
            .or_else(|| self.why_no_decision());
        let (at, controls) = (self.now(), self.controls().await?);
        let rules_approving = match controls.panic() {
            Some(_) => 0,
            None => self.inner.shared.registers.approving(at),
        };
        Ok(Status {
            connected: state.as_ref().is_some_and(|state| state.connected),
            url: state
                .as_ref()
                .map(|state| state.url_without_secrets.clone()),
            server_version: state.as_ref().map(|state| state.server_version.clone()),
            insecure: state
                .map(|s| s.insecure.iter().map(|i| i.word()).collect())
                .unwrap_or_default(),
            streams,
            caught_up: if self.role() == Role::Console {
                *self.caught_up().borrow()
            } else {
                complete
            },
            waiting,
            rejected,
            outbox: outbox::count_open(reader).await?,
            agents: i64::try_from(known.iter().filter(|a| heard(a.last_seen)).count()).unwrap_or(0),
            consoles: self.consoles().await,
            at,
            controls,
            rules_approving,
            alarms: self.standing_alarms().await?,
            audit: audit::current_head(reader).await?,
            anchored_seq: audit::anchored_seq(reader).await?,
            read_only,
            store_failed: self.store_failed().map(|failed| failed.why),
        })
    }

    /// What is wrong with a store that a newer version wrote; none of this version or an older one.
    pub async fn newer_store(&self) -> Result<Option<Fault>, Fault> {
        Ok(newer(self.reader()).await?.map(Fault::from))
    }

    /// Why the oldest decision or vote that the bus has not taken is not there; none while all go out.
    pub async fn not_taken(&self) -> Result<Option<String>, Fault> {
        Ok(outbox::oldest_error(self.reader()).await?)
    }

    /// How many decisions and votes wait for the bus.
    pub async fn queued(&self) -> Result<i64, Fault> {
        Ok(outbox::under_way(self.reader()).await?)
    }

    /// How many requests wait.
    pub async fn waiting(&self) -> Result<i64, Fault> {
        Ok(requests::counts(self.reader()).await?.0)
    }

    /// What is not read here after `patience`; none when everything is, or the bus did not answer in that time.
    pub async fn unread(&self, patience: Duration) -> Result<Option<Unread>, Fault> {
        let begun = tokio::time::Instant::now();
        let mut first = None;
        loop {
            let (streams, _) = self.positions().await?;
            let behind = streams.values().filter(|at| at.behind == Some(true));
            let messages = behind
                .map(|at| at.last_seq.unwrap_or(0).saturating_sub(at.projected_seq))
                .sum();
            // A bus that is slow to answer may hold more than it said.
            let known = self.bus().is_none() || streams.values().all(|at| at.behind.is_some());
            let over = begun.elapsed() >= patience;
            if messages == 0 && (known || over) {
                return Ok(None);
            }
            let read = streams.values().map(|at| at.projected_seq).sum::<u64>();
            let moves = *first.get_or_insert(read) != read;
            if over {
                return Ok(Some(Unread { messages, moves }));
            }
            tokio::time::sleep(UNREAD_LOOK).await;
        }
    }

    /// Positions of the projected streams, and whether nothing is left to be read.
    async fn positions(&self) -> Result<(BTreeMap<String, StreamPosition>, bool), Fault> {
        const PROJECTED: [&str; 5] = [
            Stream::Requests.name(),
            Stream::Decisions.name(),
            Stream::Receipts.name(),
            Stream::Agents.name(),
            Stream::Events.name(),
        ];
        let rows = bus_stream::all(self.reader()).await?;
        let bus = self.bus();
        let mut streams = BTreeMap::new();
        let mut complete = bus.is_some();
        let asked = PROJECTED.map(|name| last_sequence(bus.as_ref(), name));
        let last = futures::future::join_all(asked).await;
        for (name, last_seq) in PROJECTED.into_iter().zip(last) {
            let next = rows
                .iter()
                .find(|row| row.stream == *name)
                .map_or(1, |row| row.next_seq);
            let projected_seq = u64::try_from(next - 1).unwrap_or(0);
            let counts = [Stream::Requests.name(), Stream::Decisions.name()].contains(&name);
            let behind = match (&bus, last_seq) {
                (_, Some(last)) if projected_seq >= last => Some(false),
                // The last may have been removed.
                (Some(bus), Some(_)) => {
                    let next = bus.read_next(name, ">", projected_seq + 1).await;
                    next.ok().map(|next| next.is_some())
                }
                _ => None,
            };
            complete &= !counts || behind == Some(false);
            streams.insert(
                name.to_owned(),
                StreamPosition {
                    last_seq,
                    projected_seq,
                    behind,
                },
            );
        }
        Ok((streams, complete))
    }
}

/// None where the bus does not answer in time: whoever asks how the console is must not wait for a bus that is away.
async fn last_sequence(bus: Option<&Bus>, stream: &str) -> Option<u64> {
    let bus = bus.filter(|bus| bus.state().borrow().connected)?;
    let asked = tokio::time::timeout(POSITION_LIMIT, bus.last_sequence(stream));
    asked.await.ok()?.ok()
}
