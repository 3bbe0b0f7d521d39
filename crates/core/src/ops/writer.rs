//! The one writer: linearises every change of the store, many to a transaction.
//!
//! Callers get their answer after the commit, and people go before the streams. On a store error, stream batches are
//! retried; callers get the error immediately.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::block_in_place;
use tokio::time::Instant;

use super::apply::{apply_all, drop_leftover_holds};
use super::batching::{Flow, GATHER};
use super::durable::{Durable, Reply};
use super::job::Job;
use super::publisher::{Outgoing, Settlements};
use super::queues::{Queues, put_by};
use super::search_index;
use super::writer_state::{Counts, Effects, WriterState};
use crate::runtime::{AppEvent, Health, Positions};
use crate::store::{self, StoreError};

/// How long the writer sleeps at most: deadlines are looked at, and other processes' writes noticed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// What is left in the outbox is looked for this often.
const LEFT_BEHIND_EVERY: Duration = Duration::from_millis(500);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// Longer than a console runs.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Messages and verdicts that are usually written in well under a millisecond, so that other tasks hardly wait.
const QUICK: usize = 4;

/// Where the writer works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thread {
    /// On one that nobody else uses.
    Own,
    /// On those of the runtime, which has several.
    Shared,
}

/// The ends of the writer's channels.
pub(crate) struct WriterHandles {
    /// None where every commit waits for the disk itself.
    pub(crate) durable: Option<Durable>,
    pub(crate) queues: Queues,
    pub(crate) outgoing: mpsc::Sender<Outgoing>,
    pub(crate) settlements: Settlements,
    pub(crate) events: broadcast::Sender<AppEvent>,
    pub(crate) positions: watch::Sender<Positions>,
    pub(crate) health: watch::Sender<Health>,
}

/// The writer's state between transactions.
pub(crate) struct WriterTask {
    store: store::Writer,
    state: WriterState,
    handles: WriterHandles,
    number: u64,
    data_version: i64,
    next_look: Instant,
    next_rescan: Instant,
    next_index: Instant,
    /// Jobs of a failed transaction that must not be lost.
    backlog: Vec<Job>,
    retry: Option<Retry>,
    flow: Flow,
    /// The file is broken: this process writes no more.
    damaged: bool,
}

/// After a failure: no stream is read before this moment, and the connection is replaced.
struct Retry {
    not_before: Instant,
    wait: Duration,
}

impl WriterTask {
    pub(crate) fn new(
        mut store: store::Writer,
        mut state: WriterState,
        handles: WriterHandles,
    ) -> Result<Self, StoreError> {
        let data_version = store.data_version()?;
        let tx = store.begin()?;
        drop_leftover_holds(&state, &tx)?;
        state.counts = Counts::read(&tx)?;
        tx.commit()?;
        let now = Instant::now();
        Ok(Self {
            store,
            state,
            handles,
            number: 0,
            data_version,
            next_look: now,
            next_rescan: now,
            next_index: now + search_index::UNDER_LOAD,
            backlog: Vec::new(),
            retry: None,
            flow: Flow::new(),
            damaged: false,
        })
    }

    /// Works until it is cancelled or every handle is gone.
    pub(crate) async fn run(mut self, thread: Thread) {
        loop {
            let rests = self.is_waiting();
            let Some(mut jobs) = self.take(rests).await else {
                break;
            };
            self.flow.taken(&jobs);
            if !rests {
                jobs.extend(self.left_elsewhere());
            }
            jobs.extend(self.index(&jobs));
            self.disk_failed();
            let stops = jobs.iter().any(|job| matches!(job, Job::Stop(_)));
            if !jobs.is_empty() || (self.is_due() && !self.is_waiting()) {
                self.commit_where(thread, jobs);
            }
            if stops {
                break;
            }
            self.flow.ready();
        }
        match thread {
            Thread::Shared => block_in_place(|| self.close()),
            Thread::Own => self.close(),
        }
    }

    fn close(self) {
        if self.state.projects
            && !self.damaged
            && let Err(error) = self.store.fold_log_back()
        {
            tracing::warn!(%error, "the last changes stay in the log; the next start reads them there");
        }
        if let Err(error) = self.store.close() {
            tracing::warn!(%error, "the database was not closed cleanly; it recovers at the next start");
        }
    }

    /// What other processes wrote, or what was not handed on, asks for.
    fn left_elsewhere(&mut self) -> Vec<Job> {
        let mut jobs = Vec::new();
        if Instant::now() >= self.next_look {
            self.next_look = Instant::now() + LOOK_EVERY;
            jobs.extend(self.foreign_writes());
        }
        if self.state.left_behind && Instant::now() >= self.next_rescan {
            self.next_rescan = Instant::now() + LEFT_BEHIND_EVERY;
            jobs.push(Job::Rescan);
        }
        jobs
    }

    /// What is to be done next; none when every handle is gone.
    async fn take(&mut self, rests: bool) -> Option<Vec<Job>> {
        let sleep = self.sleep();
        let queues = &mut self.handles.queues;
        if rests {
            let jobs = queues.take(&mut self.backlog, true, sleep).await?;
            return Some(put_by(&mut self.backlog, jobs));
        }
        if self.flow.is_steady() && self.backlog.is_empty() {
            let people = queues.take(&mut Vec::new(), true, GATHER).await?;
            if !people.is_empty() {
                return Some(people);
            }
            self.flow.ready();
        }
        queues.take(&mut self.backlog, false, sleep).await
    }

    /// Commits on this thread what is done at once, and keeps anything longer from holding up the tasks that wait for
    /// this thread. A lone decision so finds everything where its caller was, and no other thread has to wake for it.
    fn commit_where(&mut self, thread: Thread, jobs: Vec<Job>) {
        let aside = thread == Thread::Shared;
        if !aside || (self.is_quick(&jobs) && self.has_lock()) {
            self.commit(jobs);
        } else {
            block_in_place(|| self.commit(jobs));
        }
        if self.store.log_is_long() && !self.damaged {
            match aside {
                true => block_in_place(|| self.store.copy_log()),
                false => self.store.copy_log(),
            }
        }
    }

    fn is_quick(&self, jobs: &[Job]) -> bool {
        let messages = |job: &Job| {
            if job.is_verdict() {
                Some(1)
            } else {
                job.messages()
            }
        };
        let few = jobs.iter().map(messages).sum::<Option<usize>>();
        few.is_some_and(|few| few <= QUICK) && self.retry.is_none() && !self.is_due()
    }

    fn has_lock(&mut self) -> bool {
        // The transaction itself meets the same error again and reports it.
        !self.damaged && self.store.try_lock().unwrap_or(false)
    }

    fn is_waiting(&self) -> bool {
        self.retry
            .as_ref()
            .is_some_and(|retry| Instant::now() < retry.not_before)
    }

    fn sleep(&self) -> Duration {
        let rest = self.until_due();
        match self.state.searchable_in.filter(|_| self.state.projects) {
            Some(pause) if !self.is_waiting() => rest.min(pause),
            _ => rest,
        }
    }

    fn until_due(&self) -> Duration {
        let Some(due) = self.state.next_due else {
            return LOOK_EVERY;
        };
        if self.is_waiting() {
            return LOOK_EVERY;
        }
        let left = due.since_ms(self.state.clock.now()).max(0);
        Duration::from_millis(u64::try_from(left).unwrap_or(0)).min(LOOK_EVERY)
    }

    /// A step of the search index, where nothing else is to be done or too long was something.
    fn index(&mut self, jobs: &[Job]) -> Option<Job> {
        self.state.searchable_in.filter(|_| self.state.projects)?;
        let now = Instant::now();
        let soonest = match jobs {
            [] => now,
            // Who asks would wait for it, once.
            jobs if jobs.iter().any(Job::is_awaited) => self.next_index + search_index::UNDER_LOAD,
            _ => self.next_index,
        };
        if self.is_waiting() || self.damaged || now < soonest {
            return None;
        }
        self.next_index = now + search_index::UNDER_LOAD;
        Some(Job::passing(|writer, batch| {
            search_index::apply(writer, batch, search_index::QUIET_STEP).map(drop)
        }))
    }

    fn is_due(&self) -> bool {
        self.state
            .next_due
            .is_some_and(|due| due <= self.state.clock.now())
    }

    /// Whether another process of this folder has written since the last look.
    fn foreign_writes(&mut self) -> Option<Job> {
        match self.store.data_version() {
            Ok(version) if version != self.data_version => {
                self.data_version = version;
                self.state.judge.registers.are_stored();
                Some(Job::Rescan)
            }
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(%error, "the database could not be read");
                None
            }
        }
    }

    /// Commits the jobs, or lets the callers go with an error and keeps the rest for later.
    fn commit(&mut self, jobs: Vec<Job>) {
        if self.damaged || self.disk_failed() {
            // Nothing is written to a broken file: it would only break more. The streams wait.
            self.store.unlock();
            return;
        }
        let kept: Vec<Job> = jobs.iter().filter_map(Job::for_backlog).collect();
        match self.try_commit(jobs) {
            Ok(effects) => {
                self.retry = None;
                self.handles.health.send_if_modified(Health::writes);
                self.publish(effects);
            }
            Err(error) => {
                tracing::error!(%error, "a change could not be written");
                // Behind what failed before: the older revision of a value must not be the one that stays.
                self.backlog.extend(kept);
                self.failed((error.is_damaged(), error.is_busy()), error.to_string());
            }
        }
    }

    /// Leaves the store alone for a while, or for ever where it is broken.
    fn failed(&mut self, (broken, locked): (bool, bool), why: String) {
        self.damaged = broken;
        self.state.forget();
        let wait = self
            .retry
            .take()
            .map_or(FIRST_RETRY, |retry| retry.wait * 2);
        let wait = if self.damaged {
            NEVER
        } else {
            wait.min(LONGEST_RETRY)
        };
        self.retry = Some(Retry {
            not_before: Instant::now() + wait,
            wait,
        });
        let now = self.state.clock.now();
        self.handles.health.send_modify(|health| {
            health.fails(why, now);
            health.locked = locked;
        });
        self.publish_event(AppEvent::Status);
    }

    /// Whether the disk has failed below what was committed.
    fn disk_failed(&mut self) -> bool {
        let failure = self.handles.durable.as_ref().and_then(Durable::failure);
        let Some(why) = failure.map(ToString::to_string) else {
            return false;
        };
        if !self.damaged {
            self.failed((true, false), why);
        }
        true
    }

    fn try_commit(&mut self, jobs: Vec<Job>) -> Result<Effects, StoreError> {
        if self.retry.is_some() {
            self.store.reopen()?;
            self.data_version = self.store.data_version()?;
            // What another process wrote meanwhile does not show in it.
            self.state.left_behind = true;
        }
        let tx = self.store.begin()?;
        if self.state.counts_stale {
            self.state.counts = Counts::read(&tx)?;
            self.state.counts_stale = false;
        }
        let now = self.state.clock.now();
        let settlements = &self.handles.settlements;
        let effects = apply_all(&mut self.state, &tx, now, settlements, jobs)?;
        tx.commit_only()?;
        Ok(effects)
    }

    fn publish(&mut self, effects: Effects) {
        for outgoing in effects.outgoing {
            // A full queue loses nothing: the row is in the outbox and is looked for again.
            if self.handles.outgoing.try_send(outgoing).is_err() {
                self.state.left_behind = true;
            }
        }
        if !effects.positions.is_empty() {
            self.handles.positions.send_modify(|positions| {
                let places = effects.positions.into_iter();
                positions.extend(places.map(|(stream, place)| (stream.name(), place)));
            });
        }
        if let Some(read_only) = effects.read_only {
            self.handles
                .health
                .send_modify(|health| health.read_only = read_only);
        }
        self.answer(effects.replies);
        if !effects.touched.is_empty() {
            let after = search_index::AFTER_ARRIVALS;
            self.state.searchable_in.get_or_insert(after);
            self.number += 1;
            let rows: Arc<[i64]> = effects.touched.into();
            self.publish_event(AppEvent::Changed {
                number: self.number,
                rows,
                arrived: effects.arrived.into(),
            });
        }
        if effects.status {
            self.publish_event(AppEvent::Status);
        }
    }

    /// Answers callers once the commit is durable. The bus and the screens are informed before: nothing is lost that
    /// the streams hold, and until then only a power cut could undo it.
    fn answer(&self, replies: Vec<Reply>) {
        match &self.handles.durable {
            Some(durable) => durable.after(replies),
            None => replies.into_iter().for_each(|reply| reply()),
        }
    }

    fn publish_event(&self, event: AppEvent) {
        // Without subscribers nobody listens.
        let _ = self.handles.events.send(event);
    }
}
