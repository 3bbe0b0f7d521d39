//! Messages rejected as requests of the protocol: kept, shown with their code, never approvable.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::RawChunk;
use countersign_wire::Shown;

/// Asks for a page of rejected messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RejectedPageArgs {
    /// Cursor of the page before; none for the newest.
    #[ts(type = "number | null")]
    pub before: Option<i64>,
}

/// One rejected message in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RejectedRow {
    /// `WORKSPACE/AGENT/ID`, or `rejected:N` where the subject gives no valid id.
    pub key: String,
    /// Why (protocol, section 2).
    pub code: String,
    /// The NATS subject that it came on; none where it named no request.
    pub subject: Option<Shown>,
    /// What exactly was wrong.
    pub detail: Shown,
    /// When the server stored it.
    #[ts(type = "number")]
    pub at_ms: i64,
}

/// A page of rejected messages, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RejectedPage {
    /// The rows.
    pub rows: Vec<RejectedRow>,
    /// Cursor of the next page; none at the end.
    #[ts(type = "number | null")]
    pub next: Option<i64>,
}

/// One rejected message whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RejectedDetail {
    /// The row.
    pub row: RejectedRow,
    /// Sequence in the stream of requests.
    #[ts(type = "number")]
    pub stream_seq: i64,
    /// Whether the agent got verdict `rejected`.
    pub answered: bool,
    /// The first part of its bytes.
    pub raw: RawChunk,
}
