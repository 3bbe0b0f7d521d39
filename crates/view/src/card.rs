//! One request whole: everything that a person needs in order to decide.

use countersign_domain::State;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{
    ArgLook, ComparedView, DecidePath, DeniedView, FindingView, PartMark, ReaderMarkView, RuleRef,
    TypedTarget, VotesView,
};
use countersign_wire::{RequestKind, Risk, Scope, Shown, Verdict};

/// The tool that wants to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ToolView {
    /// Its name.
    pub name: Shown,
    /// What it says it does: the agent's words.
    pub description: Option<Shown>,
    /// Where its name lives.
    pub namespace: Option<Shown>,
    /// Where it comes from.
    pub origin: Option<Shown>,
    /// What it says it does to the world.
    pub effects: Option<Shown>,
}

/// Words of the agent, never facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AgentWords {
    /// The field that held them: `title`, `reason`, `preview`, `explanation`, `command`.
    pub field: String,
    /// The words.
    pub text: Shown,
}

/// A piece of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ArgPart {
    /// Shown as it is, escaped.
    Text {
        /// The text.
        text: Shown,
        /// Why it is marked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        mark: Option<PartMark>,
    },
    /// Looks like a secret and is hidden.
    Hidden {
        /// Number of the reveal within the card; none where it cannot be opened from here.
        reveal: Option<u32>,
        /// Length in characters.
        characters: u32,
        /// First 8 hex characters of a keyed digest: equal values look equal.
        digest: String,
        /// Why it is marked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        mark: Option<PartMark>,
    },
}

/// One top-level entry of the arguments, in the order received and never shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ArgEntry {
    /// Its name; none when the arguments are not an object.
    pub name: Option<Shown>,
    /// Its value as JSON, indented where it is long.
    pub value: Vec<ArgPart>,
}

/// Something that the framework does to the arguments after the gate (protocol, `effective`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct EffectiveGroup {
    /// `fixed`, `defaults`, `injected_names`, `dropped_names`, `coerced`, or the agent's own word.
    pub name: Shown,
    /// What it holds.
    pub entries: Vec<ArgEntry>,
}

/// A reason to look twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WarningView {
    /// What kind.
    pub code: String,
    /// Where it was found.
    pub place: Shown,
    /// What it means.
    pub message: Shown,
    /// `WORKSPACE/AGENT/ID` of the earlier call that it is about.
    pub request: Option<String>,
}

/// Why a value is revealed by a key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RevealKind {
    /// It looks like a secret.
    Secret,
    /// It holds characters that cannot be seen.
    HiddenCharacters,
}

/// A value that the key V opens; a critical call asks for all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Reveal {
    /// Number within the card.
    pub reveal: u32,
    /// Why.
    pub kind: RevealKind,
    /// Its place in the arguments.
    pub place: Shown,
}

/// A message that led here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HistoryMessage {
    /// Who spoke, says the agent.
    pub role: Shown,
    /// What was said.
    pub content: Shown,
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct OptionView {
    /// What it is called.
    pub label: Shown,
    /// What it means.
    pub description: Option<Shown>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct QuestionView {
    /// What is asked.
    pub text: Shown,
    /// What surrounds it.
    pub context: Option<Shown>,
    /// What may be chosen.
    pub options: Vec<OptionView>,
    /// Whether an answer in own words is welcome.
    pub allow_freeform: bool,
}

/// A form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FormView {
    /// The schema of the answer, indented.
    pub schema: Shown,
    /// Its fields; none where only JSON can answer it.
    pub fields: Option<FormFields>,
    /// Why it has no fields.
    pub json_only: Option<Shown>,
}

/// The fields of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FormFields {
    /// JSON Schema of what can be filled in, without rules and texts: places in `texts` replace them.
    pub structure: String,
    /// JSON of what is filled in at first: the agent's defaults of fields that may stay empty.
    pub initial: String,
    /// The agent's texts.
    pub texts: Vec<Shown>,
}

/// The framework's own digest: kept and shown, not trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct NativeDigest {
    /// Its algorithm, as the agent names it.
    pub alg: Shown,
    /// Its value.
    pub value: Shown,
}

/// A rung of the delivery ladder (protocol, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RungName {
    /// The request is stored.
    Stored,
    /// A decision was taken.
    Decided,
    /// The stream has it.
    OnBus,
    /// The agent has verified it.
    Received,
    /// The tool ran.
    Executed,
}

/// The state of a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RungState {
    /// Not yet.
    Open,
    /// Reached.
    Done,
    /// Reached, and it went wrong: the tool failed, or the agent refused.
    Bad,
    /// Reached although nothing allows it: what ran was not approved so.
    Forbidden,
    /// Never reached, as it must be: the decision permits no run.
    Never,
    /// Not yet, and that takes too long.
    Stalled,
}

/// One rung with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Rung {
    /// Which.
    pub rung: RungName,
    /// Its state.
    pub state: RungState,
    /// When it was reached, where known.
    #[ts(type = "number | null")]
    pub at_ms: Option<i64>,
    /// The receipt's words, or the stream sequence.
    pub detail: Option<Shown>,
}

/// The valid decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DecisionView {
    /// The verdict's word.
    pub verdict: String,
    /// Who decided: `operator`, `rule`, `setup_key`, `timeout`, `agent`, `system`.
    pub origin: String,
    /// Their name.
    pub by: Shown,
    /// Last characters of their key.
    pub key_tail: String,
    /// Whether this console's operator gave it.
    pub mine: bool,
    /// Their words to the agent.
    pub message: Option<Shown>,
    /// The rule or the setup key that decided; none where a person did.
    pub rule: Option<RuleRef>,
    /// How far it was meant, where that is more than this call; it grants nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub scope: Option<Scope>,
    /// When, by the deciding console's clock.
    #[ts(type = "number | null")]
    pub at_ms: Option<i64>,
    /// The arguments that may run, where they were edited.
    pub edited: Vec<ArgEntry>,
}

/// A decision on the bus other than this console's: agents read this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OnBusView {
    /// The verdict's word, as its payload says.
    pub verdict: Shown,
    /// The name of who gave it, as its payload says.
    pub by: Shown,
    /// Their words to the agent.
    pub message: Option<Shown>,
    /// The server's stamp.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// Sequence in the stream of decisions.
    #[ts(type = "number")]
    pub stream_seq: i64,
}

/// An approval that is held and can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HoldView {
    /// When it is signed and sent.
    #[ts(type = "number")]
    pub release_ms: i64,
}

/// The same call, decided before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReAskView {
    /// `WORKSPACE/AGENT/ID`.
    pub key: String,
    /// Its verdict.
    pub verdict: String,
    /// Who decided it.
    pub by: Option<Shown>,
    /// When.
    #[ts(type = "number")]
    pub at_ms: i64,
}

/// Where a request comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OriginView {
    /// Agent's clock, for display.
    #[ts(type = "number | null")]
    pub requested_ms: Option<i64>,
    /// The framework and its version.
    pub source: Option<Shown>,
    /// The agent's call.
    pub call: Option<Shown>,
    /// The agent's trace.
    pub trace: Option<Shown>,
    /// `sha256:…` of the arguments at the gate.
    pub args_digest: Option<String>,
    /// `sha256:…` of the payload as stored.
    pub request_digest: String,
    /// The framework's own digest.
    pub native_digest: Option<NativeDigest>,
    /// Sequence in the stream of requests.
    #[ts(type = "number")]
    pub stream_seq: i64,
}

/// One request whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// `WORKSPACE/AGENT/ID`.
    pub key: String,
    /// Workspace.
    pub workspace: String,
    /// Whether the workspace is marked as production at this console.
    pub production: bool,
    /// Agent.
    pub agent: String,
    /// Request id (of the subject's grammar).
    pub request_id: String,
    /// What is asked.
    pub kind: RequestKind,
    /// The tool; none for questions and forms.
    pub tool: Option<ToolView>,
    /// Effective risk.
    pub risk: Risk,
    /// The agent's own word, where the protocol does not know it.
    pub unknown_risk: Option<Shown>,
    /// Which way an approval takes.
    pub path: DecidePath,
    /// Its state.
    pub state: State,
    /// The agent's words.
    pub says: Vec<AgentWords>,
    /// The arguments at the gate; none for questions and forms.
    pub args: Option<Vec<ArgEntry>>,
    /// What of them is a change to a file, a shell command or an image.
    pub looks: Vec<ArgLook>,
    /// What the framework will still change.
    pub effective: Vec<EffectiveGroup>,
    /// Reasons to look twice.
    pub warnings: Vec<WarningView>,
    /// What V opens.
    pub reveals: Vec<Reveal>,
    /// What the console finds, the strongest first.
    pub findings: Vec<FindingView>,
    /// What a second reader, a machine, added; nothing but eyes reads it.
    pub reader: Vec<ReaderMarkView>,
    /// What will happen, in the console's own sentence; none where it cannot be sure.
    pub effect: Option<Shown>,
    /// How long it takes to read the arguments that are not the same as in the compared call.
    #[ts(type = "number")]
    pub read_ms: i64,
    /// The nearest call that a person approved.
    pub compared: Option<ComparedView>,
    /// The newest call like it that a person denied.
    pub denied: Option<DeniedView>,
    /// The newest call that this one repeats; none where a warning names it. Nothing follows from it.
    pub re_ask: Option<ReAskView>,
    /// Messages that led here.
    pub history: Vec<HistoryMessage>,
    /// The question.
    pub question: Option<QuestionView>,
    /// The form.
    pub form: Option<FormView>,
    /// What to type on the critical way.
    pub target: TypedTarget,
    /// The agent's thread.
    pub thread: Option<Shown>,
    /// The agent's run.
    pub run: Option<Shown>,
    /// The verdicts that the agent can honour; deny always.
    pub allowed: Vec<Verdict>,
    /// How far the operators are, where several must agree.
    pub votes: Option<VotesView>,
    /// Where it comes from.
    pub origin: OriginView,
    /// The server's stamp of the stored request.
    #[ts(type = "number")]
    pub stored_ms: i64,
    /// From here on no approval takes effect.
    #[ts(type = "number")]
    pub deadline_ms: i64,
    /// False when the agent set no deadline and the longest lifetime applies.
    pub has_deadline: bool,
    /// A held approval.
    pub hold: Option<HoldView>,
    /// The valid decision.
    pub decision: Option<DecisionView>,
    /// Another decision on the bus.
    pub on_bus: Option<OnBusView>,
    /// Stored, decided, on the bus, received, executed.
    pub ladder: Vec<Rung>,
}
