//! Keeps the projection joined to the bus: compares, subscribes, catches up.
//!
//! A bus that differs from the remembered one (another epoch, other settings, a stream that was rolled back) makes the
//! console read-only until a person has looked.

mod another;
mod binding;
mod past;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use countersign_wire::Stream;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::binding::{binding, difference, is_known};
use self::past::{reached, targets};
use super::agent_flood;
use super::alarms;
use super::apply::bus_state;
use super::heartbeats;
use super::hello_barrier::HelloBarrier;
use super::hello_gap::is_one_unread;
use super::incoming;
use super::job::{Job, PastKnown};
use super::lost_anchors;
use super::policy_feed::PolicyFeed;
use super::presence;
use super::realm::found::{self, FoundError};
use super::realm::join;
use super::realm::watch;
use super::rollback::{Remembered, epoch_of};
use super::stream_quota;
use crate::Fault;
use crate::bus::{Bus, BusError, BusEvent, MAX_BATCH, POLICY_STREAM, StreamMessage, drain_batch};
use crate::runtime::Shared;
use crate::runtime::stopped;
use crate::store::bus_stream::Position;
use crate::store::{bus_stream, meta};

/// Read before anything is shown as pending, and before rules judge it: what a hello says of a tool may be why they ask.
const FIRST: [Stream; 3] = [Stream::Requests, Stream::Decisions, Stream::Agents];
/// Read afterwards: what agents report is about requests that are then known.
const SECOND: [Stream; 2] = [Stream::Receipts, Stream::Events];
const CATCH_UP_LOOK: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// Before the bus is compared again because a stream could not be read.
const STALLED_PAUSE: Duration = Duration::from_secs(1);
/// How long the writer may take to take up a stream from its beginning.
const BEGIN_LIMIT: Duration = Duration::from_secs(30);
/// Messages read in one turn of a task: about half a millisecond, where a decision may wait for the writer's turn.
const AT_ONCE: usize = 64;
/// How long the tasks of a lost connection may take to end.
const SESSION_END: Duration = Duration::from_secs(5);

/// A console's tie to its bus.
pub(crate) struct Link {
    pub(crate) shared: Arc<Shared>,
    pub(crate) bus: Bus,
    pub(crate) stop: CancellationToken,
    /// Whether what the own server lost in a power cut has yet to be published again: that comes before anything else
    /// that is put back.
    pub(crate) cut_off: Arc<AtomicBool>,
}

/// What runs from one comparison of the bus to the loss of the connection.
pub(crate) struct Session {
    stop: CancellationToken,
    tasks: TaskTracker,
    reconnects: u64,
    /// Events of the bus since then.
    events: broadcast::Receiver<BusEvent>,
    /// What the last recovery of the bus recorded.
    recovered: Option<String>,
}

impl Session {
    async fn end(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(SESSION_END, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("some tasks of the lost connection did not end in time");
        }
    }
}

impl Link {
    /// Joins the bus: creates what a new folder may create, compares what an old one remembers, and
    /// starts the intake where the store has stopped.
    ///
    /// A bus that is not the remembered one makes the console read-only; its session does nothing.
    pub(crate) async fn join(&self) -> Result<Session, Fault> {
        let recovered = meta::get(&self.shared.reader, meta::RECOVERED).await?;
        let session = Session {
            stop: self.stop.child_token(),
            tasks: TaskTracker::new(),
            reconnects: *self.bus.reconnected().borrow(),
            events: self.bus.events(),
            recovered,
        };
        match self.start(&session).await {
            Ok(()) => Ok(session),
            Err(error) => {
                session.end().await;
                Err(error)
            }
        }
    }

    async fn start(&self, session: &Session) -> Result<(), Fault> {
        self.send(Job::Lagging).await?;
        let remembered = meta::get(&self.shared.reader, meta::REALM).await?;
        // Before the bus is asked: what is stored meanwhile must not look like a rollback of the bus.
        let mut positions = bus_stream::all(&self.shared.reader).await?;
        let create = remembered.is_none();
        let root = meta::get(&self.shared.reader, meta::ROOT).await?;
        let known = (remembered.as_deref(), root.as_deref());
        let identity = match found::ensure(&self.shared, &self.bus, create).await {
            Ok(identity) => identity,
            Err(FoundError::Bus(error @ BusError::StreamsMissing { .. })) => {
                let why = ("streams_missing".to_owned(), error.to_string());
                let found = self.bus.survey().await?;
                let same = is_known((found.realm, found.root), known);
                return self.is_another(Some(why), same).await.map(drop);
            }
            Err(error) => return Err(error.into()),
        };
        let difference = match difference(&identity, known, &positions) {
            Some(difference) => Some(difference),
            None => {
                let console = self.shared.identity.console_id.into();
                let known = Remembered::read(&self.shared.reader, console, positions.clone());
                let known = known.await?;
                let back = known.rollback(&self.bus, &identity.streams).await?;
                let first = back.into_iter().next();
                first.map(|back| ("stream_went_back".to_owned(), back.why))
            }
        };
        let same = is_known((Some(identity.realm), identity.root), known);
        if self.is_another(difference, same).await? {
            return Ok(());
        }
        let bucket = identity.streams.iter().find(|at| at.name == POLICY_STREAM);
        if let Some(epoch) = bucket.and_then(|bucket| bucket.epoch) {
            self.shared.policy_counts_under(&epoch.to_string());
        }
        let hellos = HelloBarrier::default();
        let again = is_one_unread(&self.shared.reader, &self.bus, &positions).await?;
        let Some(root) = identity.root else {
            return Err(Fault::environment(
                "CS_DECISIONS names no root of a realm log; use another bus",
            ));
        };
        let binding = binding(&identity, root, hellos.clone(), again);
        self.send(Job::kept(move |writer, batch| {
            bus_state::bound(writer, batch, &binding)
        }))
        .await?;
        if again {
            self.begin_hellos_anew(&mut positions).await?;
        }
        *self.shared.realm.write() = Some(identity.realm);
        session.tasks.spawn(stream_quota::run(
            Arc::clone(&self.shared),
            self.bus.clone(),
            session.stop.clone(),
        ));
        session.tasks.spawn(agent_flood::run(
            Arc::clone(&self.shared),
            self.bus.clone(),
            session.stop.clone(),
        ));
        // Until it is written, the audit log does not count as whole; nothing else depends on it.
        if let Err(error) = lost_anchors::note(&self.shared, &self.bus).await {
            tracing::warn!(%error, "the anchors that a restore lost are not named yet");
        }
        let first = targets(&self.bus, &identity, &FIRST).await?;
        let reports = targets(&self.bus, &identity, &[Stream::Receipts]).await?;
        let decided = targets(&self.bus, &identity, &[Stream::Decisions]).await?;
        self.hear_agents(session);
        for stream in FIRST {
            session
                .tasks
                .spawn(self.project(session, (stream, &hellos), &positions));
        }
        found::publish_founding(&self.shared, &self.bus, &root).await?;
        let agents = identity
            .streams
            .iter()
            .find(|at| at.name == Stream::Agents.name());
        let bus = (self.bus.clone(), agents.map(epoch_of).unwrap_or_default());
        let shared = Arc::clone(&self.shared);
        session
            .tasks
            .spawn(hellos.clone().run(shared, bus, session.stop.clone()));
        let feed = PolicyFeed {
            shared: Arc::clone(&self.shared),
            bus: self.bus.clone(),
            realm: identity.realm,
        };
        session.tasks.spawn(watch(
            Arc::clone(&self.shared),
            self.bus.clone(),
            session.stop.clone(),
        ));
        let by_itself = join::run(
            Arc::clone(&self.shared),
            self.bus.clone(),
            session.stop.clone(),
        );
        let (shared, bus, stop) = (
            Arc::clone(&self.shared),
            self.bus.clone(),
            session.stop.clone(),
        );
        let policy_tasks = session.tasks.clone();
        session.tasks.spawn(async move {
            // Who signed the values of the shared policy is in the log.
            if reached(&shared, &bus, decided, &stop).await {
                policy_tasks.spawn(by_itself);
                feed.run(stop).await;
            }
        });
        let second: Vec<_> = SECOND
            .map(|stream| self.project(session, (stream, &hellos), &positions))
            .into();
        let tasks = session.tasks.clone();
        let (shared, bus) = (Arc::clone(&self.shared), self.bus.clone());
        let stop = session.stop.clone();
        let sign = presence::run(
            Arc::clone(&self.shared),
            self.bus.clone(),
            identity.realm,
            session.stop.clone(),
        );
        session.tasks.spawn(async move {
            if !reached(&shared, &bus, first, &stop).await {
                return;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = shared.policy_known.wait() => {}
            }
            // A closed queue means that the console stops.
            let reported = PastKnown::new(shared.caught_up.clone(), stop.clone());
            let _ = shared.streams.send(bus_state::caught_up(reported)).await;
            for projection in second {
                tasks.spawn(projection);
            }
            tasks.spawn(sign);
            if reached(&shared, &bus, reports, &stop).await {
                let _ = shared.streams.send(bus_state::reports_known()).await;
            }
        });
        self.shared.compared.send_replace(true);
        Ok(())
    }

    /// Keeps joining: after every reconnect the bus is compared and read on from where the store is.
    pub(crate) async fn run(self, first: Session) {
        let mut session = first;
        loop {
            if !self.lost(&mut session).await {
                session.end().await;
                return;
            }
            self.shared.compared.send_replace(false);
            session.stop.cancel();
            // Nobody reports that session's past any more; what happens on the bus meanwhile is unknown.
            self.shared.caught_up.send_replace(false);
            session.end().await;
            let mut wait = FIRST_RETRY;
            session = loop {
                match self.join().await {
                    Ok(session) => {
                        tracing::debug!("joined the bus again");
                        break session;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the bus could not be joined after a reconnect");
                    }
                }
                tokio::select! {
                    () = self.stop.cancelled() => return,
                    () = tokio::time::sleep(wait) => {}
                    () = self.comes_back() => {}
                }
                wait = (wait * 2).min(LONGEST_RETRY);
            };
        }
    }

    /// Waits until the connection is lost or was renewed, or the bus must be compared again; false when the console stops.
    async fn lost(&self, session: &mut Session) -> bool {
        let Session {
            reconnects,
            events,
            recovered,
            ..
        } = session;
        let (mut renewed, mut state) = (self.bus.reconnected(), self.bus.state());
        tokio::select! {
            () = self.stop.cancelled() => false,
            changed = renewed.wait_for(|count| count != reconnects) => changed.is_ok(),
            changed = state.wait_for(|state| !state.connected) => changed.is_ok(),
            () = self.recovered(recovered.as_ref()) => true,
            () = self.compared_long_ago() => true,
            () = stalled(events, &self.shared.streams) => true,
        }
    }

    /// Waits until the writer is at the first hello, so that all of them are read again.
    async fn begin_hellos_anew(&self, positions: &mut [Position]) -> Result<(), Fault> {
        let name = Stream::Agents.name();
        for position in positions.iter_mut().filter(|at| at.stream == name) {
            position.next_seq = 1;
        }
        let mut places = self.shared.positions.subscribe();
        let begun = places.wait_for(|places| places.get(name).is_some_and(|at| at.next == 1));
        match tokio::time::timeout(BEGIN_LIMIT, begun).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(stopped()),
            Err(_) => Err(Fault::failed(format!(
                "reading agent introductions timed out after {} s; the disk may be busy, try again",
                BEGIN_LIMIT.as_secs()
            ))),
        }
    }

    /// Waits until a connection that is away is there again; for ever while there is one.
    async fn comes_back(&self) {
        let mut state = self.bus.state();
        let away = !state.borrow().connected;
        if !away || state.wait_for(|state| state.connected).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn send(&self, job: Job) -> Result<(), Fault> {
        // In the order of the streams: what is read after this job is read under what it says.
        self.shared.streams.send(job).await.map_err(|_| stopped())
    }

    fn project(
        &self,
        session: &Session,
        (stream, hellos): (Stream, &HelloBarrier),
        positions: &[Position],
    ) -> impl Future<Output = ()> + Send + use<> {
        let next = positions.iter().find(|at| at.stream == stream.name());
        let next = next.map_or(1, |at| u64::try_from(at.next_seq).unwrap_or(1));
        let bus = self.bus.clone();
        let jobs = match stream {
            Stream::Events => self.shared.spans.clone(),
            _ => self.shared.streams.clone(),
        };
        let stop = session.stop.clone();
        let (shared, hellos) = (Arc::clone(&self.shared), hellos.clone());
        async move {
            let mut messages = bus.subscribe(stream.name(), next);
            loop {
                let batch = tokio::select! {
                    () = stop.cancelled() => return,
                    batch = drain_batch(&mut messages, MAX_BATCH) => batch,
                };
                if batch.is_empty() {
                    return;
                }
                for sender in incoming::unreadable(&batch) {
                    if jobs.send(alarms::unreadable(sender)).await.is_err() {
                        return;
                    }
                }
                // Asked for now, it is mostly known when rules have judged them.
                if stream == Stream::Requests
                    && !shared.registers.is_empty()
                    && *shared.caught_up.borrow()
                    && let Some(last) = batch.last()
                {
                    hellos.want(i64::try_from(last.seq + 1).unwrap_or(i64::MAX));
                }
                for piece in incoming::pieces(batch) {
                    let Some(job) = job_of(stream, piece).await else {
                        continue;
                    };
                    if jobs.send(job).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn hear_agents(&self, session: &Session) {
        let heartbeats = self.bus.subscribe_heartbeats();
        let (jobs, clock) = (self.shared.jobs.clone(), Arc::clone(&self.shared.clock));
        session.tasks.spawn(heartbeats::hear(
            heartbeats,
            jobs,
            clock,
            session.stop.clone(),
        ));
    }
}

/// Waits until a stream cannot be read, or is another one than the one that was compared, and a moment longer: a short
/// interruption costs little. Where the shared policy cannot be read, automatic decisions stop, and people still
/// decide.
async fn stalled(events: &mut broadcast::Receiver<BusEvent>, jobs: &mpsc::Sender<Job>) {
    loop {
        match events.recv().await {
            Ok(BusEvent::IntakeStalled { stream, .. }) if stream == POLICY_STREAM => {}
            Ok(
                BusEvent::IntakeStalled { stream, why } | BusEvent::StreamReplaced { stream, why },
            ) => {
                tracing::warn!(
                    stream,
                    why,
                    "a stream cannot be read; the bus is compared again"
                );
                return tokio::time::sleep(STALLED_PAUSE).await;
            }
            // Signs of life name nobody here: each one of that kind ended the connection before it was read.
            Ok(BusEvent::DeliveryLost) => {
                let sender = "countersign.v1.alive".to_owned();
                if jobs.send(alarms::unreadable(sender)).await.is_err() {
                    return std::future::pending().await;
                }
            }
            // What was missed is sent again, while it lasts.
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
        }
    }
}

async fn job_of(stream: Stream, batch: Vec<StreamMessage>) -> Option<Job> {
    Some(match stream {
        Stream::Requests => Job::Requests(Arc::new(each(batch, incoming::request).await)),
        Stream::Decisions => Job::Decisions(Arc::new(each(batch, incoming::decision).await)),
        Stream::Receipts => Job::Receipts(Arc::new(each(batch, incoming::receipt).await)),
        Stream::Agents => Job::Hellos(Arc::new(each(batch, incoming::hello).await)),
        Stream::Events => Job::Spans(Arc::new(each(batch, incoming::span).await)),
        Stream::Audit => return None,
    })
}

/// Reads the messages, and lets the tasks beside it have their turn again and again.
async fn each<T>(batch: Vec<StreamMessage>, read: impl Fn(StreamMessage) -> T) -> Vec<T> {
    let mut all = Vec::with_capacity(batch.len());
    for message in batch {
        all.push(read(message));
        if all.len() % AT_ONCE == 0 {
            tokio::task::yield_now().await;
        }
    }
    all
}
