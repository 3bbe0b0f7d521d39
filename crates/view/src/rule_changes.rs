//! Who changed a rule, what and when.

use countersign_rules::Enabled;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

/// What somebody did to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RuleChangeKind {
    /// It is new.
    Made,
    /// It is the oldest version that this console knows.
    Known,
    /// It says something else.
    Changed,
    /// It was taken away.
    Removed,
}

/// One change of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RuleChangeView {
    /// What somebody did.
    pub kind: RuleChangeKind,
    /// The version that came of it.
    #[ts(type = "number")]
    pub version: u64,
    /// Whether it acts from then on; none where that did not change.
    pub state: Option<Enabled>,
    /// Other fields that changed.
    pub fields: Vec<Shown>,
    /// A decision of it was called wrong, which turned it off.
    pub regret: bool,
    /// Who: the name on the realm's list, or what the signer called itself.
    pub by: Shown,
    /// End of the key that signed.
    pub key_tail: String,
    /// When; 0 where that is unknown.
    #[ts(type = "number")]
    pub at_ms: i64,
}

/// The changes of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RuleChangesView {
    /// The newest first.
    pub changes: Vec<RuleChangeView>,
    /// Older ones are left out.
    pub more: bool,
}
