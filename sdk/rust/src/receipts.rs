//! What the agent reports about a decision (protocol, section 6).
//!
//! It reports only what it knows: the digest in a receipt is computed from the arguments that the caller says have run.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{Receipt, RequestKey, Sha256Digest, Stage, args_digest, receipt_subject};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::GateError;
use crate::bus::{Bus, BusFault};
use crate::clock::wall_clock;
use crate::outbox::{Letter, Outbox, Slot};

const LONGEST_MESSAGE: usize = 4 * 1024;

/// The receipts of one decision.
pub struct Receipts {
    bus: Bus,
    outbox: Outbox,
    limit: Duration,
    request: RequestKey,
    decision_id: Option<String>,
    /// Resolves when the first receipt is stored, so that the order is kept.
    first: Mutex<Option<oneshot::Receiver<()>>>,
}

/// What a receipt says beside its decision.
pub(crate) struct Report {
    pub(crate) stage: Stage,
    pub(crate) digest: Option<Sha256Digest>,
    pub(crate) degraded: Vec<String>,
    pub(crate) message: Option<String>,
}

impl Receipts {
    pub(crate) fn new(bus: Bus, outbox: Outbox, limit: Duration, request: RequestKey) -> Self {
        Self {
            bus,
            outbox,
            limit,
            request,
            decision_id: None,
            first: Mutex::new(None),
        }
    }

    pub(crate) fn of(self, decision_id: String) -> Self {
        Self {
            decision_id: Some(decision_id),
            ..self
        }
    }

    /// Reports that the call ran with these arguments.
    ///
    /// Returns when the bus has the receipt. Errors: `no_decision`, `bus_unreachable` (the
    /// receipt is tried again in the background), `invalid_request` where the arguments have no digest.
    pub async fn executed(&self, args: &Value) -> Result<(), GateError> {
        self.send(Report::ran(Stage::Executed, args)?).await
    }

    /// As [`executed`](Self::executed), naming what the agent could not honour.
    pub async fn executed_degraded(
        &self,
        args: &Value,
        degraded: impl IntoIterator<Item = String>,
    ) -> Result<(), GateError> {
        let report = Report {
            degraded: degraded.into_iter().collect(),
            ..Report::ran(Stage::Executed, args)?
        };
        self.send(report).await
    }

    /// Reports that the call ran with these arguments and failed. Errors as [`executed`](Self::executed).
    pub async fn failed(&self, args: &Value, message: impl Into<String>) -> Result<(), GateError> {
        let report = Report {
            message: Some(message.into()),
            ..Report::ran(Stage::Failed, args)?
        };
        self.send(report).await
    }

    /// Reports that the call ran, or failed with a message, where only the digest of its arguments is known (None where
    /// they have none). Errors as [`executed`](Self::executed).
    pub async fn ran(
        &self,
        digest: Option<Sha256Digest>,
        failed: Option<&str>,
    ) -> Result<(), GateError> {
        let report = match failed {
            Some(message) => Report::saying(Stage::Failed, message),
            None => Report::stage(Stage::Executed),
        };
        self.send(Report { digest, ..report }).await
    }

    /// Reports that the agent does not do what was decided. Errors as [`executed`](Self::executed).
    pub async fn refused(&self, message: impl Into<String>) -> Result<(), GateError> {
        self.send(Report::saying(Stage::Refused, message)).await
    }

    /// Tries once to store a receipt that the caller keeps: nothing is tried again here. Errors as
    /// [`executed`](Self::executed).
    pub async fn deliver(
        &self,
        stage: Stage,
        digest: Option<Sha256Digest>,
        degraded: Vec<String>,
        message: Option<String>,
    ) -> Result<(), GateError> {
        let report = Report {
            stage,
            digest,
            degraded,
            message,
        };
        let letter = self.letter(report).ok_or(GateError::NoDecision)?;
        let stored = self.bus.store(&letter.subject, letter.payload, false).await;
        stored.map(drop).map_err(BusFault::into_error)
    }

    /// The first receipt, for the decision of this id; there is room for it.
    pub(crate) fn begin(&mut self, slot: Slot, decision_id: String, report: Report) {
        self.decision_id = Some(decision_id);
        if let Some(letter) = self.letter(report) {
            self.first = Mutex::new(Some(slot.post(letter)));
        }
    }

    /// Waits until the stream has the receipt; when it does not answer within
    /// the limit, or the caller waits no longer, the outbox goes on trying.
    pub(crate) async fn send(&self, report: Report) -> Result<(), GateError> {
        let letter = self.letter(report).ok_or(GateError::NoDecision)?;
        let (subject, payload) = (letter.subject.clone(), letter.payload.clone());
        let mut unsent = Unsent {
            outbox: &self.outbox,
            letter: Some(letter),
        };
        let first = self.lock().take();
        if let Some(first) = first {
            // Given up or not stored in time: the order is lost, the receipt is not.
            let _ = timeout(self.limit, first).await;
        }
        let sent = self.bus.store(&subject, payload, false).await;
        let sent = sent.map(drop).map_err(BusFault::into_error);
        if !matches!(
            sent,
            Err(GateError::Unreachable { .. } | GateError::NoStreams)
        ) {
            unsent.letter = None;
        }
        sent
    }

    /// Hands the receipt to the outbox without waiting.
    pub(crate) fn post(&self, report: Report) {
        let letter = self.letter(report);
        drop(Unsent {
            outbox: &self.outbox,
            letter,
        });
    }

    fn letter(&self, report: Report) -> Option<Letter> {
        let receipt = Receipt {
            v: 1,
            decision_id: self.decision_id.clone()?,
            stage: report.stage,
            executed_args_digest: report.digest.map(|digest| digest.to_string()),
            degraded: (!report.degraded.is_empty()).then_some(report.degraded),
            message: report.message.map(shortened),
            at: wall_clock(),
        };
        Some(Letter {
            subject: receipt_subject(&self.request),
            payload: Bytes::from(serde_json::to_vec(&receipt).ok()?),
            first: false,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<oneshot::Receiver<()>>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A receipt that the stream may not have: the outbox gets it, also from a caller that is dropped.
struct Unsent<'a> {
    outbox: &'a Outbox,
    letter: Option<Letter>,
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if let Some(letter) = self.letter.take()
            && !self.outbox.post(letter)
        {
            tracing::warn!("a receipt was lost: the outbox is full");
        }
    }
}

impl Report {
    pub(crate) fn ran(stage: Stage, args: &Value) -> Result<Self, GateError> {
        let digest = args_digest(args).map_err(|error| GateError::InvalidRequest {
            code: "digest",
            detail: error.to_string(),
        })?;
        Ok(Self {
            digest: Some(digest),
            ..Self::stage(stage)
        })
    }

    pub(crate) fn stage(stage: Stage) -> Self {
        Self {
            stage,
            digest: None,
            degraded: Vec::new(),
            message: None,
        }
    }

    pub(crate) fn saying(stage: Stage, message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            ..Self::stage(stage)
        }
    }
}

fn shortened(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
    message
}
