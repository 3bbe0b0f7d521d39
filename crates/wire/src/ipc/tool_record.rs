//! How the calls of a tool ended lately.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Calls of the tool in its workspace, of the 90 days before the request. All zero where nothing is known,
/// and for what is no tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolRecordView {
    /// Approved, as they were or edited.
    #[ts(type = "number")]
    pub approved: u64,
    /// Denied, skipped or terminated.
    #[ts(type = "number")]
    pub denied: u64,
    /// Ended without an answer.
    #[ts(type = "number")]
    pub expired: u64,
    /// Withdrawn, answered in words, handed on or void.
    #[ts(type = "number")]
    pub other: u64,
    /// Of all these, decided by rules and setup keys.
    #[ts(type = "number")]
    pub automatic: u64,
    /// Half of the people's decisions took no longer; none when no person decided.
    #[ts(type = "number | null")]
    pub median_ms: Option<i64>,
    /// No more calls than these are looked at, the newest.
    pub newest: u32,
}
