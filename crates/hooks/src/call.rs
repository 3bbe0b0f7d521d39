//! What an event asks for, whatever program it came from.

use std::path::PathBuf;

use countersign_sdk::Verdict;
use countersign_sdk::wire::Sha256Digest;
use serde_json::{Map, Value};

/// What to do about an event.
#[derive(Debug)]
pub(crate) enum Step {
    /// A call that does not ask.
    Unasked,
    /// Ask about this call.
    Ask(Box<Call>),
    /// Say what became of a call.
    Report(Report),
    /// No call of this session will run any more.
    End { session: String },
    /// An event that is none of these.
    Other,
}

/// A call that asks.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The program's name of the event.
    pub(crate) event: String,
    pub(crate) tool: String,
    pub(crate) args: Value,
    pub(crate) session: Option<String>,
    /// The program's id of the call, under which it can be asked again.
    pub(crate) call_id: Option<String>,
    pub(crate) reason: Option<String>,
    /// The file in which the program keeps what was said.
    pub(crate) transcript: Option<PathBuf>,
    /// The MCP server of the tool.
    pub(crate) server: Option<String>,
    /// What else the program says.
    pub(crate) native: Map<String, Value>,
    pub(crate) verdicts: &'static [Verdict],
    pub(crate) limits: Limits,
}

/// What the program cannot do with an answer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// The model does not learn of an edit.
    pub(crate) silent_edits: bool,
    /// It merges edited arguments into the old ones: none can be taken away.
    pub(crate) merges_edits: bool,
}

/// What became of a call.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) session: Option<String>,
    pub(crate) call_id: Option<String>,
    pub(crate) tool: String,
    /// Of the arguments that ran, where they have one.
    pub(crate) ran: Option<Sha256Digest>,
    /// The type of the error, where it failed.
    pub(crate) failed: Option<String>,
}

/// `SERVER` of `mcp__SERVER__TOOL`.
pub(crate) fn mcp_server(tool: &str) -> Option<String> {
    let (server, _) = tool.strip_prefix("mcp__")?.split_once("__")?;
    Some(server.to_owned())
}
