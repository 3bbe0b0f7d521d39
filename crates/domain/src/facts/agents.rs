//! An agent as it is known: its copies, its tools, and what is wrong with them.

use countersign_wire::{AgentControl, AgentInfo, Credential, HelloFault};
use serde::{Deserialize, Serialize};

use crate::stall::ALIVE_MS;
use crate::{StrictFault, Timestamp};

/// Whether an agent is there, by the server's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "typescript",
    derive(ts_rs::TS),
    ts(rename = "AgentPresence")
)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// Heard within [`ALIVE_MS`].
    Live,
    /// Heard before.
    Silent,
    /// Enrolled, or known from its requests only.
    Unheard,
}

countersign_wire::words!(Presence { Live => "live", Silent => "silent", Unheard => "unheard" });

impl Presence {
    /// Of an agent that was last heard then, ms.
    #[must_use]
    pub fn of(last_seen: Option<i64>, now: Timestamp) -> Self {
        match last_seen {
            Some(at) if now.since_ms(Timestamp(at)) < ALIVE_MS => Self::Live,
            Some(_) => Self::Silent,
            None => Self::Unheard,
        }
    }
}

/// One running copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The agent's own word; empty for a copy that gives none.
    pub id: String,
    /// When it was first heard.
    pub first_seen: Timestamp,
    /// When it was last heard.
    pub last_seen: Timestamp,
    /// Heard within [`ALIVE_MS`].
    pub live: bool,
}

/// A tool as its agent describes it. All texts are the agent's.
#[derive(Debug, Clone, Default)]
pub struct ToolReport {
    /// Its name.
    pub name: String,
    /// The agent's words about it.
    pub description: Option<String>,
    /// The agent's word.
    pub risk: Option<String>,
    /// The agent's word.
    pub origin: Option<String>,
    /// False when it runs at the model's provider: no person can be asked first.
    pub gated: bool,
    /// Whether the last hello lists it.
    pub listed: bool,
    /// Whether an earlier hello listed it, and the last one lists other tools without it.
    pub unlisted: bool,
    /// Whether the model must keep to the schema.
    pub strict: bool,
    /// Where a strict tool's schema is not strict; paths point into the hello.
    pub strict_faults: Vec<StrictFault>,
    /// Another tool of this agent that it could be mistaken for.
    pub looks_like: Option<String>,
    /// Digest of its definition; none when no hello has given one.
    pub digest: Option<String>,
    /// Since when it reads so.
    pub changed_at: Option<Timestamp>,
    /// Digest of the definition in force when a person last approved a call.
    pub approved_digest: Option<String>,
    /// When that was.
    pub approved_at: Option<Timestamp>,
    /// Its definition has changed since a person last approved a call.
    pub changed: bool,
    /// The argument that an operator wants typed before a critical call of it; none is its name.
    pub typed_target: Option<String>,
    /// The definition now: JSON.
    pub definition: Option<String>,
    /// The approved one: JSON.
    pub approved_definition: Option<String>,
}

/// One agent. All texts but its name are its own.
#[derive(Debug, Clone)]
pub struct AgentReport {
    /// Workspace.
    pub workspace: String,
    /// Agent.
    pub agent: String,
    /// What it says it is.
    pub info: Option<AgentInfo>,
    /// Whether it is there.
    pub presence: Presence,
    /// When it was last heard.
    pub last_seen: Option<Timestamp>,
    /// When its last request was stored.
    pub last_request: Option<Timestamp>,
    /// Requests that wait.
    pub waiting: i64,
    /// Whether it has a login of this console.
    pub enrolled: bool,
    /// When its login was taken away.
    pub revoked_at: Option<Timestamp>,
    /// Paused or stopped, by whom and when.
    pub control: Option<(AgentControl, String, Timestamp)>,
    /// What the last probe found of the gate in front of it.
    pub gate: Option<Gate>,
    /// Its copies, those heard last first.
    pub instances: Vec<Instance>,
    /// Its tools, in the order of its hello; those that it no longer lists last.
    pub tools: Vec<ToolReport>,
    /// The states of its credentials.
    pub credentials: Vec<Credential>,
    /// Names of its skills.
    pub skills: Vec<String>,
    /// When its last readable hello was stored.
    pub hello_at: Option<Timestamp>,
    /// Why the hello after that one could not be read.
    pub hello_fault: Option<String>,
    /// What of the hello had to be left out.
    pub faults: Vec<HelloFault>,
}

/// What is known of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// When a probe last held.
    pub held_at: Option<Timestamp>,
    /// Why it is open; none while it holds.
    pub open: Option<String>,
}

impl Gate {
    /// None where nobody has looked.
    #[must_use]
    pub fn of(held_at: Option<i64>, open: Option<String>) -> Option<Self> {
        let held_at = held_at.map(Timestamp);
        (held_at.is_some() || open.is_some()).then_some(Self { held_at, open })
    }
}
