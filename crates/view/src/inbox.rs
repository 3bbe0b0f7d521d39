//! The list of what waits: light rows, everything that a card shows beyond them stays out.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{FindingView, VotesCount};
use countersign_wire::{RequestKind, Risk, Shown};

/// Which way an approval takes (operator's desk, "Deciding").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DecidePath {
    /// One key, held and undoable: safe, low and medium.
    Low,
    /// Arguments read to their end, then a chord: high.
    High,
    /// Evidence open, hidden values revealed, target typed, then a chord: critical, and every tool
    /// that says `irreversible`.
    Critical,
}

impl DecidePath {
    /// The way for a risk and a tool's effects.
    #[must_use]
    pub fn of(risk: Risk, irreversible: bool) -> Self {
        match risk {
            Risk::Critical => Self::Critical,
            _ if irreversible => Self::Critical,
            Risk::High => Self::High,
            Risk::Safe | Risk::Low | Risk::Medium => Self::Low,
        }
    }
}

/// The state of a request; the words of the command line contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CardState {
    /// Waits for an operator.
    Pending,
    /// Approved here, held back, not sent.
    Holding,
    /// Signed and on its way to the stream.
    Queued,
    /// A decision is stored.
    Decided,
    /// The deadline passed first.
    Expired,
    /// The agent no longer wants the answer.
    Withdrawn,
    /// Not a request of the protocol.
    Rejected,
    /// What is stored as its decision does not verify.
    Void,
}

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
    pub state: CardState,
    /// The card has a warning of weight.
    pub warned: bool,
    /// A person denied the same call before.
    pub denied_before: bool,
    /// How far the operators are, where several must agree.
    pub votes: Option<VotesCount>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_irreversible_tool_takes_the_critical_way_at_every_risk() {
        use Risk::{Critical, High, Low, Medium, Safe};
        for risk in [Safe, Low, Medium, High, Critical] {
            assert_eq!(DecidePath::of(risk, true), DecidePath::Critical);
        }
        assert_eq!(DecidePath::of(High, false), DecidePath::High);
        assert_eq!(DecidePath::of(Critical, false), DecidePath::Critical);
        for risk in [Safe, Low, Medium] {
            assert_eq!(DecidePath::of(risk, false), DecidePath::Low);
        }
    }
}
