//! Rules: the list, one rule in the editor, and what it would have done before it acts.

use countersign_rules::Effect;
use countersign_rules::Enabled;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::HistoryRow;
use countersign_wire::Shown;

/// Asks for a workspace's rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RulesArgs {
    /// None is the first one that has any.
    pub workspace: Option<String>,
}

/// One rule in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RuleRow {
    /// `[a-z0-9-]{1,64}`.
    pub id: String,
    /// For people.
    pub name: Shown,
    /// What it does.
    pub effect: Effect,
    /// Ask: how many operators must agree.
    pub approvals: Option<u8>,
    /// Whether it acts.
    pub state: Enabled,
    /// Grows with each change.
    #[ts(type = "number")]
    pub version: u64,
    /// When this version was made; 0 where that is not known.
    #[ts(type = "number")]
    pub since_ms: i64,
    /// Tools and agents that it is about.
    pub about: Shown,
    /// Requests that it decided.
    #[ts(type = "number")]
    pub uses: u64,
    /// Of these, approved within the last 24 hours.
    #[ts(type = "number")]
    pub today: u64,
    /// The last one.
    #[ts(type = "number | null")]
    pub last_used_ms: Option<i64>,
    /// Requests that it would have decided in the shadow.
    #[ts(type = "number")]
    pub shadows: u64,
    /// Why it could not be read for sure the last time.
    pub last_error: Option<Shown>,
    /// Decisions that people called wrong.
    #[ts(type = "number")]
    pub regrets: u64,
    /// The last of them, the newest first; at most 20.
    pub last_regrets: Vec<RegretView>,
    /// From here on it does nothing.
    #[ts(type = "number | null")]
    pub expires_ms: Option<i64>,
    /// It ends with the threads that it names.
    pub thread: bool,
    /// `20 an hour`, `20 in 2h`.
    pub limit: Option<String>,
}

/// A decision that a person called wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegretView {
    /// `WORKSPACE/AGENT/ID` of the request.
    pub key: String,
    /// The version that decided.
    #[ts(type = "number")]
    pub version: u64,
    /// The operator's words.
    pub reason: Option<Shown>,
    /// Who.
    pub by: Shown,
    /// When; 0 where that cannot be read.
    #[ts(type = "number")]
    pub at_ms: i64,
}

/// Calls an automatic decision wrong: what decided it is suspended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegretArgs {
    /// Which request.
    pub key: String,
    /// Why, at most 1,000 bytes.
    pub reason: Option<String>,
    /// The operator was shown the calls that people denied and the rules would approve.
    pub accept_denied: bool,
}

/// What a regret came to: one of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RegretOutcome {
    /// What was suspended.
    pub suspended: Option<SuspendedView>,
    /// What people denied and the remaining rules would approve. Nothing was changed.
    pub denied: Option<DeniedCalls>,
}

/// What was suspended; it is on the bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SuspendedView {
    /// `rule`, `setup_key` or `bypass`.
    pub what: String,
    /// The rule's id or the setup key.
    pub id: Shown,
}

/// A workspace's rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RulesView {
    /// Which workspace.
    pub workspace: String,
    /// Every workspace that has rules or agents.
    pub workspaces: Vec<String>,
    /// Revision in the shared policy; 0 when there are none.
    #[ts(type = "number")]
    pub revision: u64,
    /// Deny, ask, approve; within that by id.
    pub rules: Vec<RuleRow>,
    /// Server's time.
    #[ts(type = "number")]
    pub server_ms: i64,
}

/// Names a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RuleArgs {
    /// Its workspace.
    pub workspace: String,
    /// Its id.
    pub id: String,
}

/// A rule as the editor shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RuleText {
    /// Its id.
    pub id: String,
    /// The version that this is; 0 for a draft.
    #[ts(type = "number")]
    pub version: u64,
    /// The lines of a rule file below `[[rule]]`, in pure ASCII.
    pub text: String,
}

/// What can be written in a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RuleWords {
    /// Fields of a rule.
    pub fields: Vec<String>,
    /// Names of tests on an argument.
    pub tests: Vec<String>,
    /// What a condition can name.
    pub variables: Vec<String>,
    /// What a condition can call.
    pub functions: Vec<String>,
}

/// Asks whether a rule may be saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CheckRuleArgs {
    /// As in [`RuleText`].
    pub text: String,
}

/// What is wrong with a rule, and where; lines and columns from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RuleProblem {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
    /// Which field; empty for a text that is not TOML.
    pub place: Shown,
    /// What is wrong.
    pub message: Shown,
}

/// Whether a rule may be saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RuleCheck {
    /// Empty when it may.
    pub problems: Vec<RuleProblem>,
    /// What it does; none while there are problems.
    pub effect: Option<Effect>,
    /// Whether it acts; none while there are problems.
    pub state: Option<Enabled>,
}

/// Saves a rule; it is on the bus when this returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SaveRuleArgs {
    /// Where.
    pub workspace: String,
    /// As in [`RuleText`].
    pub text: String,
    /// Instead of what the text says.
    pub state: Option<Enabled>,
    /// The version that was seen; none for a new rule.
    #[ts(type = "number | null")]
    pub seen_version: Option<u64>,
    /// The operator was asked once more. Needed to let a rule approve unless a whole simulation of these
    /// very words found nothing that a person had denied.
    pub sure: bool,
    /// The operator has seen what the signer's limits change for other rules. Without it such a change is refused with
    /// `verdict_not_allowed`.
    pub accept_limits: bool,
    /// The operator was shown the calls that people denied and this change approves. Without it such a change is not
    /// made.
    pub accept_denied: bool,
    /// The waiting calls that the operator was shown and wants approved. Where this change approves others, it is not
    /// made.
    pub accept_waiting: Vec<String>,
    /// What was done on the call that [`SavedRule::steps`] named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub steps: Option<StepsDone>,
}

/// The steps of a critical or irreversible call, as before its approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StepsDone {
    /// `WORKSPACE/AGENT/ID`.
    pub key: String,
    /// Digest of the payload that was shown.
    pub seen_request_digest: String,
    /// The typed target.
    pub typed: Option<String>,
    /// The reveals that were opened.
    pub revealed: Vec<u32>,
}

/// Takes a rule away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RemoveRuleArgs {
    /// Its workspace.
    pub workspace: String,
    /// Its id.
    pub id: String,
    /// As in [`SaveRuleArgs`].
    pub accept_limits: bool,
    /// As in [`SaveRuleArgs`].
    pub accept_denied: bool,
    /// As in [`SaveRuleArgs`].
    pub accept_waiting: Vec<String>,
}

/// Waiting calls that a change would approve at once. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WaitingCalls {
    /// All of them, `WORKSPACE/AGENT/ID`: what the operator then accepts.
    pub keys: Vec<String>,
    /// Those that wait longest; at most 20.
    pub calls: Vec<PreviewCase>,
}

/// Calls that people denied and a change of the rules would approve. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DeniedCalls {
    /// How many; none where counting took too long.
    #[ts(type = "number | null")]
    pub count: Option<u64>,
    /// The newest first; at most 20.
    pub calls: Vec<PreviewCase>,
}

/// What became of a rule that was to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RemovedRule {
    /// Nothing was removed: the operator is to be asked about these.
    pub denied: Option<DeniedCalls>,
    /// The same.
    pub waiting: Option<WaitingCalls>,
}

/// What became of a rule that was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SavedRule {
    /// Its id.
    pub id: String,
    /// Its version now; none when it was not saved.
    #[ts(type = "number | null")]
    pub version: Option<u64>,
    /// Nothing was saved: somebody else changed it meanwhile, and this is in force.
    pub conflict: Option<RuleText>,
    /// Nothing was saved: somebody else removed it meanwhile.
    pub gone: bool,
    /// Nothing was saved: the operator is to be asked about these.
    pub denied: Option<DeniedCalls>,
    /// The same.
    pub waiting: Option<WaitingCalls>,
    /// Nothing was saved: it would approve calls like this critical or irreversible one, `WORKSPACE/AGENT/ID`, whose
    /// steps come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub steps: Option<String>,
}

/// Starts a simulation of one rule alone; one that runs ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct StartPreviewArgs {
    /// Where.
    pub workspace: String,
    /// As in [`RuleText`].
    pub text: String,
    /// How far back; 0 is everything.
    pub days: u32,
}

/// Names a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PreviewNumber {
    /// Its number.
    #[ts(type = "number")]
    pub number: u64,
}

/// A call of the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PreviewCase {
    /// Its line of the history.
    pub row: HistoryRow,
    /// What the rule says.
    pub rule: Effect,
}

/// What one rule would have done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PreviewReport {
    /// Requests that were looked at.
    #[ts(type = "number")]
    pub total: u64,
    /// It would have let them run.
    #[ts(type = "number")]
    pub approve: u64,
    /// It would have left them to people.
    #[ts(type = "number")]
    pub ask: u64,
    /// It would have refused them.
    #[ts(type = "number")]
    pub deny: u64,
    /// It says what a person said.
    #[ts(type = "number")]
    pub agreed: u64,
    /// It would have approved what a person denied.
    #[ts(type = "number")]
    pub denied: u64,
    /// It would have denied what a person approved.
    #[ts(type = "number")]
    pub refused: u64,
    /// It would have approved what no person decided.
    #[ts(type = "number")]
    pub unseen: u64,
    /// Of these, still waiting.
    #[ts(type = "number")]
    pub waiting: u64,
    /// High risks that would have run though nobody had let them.
    #[ts(type = "number")]
    pub newly_high: u64,
    /// Critical ones.
    #[ts(type = "number")]
    pub newly_critical: u64,
    /// It could not be read for sure.
    #[ts(type = "number")]
    pub unsure: u64,
    /// The first reason for that.
    pub unsure_why: Option<Shown>,
    /// Where it differs from a person, a denied call first; at most 20.
    pub flips: Vec<PreviewCase>,
    /// High and critical calls that would have run though nobody had let them; at most 20.
    pub newly: Vec<PreviewCase>,
    /// The last calls that it matched; at most 10.
    pub samples: Vec<PreviewCase>,
}

/// A simulation: how far it is, and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PreviewView {
    /// Requests that were looked at.
    #[ts(type = "number")]
    pub done: u64,
    /// Requests that there are.
    #[ts(type = "number")]
    pub of: u64,
    /// None while it runs, or when it ended early.
    pub report: Option<Box<PreviewReport>>,
    /// Why it ended early.
    pub trouble: Option<String>,
}

/// How far a grant reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum GrantReach {
    /// The card's thread.
    Thread,
    /// Every thread, for some days.
    Always,
}

/// Asks for the narrowest rule that approves a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DraftRuleArgs {
    /// Which request.
    pub key: String,
    /// How far it reaches.
    pub reach: GrantReach,
    /// For `always`, 1 to 366; none is 90.
    pub days: Option<u16>,
}
