//! Why a request asks or was decided, and what happens now to calls of each tool and risk.

use countersign_rules::Effect;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::{Risk, Shown};

/// A rule that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MatchedRule {
    /// Its id.
    pub id: String,
    /// Its version.
    #[ts(type = "number")]
    pub version: u64,
    /// Its name.
    pub name: Shown,
    /// What it says.
    pub says: Effect,
    /// Why it asks instead of what it says otherwise.
    pub instead: Option<Shown>,
}

/// A rule that only one matcher kept from matching.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct NearRule {
    /// Its id.
    pub id: String,
    /// Its version.
    #[ts(type = "number")]
    pub version: u64,
    /// Its name.
    pub name: Shown,
    /// What it would have said.
    pub effect: Effect,
    /// The one that failed, such as `risk`, `args./amount` or `critical_risk`.
    pub matcher: Shown,
    /// Of a command: the part of it that the rule does not allow, as a sentence without its end.
    pub detail: Option<Shown>,
}

/// What the setup says about the key that the request names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetupReasonView {
    /// The key.
    pub key: Shown,
    /// `undeclared`, `unbound`, `differs`, `redeclared`, `not_covered` or `passes`.
    pub state: String,
    /// Its value.
    pub value: Option<Shown>,
    /// The value that spares the question.
    pub skips_when: Option<Shown>,
}

/// What the rules in force say now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WhyNow {
    /// Digest of the set in force.
    pub policy_digest: String,
    /// What the set says.
    pub outcome: Effect,
    /// The rule that says so; none when nothing matched.
    pub rule: Option<String>,
    /// How many operators it asks for.
    pub approvals: u8,
    /// Why an approve does not count now.
    pub held: Option<Shown>,
    /// Every rule that matches.
    pub matched: Vec<MatchedRule>,
    /// Every rule that nearly did.
    pub near: Vec<NearRule>,
    /// What the setup says, where the request names a key.
    pub setup: Option<SetupReasonView>,
}

/// What decided automatically.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WhyDecided {
    /// `rule`, `setup_key` or another word of the protocol.
    pub origin: Shown,
    /// The rule, or the setup key.
    pub rule: Option<Shown>,
    /// Its version.
    #[ts(type = "number | null")]
    pub version: Option<i64>,
    /// Digest of the set that was in force.
    pub policy_digest: Option<Shown>,
    /// The rule's words in that set; none where another console decided and its set is not kept here.
    pub words: Option<Shown>,
}

/// Why a request asks or was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WhyView {
    /// By the rules in force now; none without rules and setup keys.
    pub now: Option<WhyNow>,
    /// What decided it, where no person did.
    pub decided: Option<WhyDecided>,
}

/// What happens now to a plain call of a tool at a risk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MatrixCell {
    /// What the set says of a call when only agent, tool and risk are known.
    pub outcome: Effect,
    /// The rule that says so.
    pub rule: Option<String>,
    /// The agent's bypass says so.
    pub bypass: bool,
    /// How many operators it asks for.
    pub approvals: u8,
    /// Rules that could say something else, once the arguments, the thread or more are known.
    pub depends: Vec<String>,
    /// Why an approve does not count now.
    pub held: Option<Shown>,
}

/// A tool in the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MatrixRow {
    /// Agent.
    pub agent: String,
    /// Tool.
    pub tool: Shown,
    /// The risk that its agent gives it; none when it says nothing.
    pub risk: Option<Risk>,
    /// In the order of the columns.
    pub cells: Vec<MatrixCell>,
}

/// Tools by risks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MatrixView {
    /// Which workspace.
    pub workspace: String,
    /// Columns.
    pub risks: Vec<Risk>,
    /// By agent, then in the order of its hello; at most 500.
    pub rows: Vec<MatrixRow>,
    /// Tools that are left out.
    #[ts(type = "number")]
    pub more: u64,
    /// Digest of the set in force.
    pub policy_digest: String,
}
