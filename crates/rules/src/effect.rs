//! What a rule does.

use serde::{Deserialize, Serialize};

/// What a rule does with a request that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "RuleEffect"))]
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
