//! What to look for among all requests.

use super::search::TextQuery;
use super::{State, Timestamp};

/// What to look for. Every given part must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Workspace.
    pub workspace: Option<String>,
    /// Agent name, in any workspace unless one is given.
    pub agent: Option<String>,
    /// Tool name, whole, as the agent wrote it.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: Option<String>,
    /// States, any of which match; none for every state.
    pub states: Option<Vec<State>>,
    /// Verdicts as they read everywhere, any of which it has; none for every verdict and for none.
    pub verdicts: Option<Vec<String>>,
    /// Origins of the decision, any of which it has; none for every origin and for no decision.
    pub origins: Option<Vec<String>>,
    /// Public keys, any of which signed the decision; none for everybody.
    pub signers: Option<Vec<String>>,
    /// Id of the rule that decided.
    pub rule: Option<String>,
    /// Only what was decided in this console's window in less time than it takes to read.
    pub hasty: bool,
    /// Only answers whose delivery is overdue now.
    pub overdue: bool,
    /// Stored at or after.
    pub since: Option<Timestamp>,
    /// Stored before.
    pub until: Option<Timestamp>,
    /// Only what has no time of a decision.
    pub undecided: bool,
    /// Words of the request and of the operator's message.
    pub text: TextQuery,
}

/// What the pages of the history are sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortBy {
    /// When they were stored.
    #[default]
    Stored,
    /// When they were decided; what is not decided comes last.
    Decided,
    /// Their risk; the newest first within one.
    Risk,
}

/// The order of the pages of the history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sort {
    /// By what.
    pub by: SortBy,
    /// The least first.
    pub ascending: bool,
}

/// Where the next page of an order begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The part of the order: a risk, or what is not decided.
    pub part: usize,
    /// When the last row was decided, ms, in an order by that.
    pub at: i64,
    /// The last row.
    pub id: i64,
}

impl HistoryFilter {
    /// The states that are asked for, where none of them is `decided`: an index has only those.
    #[must_use]
    pub fn undecided_states(&self) -> Option<&[State]> {
        let states = self.states.as_deref()?;
        (!states.contains(&State::Decided)).then_some(states)
    }
}
