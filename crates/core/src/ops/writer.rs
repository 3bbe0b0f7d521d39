//! The one writer: linearises every change of the store, many to a transaction.
//!
//! Refuses to tell anybody of a change before it is committed, and to lose a stream's messages when
//! the store fails: they are tried again until they are in.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, watch};

use super::apply::{apply_all, drop_leftover_holds};
use super::job::Job;
use super::ledger::{Counts, Gathered, Ledger};
use super::publisher::{Outgoing, Settlements};
use crate::domain::Timestamp;
use crate::runtime::{AppEvent, Health, Positions};
use crate::store::{self, StoreError};

/// Jobs taken into one transaction.
const BATCH: usize = 500;
/// How long the writer sleeps at most: deadlines are looked at, and other processes' writes noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(200);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// The ends of the writer's channels.
pub(crate) struct Wires {
    pub(crate) jobs: mpsc::Receiver<Job>,
    pub(crate) outgoing: mpsc::Sender<Outgoing>,
    pub(crate) settlements: Settlements,
    pub(crate) events: broadcast::Sender<AppEvent>,
    pub(crate) positions: watch::Sender<Positions>,
    pub(crate) health: watch::Sender<Health>,
}

/// The writer's state between transactions.
pub(crate) struct WriterTask {
    store: store::Writer,
    ledger: Ledger,
    wires: Wires,
    number: u64,
    next_due: Option<Timestamp>,
    data_version: i64,
}

impl WriterTask {
    pub(crate) async fn new(
        mut store: store::Writer,
        mut ledger: Ledger,
        wires: Wires,
    ) -> Result<Self, StoreError> {
        let data_version = store.data_version().await?;
        let mut tx = store.begin().await?;
        drop_leftover_holds(&ledger, &mut tx).await?;
        ledger.counts = Counts::read(&mut tx).await?;
        tx.commit().await?;
        Ok(Self {
            store,
            ledger,
            wires,
            number: 0,
            next_due: None,
            data_version,
        })
    }

    /// Works until it is told to stop or every handle is gone.
    pub(crate) async fn run(mut self) {
        let mut jobs = Vec::with_capacity(BATCH);
        loop {
            jobs.clear();
            let taken = tokio::time::timeout(
                self.sleep(),
                tokio::task::unconstrained(self.wires.jobs.recv_many(&mut jobs, BATCH)),
            )
            .await;
            if matches!(taken, Ok(0)) {
                break;
            }
            if jobs.is_empty() {
                jobs.extend(self.foreign_writes().await);
            }
            let stops = jobs.iter().any(|job| matches!(job, Job::Stop(_)));
            if !jobs.is_empty() || self.is_due() {
                self.commit(std::mem::take(&mut jobs)).await;
            }
            if stops {
                break;
            }
        }
        if let Err(error) = self.store.close().await {
            tracing::warn!(%error, "the database was not closed cleanly; it recovers at the next start");
        }
    }

    fn sleep(&self) -> Duration {
        let Some(due) = self.next_due else {
            return LONGEST_SLEEP;
        };
        let left = due.since_ms(self.ledger.clock.now()).max(0);
        Duration::from_millis(u64::try_from(left).unwrap_or(0)).min(LONGEST_SLEEP)
    }

    fn is_due(&self) -> bool {
        self.next_due
            .is_some_and(|due| due <= self.ledger.clock.now())
    }

    /// Whether another process of this folder has written since the last look.
    async fn foreign_writes(&mut self) -> Option<Job> {
        match self.store.data_version().await {
            Ok(version) if version != self.data_version => {
                self.data_version = version;
                Some(Job::Rescan)
            }
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(%error, "the database could not be read");
                None
            }
        }
    }

    /// Commits the jobs. On a failure the callers are let go and the streams' messages are kept and
    /// tried again: without them the projection would have a hole.
    async fn commit(&mut self, mut jobs: Vec<Job>) {
        let mut wait = FIRST_RETRY;
        loop {
            match self.try_commit(&mut jobs).await {
                Ok(gathered) => {
                    self.wires
                        .health
                        .send_if_modified(|health| health.store_failed.take().is_some());
                    self.tell(gathered).await;
                    return;
                }
                Err(error) => {
                    tracing::error!(%error, "a change could not be written");
                    self.wires.health.send_modify(|health| {
                        health.store_failed = Some(error.to_string());
                    });
                    self.publish_event(AppEvent::Status);
                    jobs.retain(Job::must_not_be_lost);
                    if jobs.is_empty() {
                        return;
                    }
                }
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_RETRY);
        }
    }

    async fn try_commit(&mut self, jobs: &mut Vec<Job>) -> Result<Gathered, StoreError> {
        let mut tx = self.store.begin().await?;
        let now = self.ledger.clock.now();
        let settlements = &self.wires.settlements;
        let applied = apply_all(&mut self.ledger, &mut tx, now, settlements, jobs).await;
        let (gathered, next_due) = match applied {
            Ok(applied) => applied,
            Err(error) => {
                tx.rollback().await?;
                self.restore_counts().await?;
                return Err(error);
            }
        };
        if let Err(error) = tx.commit().await {
            self.restore_counts().await?;
            return Err(error.into());
        }
        self.next_due = next_due;
        Ok(gathered)
    }

    /// What was counted in a transaction that did not happen did not happen either.
    async fn restore_counts(&mut self) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        self.ledger.counts = Counts::read(&mut tx).await?;
        Ok(tx.rollback().await?)
    }

    async fn tell(&mut self, gathered: Gathered) {
        for outgoing in gathered.outgoing {
            // A full queue is no loss: the row is in the outbox and is looked for again.
            if self.wires.outgoing.try_send(outgoing).is_err() {
                tracing::debug!(
                    "the queue of outgoing decisions is full; they follow from the outbox"
                );
            }
        }
        if !gathered.positions.is_empty() {
            self.wires.positions.send_modify(|positions| {
                positions.extend(
                    gathered
                        .positions
                        .iter()
                        .map(|(stream, seq)| (stream.name(), *seq)),
                );
            });
        }
        if let Some(read_only) = gathered.read_only {
            self.wires
                .health
                .send_modify(|health| health.read_only = read_only);
        }
        for reply in gathered.replies {
            reply();
        }
        if !gathered.touched.is_empty() {
            self.number += 1;
            let rows: Arc<[i64]> = gathered.touched.into();
            self.publish_event(AppEvent::Changed {
                number: self.number,
                rows,
            });
        }
        if gathered.status {
            self.publish_event(AppEvent::Status);
        }
    }

    fn publish_event(&self, event: AppEvent) {
        // Without subscribers there is nobody to tell.
        let _ = self.wires.events.send(event);
    }
}
