//! State that all parts of a running application share.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_realm::Registers;
use countersign_wire::RequestKey;
use parking_lot::RwLock;
use tokio::sync::{broadcast, mpsc, watch};
use uuid::Uuid;

use crate::bus::Bus;
use crate::clock::Clock;
use crate::domain::Timestamp;
use crate::domain::presence::Consoles;
use crate::identity::Identity;
use crate::ops::job::Job;
use crate::ops::{PolicyKnown, Settlements, TrustedKeys};
use crate::store::Reader;

/// Something happened. Every front end is a subscriber.
#[derive(Debug, Clone)]
pub enum AppEvent {
    /// These rows are new or changed; `number` grows by one with each.
    Changed {
        /// Order of the event.
        number: u64,
        /// Row numbers.
        rows: Arc<[i64]>,
        /// Those of them that are new and wait for an answer.
        arrived: Arc<[RequestKey]>,
    },
    /// Connection, alarms, agents or the like changed.
    Status,
}

/// How far a stream is projected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPlace {
    /// Epoch of the stream: sequences of two epochs have nothing to do with each other.
    pub epoch: String,
    /// First sequence that is not projected.
    pub next: u64,
}

/// How far each stream is projected, by stream name.
pub type Positions = BTreeMap<&'static str, StreamPlace>;

/// Whether changes can be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Why the last change could not be written.
    pub store_failed: Option<String>,
    /// Whether that is because another program holds its lock.
    pub locked: bool,
    /// Since when; kept until the audit log has the end, for a full disk takes a small write between two large ones.
    pub failed_at: Option<Timestamp>,
    /// Why nothing is decided: the bus is not the remembered one.
    pub read_only: Option<String>,
}

impl Health {
    /// The store takes no writes.
    pub(crate) fn fails(&mut self, why: String, now: Timestamp) {
        self.failed_at.get_or_insert(now);
        self.store_failed = Some(why);
    }

    /// A change was written; returns whether that is news.
    pub(crate) fn writes(&mut self) -> bool {
        self.store_failed.take().is_some()
    }

    /// The audit log knows that the store works again.
    pub(crate) fn note_end_announced(&mut self) {
        if self.store_failed.is_none() {
            self.failed_at = None;
        }
    }
}

/// Shared by all tasks.
pub(crate) struct Shared {
    pub(crate) identity: Arc<Identity>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) reader: Reader,
    pub(crate) jobs: mpsc::Sender<Job>,
    /// What the streams bring; people's jobs do not wait behind it.
    pub(crate) streams: mpsc::Sender<Job>,
    /// Spans; nothing else waits behind them.
    pub(crate) spans: mpsc::Sender<Job>,
    /// Whether the bus was found to be the remembered one since it was last connected.
    pub(crate) compared: watch::Sender<bool>,
    pub(crate) events: broadcast::Sender<AppEvent>,
    pub(crate) positions: watch::Sender<Positions>,
    pub(crate) health: watch::Sender<Health>,
    /// Whether everything that was on the bus at the last connect is projected. Not so from the loss of a connection on.
    pub(crate) caught_up: watch::Sender<bool>,
    pub(crate) trusted: TrustedKeys,
    pub(crate) settlements: Settlements,
    /// This run of the program.
    pub(crate) instance_id: Uuid,
    /// The consoles of the realm that were heard.
    pub(crate) consoles: Arc<RwLock<Consoles>>,
    /// As of when the shared policy is known.
    pub(crate) policy_known: PolicyKnown,
    /// The shared policy as this console knows it.
    pub(crate) registers: Arc<Registers>,
    pub(crate) replicas: usize,
    pub(crate) requests_max_bytes: Option<u64>,
    /// Whether this console runs the server of its bus.
    pub(crate) has_own_server: bool,
    pub(crate) realm: RwLock<Option<Uuid>>,
    /// The connection, once there is one; it restores itself.
    pub(crate) bus: watch::Sender<Option<Bus>>,
}

impl Shared {
    /// The realm, once the console has met a bus.
    pub(crate) fn realm(&self) -> Option<Uuid> {
        *self.realm.read()
    }

    /// Hands something to the writer; a console that stops takes nothing any more.
    pub(crate) async fn notify(&self, job: Job) {
        if self.jobs.send(job).await.is_err() {
            tracing::debug!("the console stops");
        }
    }

    /// The bucket of the shared policy is that of `epoch`. Under another one than before its revisions begin anew,
    /// and whatever it brings is newer than what is known.
    pub(crate) fn policy_counts_under(&self, epoch: &str) {
        if self.trusted.policy_counts_under(epoch) {
            self.registers.forget_revisions();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_fails_again_before_its_end_was_told_has_failed_since_the_first_time() {
        let mut health = Health::default();
        let since = |health: &Health| health.failed_at.map(|at| at.0);
        health.fails("full".to_owned(), Timestamp(1));
        assert!(health.writes() && !health.writes());
        health.fails("full".to_owned(), Timestamp(5));
        health.note_end_announced();
        assert_eq!(since(&health), Some(1), "it fails now");
        health.writes();
        health.note_end_announced();
        health.fails("full".to_owned(), Timestamp(9));
        assert_eq!(since(&health), Some(9));
    }
}
