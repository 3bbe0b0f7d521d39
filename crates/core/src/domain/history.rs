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
    /// State.
    pub state: Option<State>,
    /// Verdict as it reads everywhere.
    pub verdict: Option<String>,
    /// Origin of the decision.
    pub origin: Option<String>,
    /// Public keys, any of which signed the decision; none for everybody.
    pub signers: Option<Vec<String>>,
    /// Id of the rule that decided.
    pub rule: Option<String>,
    /// Stored at or after.
    pub since: Option<Timestamp>,
    /// Stored before.
    pub until: Option<Timestamp>,
    /// Words of the request and of the operator's message.
    pub text: TextQuery,
}
