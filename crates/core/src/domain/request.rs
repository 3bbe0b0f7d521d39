//! What the core remembers of a request in order to decide on it.

use super::{Delivery, State, Timestamp};
use countersign_wire::{RequestKey, Risk, VerdictSet};

/// A request as the life cycle sees it. The payload itself stays in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// Row number: the order of arrival in this console.
    pub id: i64,
    /// Who asks, and under which name.
    pub key: RequestKey,
    /// Where it stands.
    pub state: State,
    /// How far it and its answer have come.
    pub delivery: Delivery,
    /// Effective risk: an unknown word reads critical.
    pub risk: Risk,
    /// Digest of the arguments at the gate; none for questions and forms.
    pub args_digest: Option<String>,
    /// Digest of the payload as stored.
    pub request_digest: String,
    /// Verdicts that the agent can honour.
    pub allowed: VerdictSet,
    /// How many operators must agree, 1 to 5.
    pub approvals_required: u8,
    /// The server's stamp of the stored request.
    pub stored_at: Timestamp,
    /// From here on no approval takes effect.
    pub deadline_at: Timestamp,
    /// The agent's arguments are shown and can be edited.
    pub has_args: bool,
}
