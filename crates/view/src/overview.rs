//! Numbers about what was asked and how it was decided.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

use super::FilterValue;

/// Asks for the numbers of a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OverviewArgs {
    /// From when on.
    #[ts(type = "number")]
    pub since_ms: i64,
    /// Up to when.
    #[ts(type = "number")]
    pub until_ms: i64,
    /// Pieces of the time for the chart, 1 to 400.
    pub pieces: u32,
    /// Only this workspace.
    pub workspace: Option<String>,
    /// When the weeks begin that people are counted by, at most 60; the last one ends with the time.
    #[ts(type = "number[]")]
    pub weeks_ms: Vec<i64>,
}

/// How many requests came in a piece of time, by what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VolumePiece {
    /// When it begins.
    #[ts(type = "number")]
    pub start_ms: i64,
    /// All of them.
    #[ts(type = "number")]
    pub arrived: u64,
    /// Approved, as they were or edited.
    #[ts(type = "number")]
    pub allowed: u64,
    /// Denied or terminated.
    #[ts(type = "number")]
    pub denied: u64,
    /// Ended without an answer.
    #[ts(type = "number")]
    pub expired: u64,
}

/// How often a verdict was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct VerdictCount {
    /// The verdict.
    pub verdict: FilterValue,
    /// How often.
    #[ts(type = "number")]
    pub count: u64,
}

/// How long calls waited until people decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PaceView {
    /// `WORKSPACE/AGENT`; none where the pairs of agent and tool are too many and counted together.
    pub agent: Option<String>,
    /// The tool; none for questions and forms.
    pub tool: Option<FilterValue>,
    /// Decisions of people.
    #[ts(type = "number")]
    pub decided: u64,
    /// Half of them waited no longer.
    #[ts(type = "number")]
    pub median_ms: i64,
    /// 95 of 100 waited no longer.
    #[ts(type = "number")]
    pub p95_ms: i64,
}

/// What one person did in one week, in every workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PersonWeekView {
    /// The name.
    pub name: Shown,
    /// The public key.
    pub key: String,
    /// The operator of this console.
    pub own: bool,
    /// When the week begins.
    #[ts(type = "number")]
    pub since_ms: i64,
    /// Decisions.
    #[ts(type = "number")]
    pub decided: u64,
    /// Of these, denied or terminated.
    #[ts(type = "number")]
    pub denied: u64,
    /// Of these, on this console's command line.
    #[ts(type = "number")]
    pub by_cli: u64,
    /// Of these, in this console's window.
    #[ts(type = "number")]
    pub in_window: u64,
    /// Of those in the window, in less time than it takes to read.
    #[ts(type = "number")]
    pub hasty: u64,
    /// Half of those in the window were no longer in front and armed; none where there is none.
    #[ts(type = "number | null")]
    pub front_ms: Option<i64>,
    /// Practice cards with a change that were answered.
    #[ts(type = "number")]
    pub changed: u64,
    /// Of these, the change was caught.
    #[ts(type = "number")]
    pub caught: u64,
}

/// The numbers of a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OverviewView {
    /// From when on.
    #[ts(type = "number")]
    pub since_ms: i64,
    /// Up to when.
    #[ts(type = "number")]
    pub until_ms: i64,
    /// How long a piece of the time is; the last one may end later than the time.
    #[ts(type = "number")]
    pub step_ms: i64,
    /// Oldest first, without gaps.
    pub volume: Vec<VolumePiece>,
    /// Most frequent first.
    pub verdicts: Vec<VerdictCount>,
    /// By agent and tool, most decisions first; at most 100.
    pub paces: Vec<PaceView>,
    /// Of all decisions of people together; none when there is none.
    pub pace: Option<PaceView>,
    /// Half of the cards that were decided in this console's window were no longer in front and armed; none when
    /// there is none.
    #[ts(type = "number | null")]
    pub front_ms: Option<i64>,
    /// Requests of the time that still wait.
    #[ts(type = "number")]
    pub open: u64,
    /// Ended without an answer.
    #[ts(type = "number")]
    pub expired: u64,
    /// Answers whose delivery is overdue now, whenever they were given.
    #[ts(type = "number")]
    pub stalled: u64,
    /// Decided by rules and setup keys.
    #[ts(type = "number")]
    pub automatic: u64,
    /// Decided by people.
    #[ts(type = "number")]
    pub human: u64,
    /// Of these, in this console's window.
    #[ts(type = "number")]
    pub in_window: u64,
    /// Of those in the window, in less time than it takes to read.
    #[ts(type = "number")]
    pub hasty: u64,
    /// Of what people decided, what they did not approve as asked: edited, denied or terminated.
    #[ts(type = "number")]
    pub caught: u64,
    /// The newest week first, in it the operator of this console.
    pub people: Vec<PersonWeekView>,
}
