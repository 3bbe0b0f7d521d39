//! How the calls of a tool ended lately.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The agent's calls of the tool, of the 90 days before the request. All zero where nothing is known, and for anything
/// but a tool call.
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
    /// There may be more of them: only those among the newest so many calls of the tool, and as many of the
    /// agent, are counted. None where all of them are.
    pub newest: Option<u32>,
}
