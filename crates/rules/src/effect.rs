//! What a rule does.

use serde::Serialize;

/// What a rule does with a request that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Let it run.
    Approve,
    /// Leave it to people, whatever approves.
    Ask,
    /// Refuse it.
    Deny,
}

countersign_wire::words!(Effect { Approve => "approve", Ask => "ask", Deny => "deny" });
