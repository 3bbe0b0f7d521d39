//! Rows of the audit log that metrics count.

use countersign_wire::{Risk, Stage};

/// What one row stored; of probes there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// A valid request.
    Request(Risk),
    /// A request that can never be approved.
    Rejected,
    /// A decision that was compared with its request.
    Decision {
        /// How it reads: `approve`, `void`.
        effective: String,
        /// Who made it, in the decision's own word; none where that is not text.
        origin: Option<String>,
        /// Of the request.
        risk: Risk,
        /// From the stored request to the stored decision, ms.
        took_ms: i64,
    },
    /// A receipt.
    Receipt(Stage),
}

/// Requests of one risk that wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Of all of them.
    pub risk: Risk,
    /// How many.
    pub count: i64,
    /// When the first of them was stored, server time, ms.
    pub oldest_at: i64,
}
