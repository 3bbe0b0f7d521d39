//! What arrives at the page unasked: numbered batches, so that a gap is noticed.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{InboxRow, StatusView};
use countersign_wire::Shown;

/// One change of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InboxChange {
    /// A row is new or has changed.
    Put {
        /// The row as it is now.
        row: Box<InboxRow>,
    },
    /// A request no longer waits.
    Gone {
        /// Its key.
        key: String,
    },
}

/// Something happened to a request: the open card reads itself again, and the operator sees who decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DecidedNotice {
    /// Which request.
    pub key: String,
    /// The valid verdict, or `expired`, `withdrawn` or `void` where the request ended without one; none while it goes
    /// on.
    pub verdict: Option<String>,
    /// Who gave it.
    pub by: Option<Shown>,
    /// Whether this console's operator gave it.
    pub mine: bool,
}

/// Changes in order. A page that has seen `number - 1` applies it; on a gap it asks for a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InboxBatch {
    /// One more than the batch before.
    #[ts(type = "number")]
    pub number: u64,
    /// In the order in which they happened.
    pub changes: Vec<InboxChange>,
    /// Requests whose card, decision or delivery changed.
    pub touched: Vec<DecidedNotice>,
    /// The status, when it changed.
    pub status: Option<StatusView>,
    /// The core could not say what changed: read a new snapshot.
    pub resync: bool,
    /// Somebody asked outside of the page to turn panic off: it asks once more.
    pub panic_asked: bool,
    /// The server's time.
    #[ts(type = "number")]
    pub server_ms: i64,
}
