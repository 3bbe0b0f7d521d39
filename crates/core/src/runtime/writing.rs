//! Starts the writer and the publisher.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use countersign_wire::ConsoleId;
use parking_lot::Mutex;
use tokio::runtime::RuntimeFlavor;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinHandle;

use super::{App, AppEvent, Health, Role};
use crate::Fault;
use crate::bus::Bus;
use crate::clock::Clock;
use crate::ops::hello_barrier::HelloBarrier;
use crate::ops::job::BusBinding;
use crate::ops::{
    Judge, Peers, Publisher, Queues, Thread, WriterConfig, WriterHandles, WriterState, WriterTask,
    durable, outcome,
};
use crate::store::{self, meta};

const OUTGOING: usize = 4_096;
/// How long a console that starts leaves its search index alone.
const AFTER_START: Duration = Duration::from_secs(1);

const WRITER_ENDED: &str = "internal error: the writer stopped; restart the console";

pub(super) async fn start_writer(
    app: &App,
    mut writer: store::Writer,
    queues: Queues,
) -> Result<(), Fault> {
    let shared = &app.inner.shared;
    let role = app.inner.role;
    let read_only = match role {
        Role::Beside => meta::get(&shared.reader, meta::READ_ONLY).await?,
        _ => None,
    };
    let bus = shared.bus.subscribe();
    let mut state = WriterState::new(WriterConfig {
        identity: Arc::clone(&shared.identity),
        clock: Arc::clone(&shared.clock),
        largest: Box::new(move || bus.borrow().as_ref().map_or(usize::MAX, Bus::max_payload)),
        trusted: shared.trusted.clone(),
        waiting_limit: app.inner.options.waiting_limit,
        stall_limits: app.inner.options.stall_limits,
        settlements: shared.settlements.clone(),
        peers: Peers {
            me: ConsoleId::from(shared.identity.console_id),
            consoles: Arc::clone(&shared.consoles),
        },
        policy_known: shared.policy_known.clone(),
        controls: Arc::clone(shared.registers.controls()),
        judge: Judge::new(Arc::clone(&shared.registers)),
        projects: role == Role::Console,
    });
    state.bus = shared.realm().map(|realm| BusBinding {
        realm,
        root: *shared.trusted.log().root(),
        epochs: BTreeMap::new(),
        hellos: HelloBarrier::default(),
        hello_gap: false,
        hellos_stored: 0,
    });
    state.read_only = read_only
        .filter(|why| !why.is_empty())
        .map(|why| ("read_only".to_owned(), why));
    state.searchable_in = Some(AFTER_START);
    let (outgoing, queue) = mpsc::channel(OUTGOING);
    // Beside a console, a process makes one change and ends: its commit waits for the disk itself.
    let durable = match role {
        Role::Console => {
            let log = writer.sync_apart()?;
            let (ours, theirs) = durable(move || log.sync());
            app.inner.tasks.spawn_blocking(move || theirs.run());
            Some(ours)
        }
        _ => None,
    };
    let handles = WriterHandles {
        durable,
        queues,
        outgoing,
        settlements: shared.settlements.clone(),
        events: shared.events.clone(),
        positions: shared.positions.clone(),
        health: shared.health.clone(),
    };
    let writer = WriterTask::new(writer, state, handles)?;
    let publisher = Publisher {
        bus: shared.bus.subscribe(),
        compared: shared.compared.subscribe(),
        projects: role == Role::Console,
        stop: app.inner.stop.clone(),
        clock: Arc::clone(&shared.clock),
        trusted: shared.trusted.clone(),
        controls: Arc::clone(shared.registers.controls()),
        policy_known: shared.policy_known.clone(),
        jobs: shared.jobs.clone(),
        outcome,
        settlements: shared.settlements.clone(),
        in_flight: Arc::new(Mutex::new(HashSet::new())),
    };
    let tasks = app.inner.tasks.clone();
    let stop = app.inner.stop.clone();
    app.inner.tasks.spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = publisher.run(queue, tasks) => {}
        }
    });
    let runtime = tokio::runtime::Handle::current();
    let tasks = &app.inner.tasks;
    let writing = match runtime.runtime_flavor() {
        // On the only thread the others would wait for SQLite.
        RuntimeFlavor::CurrentThread => {
            tasks.spawn_blocking(move || runtime.block_on(writer.run(Thread::Own)))
        }
        _ => tasks.spawn(writer.run(Thread::Shared)),
    };
    tasks.spawn(report_breakage(
        writing,
        Arc::clone(&shared.clock),
        shared.health.clone(),
        shared.events.clone(),
    ));
    Ok(())
}

/// A console whose writer ended by a fault of the program stores and decides nothing; its people must learn of it.
async fn report_breakage(
    writing: JoinHandle<()>,
    clock: Arc<dyn Clock>,
    health: watch::Sender<Health>,
    events: broadcast::Sender<AppEvent>,
) {
    if !writing.await.is_err_and(|ended| ended.is_panic()) {
        return;
    }
    tracing::error!(WRITER_ENDED);
    let now = clock.now();
    health.send_modify(|health| health.fails(WRITER_ENDED.to_owned(), now));
    // Without a subscriber nobody listens.
    let _ = events.send(AppEvent::Status);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::clock::BusClock;

    #[tokio::test]
    async fn a_writer_that_broke_is_told_and_one_that_ended_is_not() {
        for breaks in [true, false] {
            let health = watch::Sender::default();
            let (events, mut reported) = broadcast::channel(1);
            let writing = tokio::spawn(async move { assert!(!breaks, "a fault") });
            report_breakage(writing, BusClock::new(), health.clone(), events).await;
            let failed = health.borrow().store_failed.clone();
            assert_eq!(failed.as_deref(), breaks.then_some(WRITER_ENDED));
            assert_eq!(reported.try_recv().is_ok(), breaks);
        }
    }
}
