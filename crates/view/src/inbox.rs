//! The list of what waits: light rows, everything that a card shows beyond them stays out.

use countersign_domain::State;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{DecidePath, FindingView, VotesCount};
use countersign_wire::{RequestKind, Risk, Shown};

/// Names one request or one rejected message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct KeyArgs {
    /// `WORKSPACE/AGENT/ID`, or `rejected:N`.
    pub key: String,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InboxRow {
    /// `WORKSPACE/AGENT/ID`: the identity of the row, whatever its place.
    pub key: String,
    /// Order of arrival, the second sort key.
    #[ts(type = "number")]
    pub seq: i64,
    /// What is asked.
    pub kind: RequestKind,
    /// The tool's name; for a question or a form, its text or title.
    pub tool: Shown,
    /// Effective risk.
    pub risk: Risk,
    /// Which way an approval takes.
    pub path: DecidePath,
    /// Key arguments, cut to one line; the card shows them whole.
    pub summary: Shown,
    /// What will happen, in the console's own sentence; none where it cannot be sure.
    pub effect: Option<Shown>,
    /// What the console finds, the strongest alone; none where nothing is found or it has not looked yet.
    pub finding: Option<FindingView>,
    /// A second reader, a machine, marked it.
    pub by_reader: bool,
    /// The agent's own words, cut to one line.
    pub says: Option<Shown>,
    /// Workspace (a slug of the subject's grammar).
    pub workspace: String,
    /// Agent (a slug of the subject's grammar).
    pub agent: String,
    /// The agent's thread.
    pub thread: Option<Shown>,
    /// The agent's run.
    pub run: Option<Shown>,
    /// From here on no approval takes effect.
    #[ts(type = "number")]
    pub deadline_ms: i64,
    /// False when the agent set no deadline and the longest lifetime applies.
    pub has_deadline: bool,
    /// The server's stamp of the stored request.
    #[ts(type = "number")]
    pub stored_ms: i64,
    /// Its state: pending, holding or queued.
    pub state: State,
    /// The card has a warning of weight.
    pub warned: bool,
    /// A person denied the same call before.
    pub denied_before: bool,
    /// How far the operators are, where several must agree.
    pub votes: Option<VotesCount>,
}

/// What waits next, until the whole list is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InboxFirst {
    /// By deadline, then arrival; at most 100.
    pub rows: Vec<InboxRow>,
}

/// The whole list, and where in the order of batches it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InboxSnapshot {
    /// Every batch up to this number is contained.
    #[ts(type = "number")]
    pub number: u64,
    /// All that waits, by deadline, then arrival.
    pub rows: Vec<InboxRow>,
    /// The server's time when it was read.
    #[ts(type = "number")]
    pub server_ms: i64,
}
