//! The configuration, as the bridge uses it.

use std::path::PathBuf;
use std::time::Duration;

/// Names that CommonGround keeps for itself.
pub(crate) const RESERVED: [&str; 5] = [
    "delegate_async",
    "launch_principal",
    "ask_expert",
    "fork_join",
    "provision_agent",
];
/// The subject of a gate has this in it; a tool's own target may not.
pub(crate) const GATE: &str = ".cmd.tool.approval.";

/// What `bridge commonground` runs with.
#[derive(Debug, Clone)]
pub struct Config {
    /// In the durables' names and the report subject.
    pub name: String,
    /// CommonGround's bus.
    pub nats: NatsLogin,
    /// The bridge's own folder.
    pub data_dir: PathBuf,
    /// How long CommonGround's bus waits for an acknowledgement.
    pub ack_wait: Duration,
    /// CommonGround's `[worker].suspend_timeout_seconds`.
    pub default_suspend: Duration,
    /// A card ends this much before CommonGround stops waiting.
    pub margin: Duration,
    /// How long a card waits for its state event.
    pub state_wait: Duration,
    /// The projects, in the order of the file.
    pub projects: Vec<Project>,
}

/// How CommonGround's bus is reached.
#[derive(Debug, Clone)]
pub struct NatsLogin {
    /// The server.
    pub url: String,
    /// A `.creds` file.
    pub creds: Option<PathBuf>,
    /// A file with an nkey seed.
    pub nkey: Option<PathBuf>,
    /// Authorities that may sign the server's certificate.
    pub tls_ca: Option<PathBuf>,
    /// The bridge's certificate and its key.
    pub tls_client: Option<(PathBuf, PathBuf)>,
}

/// One of CommonGround's projects, with an enrolment of its own.
#[derive(Debug, Clone)]
pub struct Project {
    /// CommonGround's id.
    pub id: String,
    /// The enrolment under which its cards are.
    pub agent_json: PathBuf,
    /// CommonGround's HTTP API, without a slash at its end.
    pub api_url: String,
    /// The name of the variable with the API's token.
    pub api_token_env: Option<String>,
    /// The tools behind a gate.
    pub tools: Vec<GuardedTool>,
}

/// A tool whose commands ask first.
#[derive(Debug, Clone)]
pub struct GuardedTool {
    /// CommonGround's name of the tool.
    pub name: String,
    /// The last token of the gate's subject.
    pub gate: String,
    /// The subject of the tool itself, with placeholders.
    pub forward_to: String,
    /// The protocol's word.
    pub risk: String,
    /// The protocol's word.
    pub effects: Option<String>,
    /// How long CommonGround waits for this tool.
    pub suspend: Duration,
    /// For the card.
    pub description: Option<String>,
}

impl Config {
    /// The project of this id.
    pub fn project(&self, id: &str) -> Option<&Project> {
        self.projects.iter().find(|project| project.id == id)
    }

    /// How long a command of this tool may wait from its stamp in the stream.
    pub(crate) fn lifetime(&self, tool: Option<&GuardedTool>) -> Duration {
        let own = tool.map_or(Duration::ZERO, |tool| tool.suspend);
        own.max(self.default_suspend).saturating_sub(self.margin)
    }
}

impl Project {
    pub(crate) fn at_gate(&self, gate: &str) -> Option<&GuardedTool> {
        self.tools.iter().find(|tool| tool.gate == gate)
    }

    /// The token, read each time so that a changed one counts at the next start.
    pub(crate) fn token(&self) -> Option<String> {
        std::env::var(self.api_token_env.as_deref()?).ok()
    }
}

impl GuardedTool {
    /// The tool's subject for one call.
    pub(crate) fn target(&self, project: &str, channel: &str, agent: &str) -> String {
        self.forward_to
            .replace("{project_id}", project)
            .replace("{channel_id}", channel)
            .replace("{agent_id}", agent)
    }
}

/// Why a subject cannot be the target of a guarded tool; none if it can.
pub(crate) fn bad_target(subject: &str) -> Option<&'static str> {
    if subject.contains(GATE) {
        Some("it is a gate itself")
    } else if subject.contains(".cmd.sys.") {
        Some("commands to the system (.cmd.sys.) are not guarded")
    } else if !subject.contains(".cmd.tool.") {
        Some("it has no .cmd.tool. in it")
    } else {
        None
    }
}
