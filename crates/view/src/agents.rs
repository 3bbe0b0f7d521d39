//! The Agents screen: who is there, with which tools, and what is wrong with that.

use countersign_domain::facts::Presence;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ControlView;
use countersign_wire::{Risk, Shown};

/// One running copy of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct InstanceView {
    /// The agent's own word; empty for a copy that gives none.
    pub id: Shown,
    /// When it was first heard.
    #[ts(type = "number")]
    pub first_seen_ms: i64,
    /// When it was last heard.
    #[ts(type = "number")]
    pub last_seen_ms: i64,
    /// Heard within the last 30 s.
    pub live: bool,
}

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HelloFaultView {
    /// JSON pointer into the hello, empty for the whole.
    pub path: Shown,
    /// What is wrong.
    pub what: Shown,
}

/// A tool as its agent describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentToolView {
    /// Its name.
    pub name: Shown,
    /// The agent's words about it.
    pub description: Option<Shown>,
    /// The risk as the agent says it, an unknown word read as critical; none when it says nothing.
    pub risk: Option<Risk>,
    /// The agent's own word, where the protocol does not know it.
    pub unknown_risk: Option<Shown>,
    /// Where it comes from.
    pub origin: Option<Shown>,
    /// False when it runs at the model's provider: no person can be asked first.
    pub gated: bool,
    /// An earlier hello listed it, and the last one lists other tools without it.
    pub unlisted: bool,
    /// Whether the model must keep to the schema.
    pub strict: bool,
    /// Where a strict tool's schema is not strict.
    pub strict_faults: Vec<HelloFaultView>,
    /// Another tool of this agent that it could be mistaken for.
    pub looks_like: Option<Shown>,
    /// `sha256:…` of its definition; none when no hello lists it.
    pub digest: Option<String>,
    /// When a person last approved a call of it.
    #[ts(type = "number | null")]
    pub approved_ms: Option<i64>,
    /// Its definition differs from the one at a person's last approval of a call.
    pub changed: bool,
    /// Both definitions, indented, where they differ: as approved, and now.
    pub before: Option<Shown>,
    /// The definition now, indented, where it differs from the approved one.
    pub now: Option<Shown>,
    /// What is typed before a critical call of it is approved. None where its name may look like another on screen.
    pub typed: Option<ToolTarget>,
}

/// What is typed before a critical call of a tool is approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ToolTarget {
    /// The argument that an operator chose: a JSON pointer. None for the tool's name.
    pub pointer: Option<String>,
    /// Pointers to plain values of its schema.
    pub offered: Vec<String>,
}

/// Chooses what is typed before a critical call of a tool is approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ChooseTargetArgs {
    /// `WORKSPACE/AGENT`.
    pub agent: String,
    /// The tool's name.
    pub tool: String,
    /// JSON pointer to an argument; none for the tool's name.
    pub pointer: Option<String>,
}

/// The state of a credential, never its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CredentialView {
    /// The tool that needs it.
    pub tool: Option<Shown>,
    /// Where it is kept.
    pub artifact: Option<Shown>,
    /// Its state, in the agent's word.
    pub status: Option<Shown>,
    /// Names of values that are missing.
    pub missing_keys: Vec<Shown>,
}

/// The gate in front of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GateView {
    /// When a probe last held.
    #[ts(type = "number | null")]
    pub held_ms: Option<i64>,
    /// Why it is open; none while it holds.
    pub open: Option<Shown>,
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// `WORKSPACE/AGENT`.
    pub key: String,
    /// Workspace.
    pub workspace: String,
    /// Agent.
    pub agent: String,
    /// What kind of agent it says it is.
    pub kind: Option<Shown>,
    /// The framework and its version.
    pub framework: Option<Shown>,
    /// Whether it is there.
    pub presence: Presence,
    /// When it was last heard.
    #[ts(type = "number | null")]
    pub last_seen_ms: Option<i64>,
    /// When its last request was stored.
    #[ts(type = "number | null")]
    pub last_request_ms: Option<i64>,
    /// Requests that wait.
    #[ts(type = "number")]
    pub waiting: i64,
    /// Whether it has a login of this console.
    pub enrolled: bool,
    /// When its login was taken away.
    #[ts(type = "number | null")]
    pub revoked_ms: Option<i64>,
    /// Paused or stopped, and by whom.
    pub brake: Option<ControlView>,
    /// What the last probe found of the gate in front of it.
    pub gate: Option<GateView>,
    /// Its copies, those heard last first.
    pub instances: Vec<InstanceView>,
    /// Its tools, in the order of its hello.
    pub tools: Vec<AgentToolView>,
    /// Its credentials.
    pub credentials: Vec<CredentialView>,
    /// Names of its skills.
    pub skills: Vec<Shown>,
    /// When its last readable hello was stored.
    #[ts(type = "number | null")]
    pub hello_ms: Option<i64>,
    /// Why the hello after that one could not be read.
    pub hello_fault: Option<Shown>,
    /// What of the hello had to be left out.
    pub faults: Vec<HelloFaultView>,
}

/// All agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentsView {
    /// By name.
    pub agents: Vec<AgentView>,
    /// The server's time when it was read.
    #[ts(type = "number")]
    pub server_ms: i64,
}
