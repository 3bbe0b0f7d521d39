//! Keeps the projection joined to the bus: compares, subscribes, catches up.
//!
//! Refuses to project a bus that is not the remembered one: another epoch, other settings or a stream
//! that went back make the console read-only until a person has looked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{Stream, Subject};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::incoming;
use super::job::{BusBinding, Job};
use super::operators::Operators;
use crate::bus::{Bus, BusIdentity, MAX_BATCH, StreamMessage, drain_batch};
use crate::error::OpError;
use crate::runtime::Shared;
use crate::store::bus_stream::Position;
use crate::store::{bus_stream, meta};

const PROJECTED: [Stream; 4] = [
    Stream::Requests,
    Stream::Decisions,
    Stream::Receipts,
    Stream::Agents,
];
const CATCH_UP_LOOK: Duration = Duration::from_secs(1);

/// A console's tie to its bus.
pub(crate) struct Link {
    pub(crate) shared: Arc<Shared>,
    pub(crate) bus: Bus,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Link {
    /// Joins the bus: creates what a new folder may create, compares what an old one remembers, and
    /// starts the intake.
    pub(crate) async fn join(&self) -> Result<(), OpError> {
        let remembered = meta::get(&self.shared.reader, meta::REALM).await?;
        let create = remembered.is_none();
        let identity = match self.bus.ensure(create, self.shared.replicas).await {
            Ok(identity) => identity,
            Err(error) if error.code() == "bus_streams_missing" => {
                let why = ("streams_missing".to_owned(), error.to_string());
                return self.send(Job::ReadOnly(Some(why))).await;
            }
            Err(error) => return Err(error.into()),
        };
        let positions = bus_stream::all(&self.shared.reader).await?;
        let difference = difference(&identity, remembered.as_deref(), &positions);
        self.send(Job::ReadOnly(difference.clone())).await?;
        if difference.is_some() {
            return Ok(());
        }
        self.send(Job::Bound(binding(&identity))).await?;
        if let Ok(mut realm) = self.shared.realm.write() {
            *realm = Some(identity.realm);
        }
        let operators = Operators {
            shared: Arc::clone(&self.shared),
            bus: self.bus.clone(),
            realm: identity.realm,
            last_learned: Arc::default(),
        };
        operators.register().await?;
        for stream in PROJECTED {
            let next = positions
                .iter()
                .find(|position| position.stream == stream.name());
            let next = next.map_or(1, |position| u64::try_from(position.next_seq).unwrap_or(1));
            self.project(stream, next, operators.clone());
        }
        self.tasks.spawn(operators.clone().watch(self.stop.clone()));
        self.hear_agents().await?;
        self.tasks.spawn(catch_up(
            Arc::clone(&self.shared),
            targets(&identity),
            self.stop.clone(),
        ));
        Ok(())
    }

    async fn send(&self, job: Job) -> Result<(), OpError> {
        self.shared
            .jobs
            .send(job)
            .await
            .map_err(|_| OpError::stopped())
    }

    fn project(&self, stream: Stream, next_seq: u64, operators: Operators) {
        let mut messages = self.bus.subscribe(stream.name(), next_seq);
        let jobs = self.shared.jobs.clone();
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            loop {
                let batch = tokio::select! {
                    () = stop.cancelled() => return,
                    batch = drain_batch(&mut messages, MAX_BATCH) => batch,
                };
                if batch.is_empty() {
                    return;
                }
                if stream == Stream::Decisions {
                    operators.learn_signers(&batch).await;
                }
                let Some(job) = job_of(stream, batch) else {
                    return;
                };
                if jobs.send(job).await.is_err() {
                    return;
                }
            }
        });
    }

    async fn hear_agents(&self) -> Result<(), OpError> {
        let mut signs = self.bus.subscribe_alive().await?;
        let jobs = self.shared.jobs.clone();
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            loop {
                let sign = tokio::select! {
                    () = stop.cancelled() => return,
                    sign = signs.recv() => sign,
                };
                let Some(sign) = sign else { return };
                if let Some(Subject::Alive(agent)) = Subject::parse(&sign.subject)
                    && jobs.send(Job::Alive(agent)).await.is_err()
                {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Compares again after every reconnect, and looks for what waits in the outbox.
    pub(crate) async fn watch_reconnects(self: Arc<Self>) {
        let mut reconnects = self.bus.reconnected();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                changed = reconnects.changed() => if changed.is_err() { return },
            }
            if let Err(error) = self.compare_again().await {
                tracing::warn!(%error, "the bus could not be compared after a reconnect");
            }
        }
    }

    async fn compare_again(&self) -> Result<(), OpError> {
        let identity = match self.bus.ensure(false, self.shared.replicas).await {
            Ok(identity) => identity,
            Err(error) if error.code() == "bus_streams_missing" => {
                let why = ("streams_missing".to_owned(), error.to_string());
                return self.send(Job::ReadOnly(Some(why))).await;
            }
            Err(error) => return Err(error.into()),
        };
        let remembered = meta::get(&self.shared.reader, meta::REALM).await?;
        let positions = bus_stream::all(&self.shared.reader).await?;
        if let Some(why) = difference(&identity, remembered.as_deref(), &positions) {
            return self.send(Job::ReadOnly(Some(why))).await;
        }
        self.send(Job::Rescan).await
    }
}

fn job_of(stream: Stream, batch: Vec<StreamMessage>) -> Option<Job> {
    match stream {
        Stream::Requests => Some(Job::Requests(Arc::new(
            batch.into_iter().map(incoming::request).collect(),
        ))),
        Stream::Decisions => Some(Job::Decisions(Arc::new(
            batch.into_iter().map(incoming::decision).collect(),
        ))),
        Stream::Receipts => Some(Job::Receipts(Arc::new(
            batch.into_iter().map(incoming::receipt).collect(),
        ))),
        Stream::Agents => Some(Job::Hellos(Arc::new(
            batch.into_iter().map(incoming::hello).collect(),
        ))),
        Stream::Events | Stream::Audit => None,
    }
}

fn binding(identity: &BusIdentity) -> BusBinding {
    let epochs = identity.streams.iter().map(|stream| {
        (
            stream.name,
            stream
                .epoch
                .map(|epoch| epoch.to_string())
                .unwrap_or_default(),
        )
    });
    BusBinding {
        realm: identity.realm,
        epochs: epochs.collect(),
    }
}

/// Code and sentence of the first thing that is not as remembered.
fn difference(
    identity: &BusIdentity,
    realm: Option<&str>,
    positions: &[Position],
) -> Option<(String, String)> {
    if let Some(difference) = identity.differences.first() {
        let why = format!(
            "{} of {} is {} instead of {}; set it back, or use another bus",
            difference.field, difference.stream, difference.found, difference.expected
        );
        return Some(("stream_settings".to_owned(), why));
    }
    if realm.is_some_and(|realm| realm != identity.realm.to_string()) {
        let why =
            "the bus belongs to another realm; connect to the old one, or use a new data folder";
        return Some(("realm_changed".to_owned(), why.to_owned()));
    }
    for position in positions {
        let stream = identity
            .streams
            .iter()
            .find(|stream| stream.name == position.stream)?;
        let epoch = stream
            .epoch
            .map(|epoch| epoch.to_string())
            .unwrap_or_default();
        if epoch != position.epoch {
            let why = format!("the stream {} was made anew", stream.name);
            return Some(("epoch_changed".to_owned(), why));
        }
        let next = u64::try_from(position.next_seq).unwrap_or(1);
        if stream.last_seq + 1 < next {
            let why = format!(
                "the stream {} went back from {} to {}",
                stream.name,
                next - 1,
                stream.last_seq
            );
            return Some(("stream_went_back".to_owned(), why));
        }
    }
    None
}

/// The first sequence that need not be projected before anything is shown, for each stream.
fn targets(identity: &BusIdentity) -> BTreeMap<&'static str, u64> {
    let counts = [Stream::Requests, Stream::Decisions].map(Stream::name);
    identity
        .streams
        .iter()
        .filter(|stream| counts.contains(&stream.name))
        // A stream whose messages have all aged out delivers nothing to wait for.
        .filter(|stream| stream.first_seq <= stream.last_seq && stream.last_seq > 0)
        .map(|stream| (stream.name, stream.last_seq + 1))
        .collect()
}

async fn catch_up(
    shared: Arc<Shared>,
    targets: BTreeMap<&'static str, u64>,
    stop: CancellationToken,
) {
    let mut positions = shared.positions.subscribe();
    loop {
        let done = {
            let now = positions.borrow_and_update();
            targets
                .iter()
                .all(|(stream, target)| now.get(stream).is_some_and(|at| at >= target))
        };
        if done {
            // A closed queue means that the console stops.
            let _ = shared
                .jobs
                .send(Job::CaughtUp(shared.caught_up.clone()))
                .await;
            return;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = positions.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(CATCH_UP_LOOK) => {}
        }
    }
}

/// Sends a job without waiting; a full queue drops it.
pub(super) fn offer(jobs: &mpsc::Sender<Job>, job: Job) {
    if jobs.try_send(job).is_err() {
        tracing::warn!("the writer's queue is full; a note was left out");
    }
}
