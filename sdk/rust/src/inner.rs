//! What the clones of a gate share.

use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{AgentInfo, AgentKey, MAX_LIFETIME, RequestKey};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::ask::Lifetime;
use crate::bus::Bus;
use crate::journal::Journal;
use crate::looks::Looks;
use crate::outbox::{Letter, Outbox};
use crate::receipts::Receipts;
use crate::timing::Timing;
use crate::waiting::Waiting;

pub(crate) struct Inner {
    pub(crate) bus: Bus,
    pub(crate) outbox: Outbox,
    pub(crate) spans: Outbox,
    pub(crate) looks: Looks,
    pub(crate) waiting: Waiting,
    /// What looks on for answers that nobody awaits.
    pub(crate) afterwards: TaskTracker,
    pub(crate) timing: Timing,
    pub(crate) key: AgentKey,
    pub(crate) info: AgentInfo,
    pub(crate) default_timeout: Duration,
    pub(crate) max_waiting: usize,
    pub(crate) journal: Option<Journal>,
    pub(crate) closing: CancellationToken,
    /// Ends the deliveries too.
    pub(crate) stop: CancellationToken,
    pub(crate) _close_on_drop: DropGuard,
}

impl Inner {
    pub(crate) fn receipts(&self, request: &RequestKey) -> Receipts {
        Receipts::new(
            self.bus.clone(),
            self.outbox.clone(),
            self.timing.exchange,
            request.clone(),
        )
    }

    /// Hands a message to the outbox.
    pub(crate) fn post(&self, subject: String, payload: Bytes) {
        let letter = Letter {
            subject,
            payload,
            first: false,
        };
        if !self.outbox.post(letter) {
            tracing::warn!("a message was lost: the outbox is full");
        }
    }

    /// How long an ask may wait.
    pub(crate) fn lifetime(&self, asked: Lifetime) -> Duration {
        let longest = MAX_LIFETIME.unsigned_abs();
        match asked {
            Lifetime::OfTheGate => self.default_timeout.min(longest),
            Lifetime::Within(limit) => limit.min(longest),
            Lifetime::Longest => longest,
        }
    }
}
