//! What an event asks for, whatever program it came from.

use std::path::PathBuf;

use countersign_sdk::Verdict;
use countersign_sdk::wire::Sha256Digest;
use serde_json::{Map, Value};

/// An approval as it is, or none.
pub(crate) const AS_IT_IS: [Verdict; 3] = [Verdict::Approve, Verdict::Deny, Verdict::Skip];
/// Without the end of the run.
pub(crate) const IN_THE_RUN: [Verdict; 4] = [
    Verdict::Approve,
    Verdict::Modify,
    Verdict::Deny,
    Verdict::Skip,
];
pub(crate) const ALL: [Verdict; 5] = [
    Verdict::Approve,
    Verdict::Modify,
    Verdict::Deny,
    Verdict::Skip,
    Verdict::Terminate,
];

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
    /// An event that needs nothing.
    Known,
    /// An event that is none of these.
    Other,
}

/// What an entry of a program's settings is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Asked before a call.
    Before,
    /// Informed after it.
    After,
    /// Informed at the end of a session.
    End,
}

impl Phase {
    /// `before`, `after` or `end`.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "before" => Some(Self::Before),
            "after" => Some(Self::After),
            "end" => Some(Self::End),
            _ => None,
        }
    }
}

impl Call {
    /// Without what only some programs say.
    pub(crate) fn new(event: &str, tool: &str, args: Value, verdicts: &'static [Verdict]) -> Self {
        Self {
            event: event.to_owned(),
            tool: tool.to_owned(),
            args,
            form: None,
            session: None,
            call_id: None,
            reason: None,
            transcript: None,
            server: None,
            native: Map::new(),
            verdicts,
            limits: Limits::default(),
        }
    }
}

impl Step {
    /// Refuses what the entry is not for: what is not known to be harmless could be a call.
    pub(crate) fn at(self, phase: Option<Phase>) -> Result<Self, String> {
        let before = matches!(self, Self::Ask(_) | Self::Unasked);
        match phase {
            Some(Phase::Before) if !before => Err("the event holds no call that Countersign reads"),
            None if matches!(self, Self::Other) => Err("the event is unknown"),
            Some(Phase::After | Phase::End) if before => {
                Err("an event before a call came to the entry for those after it; connect the program again")
            }
            _ => Ok(self),
        }
        .map_err(str::to_owned)
    }
}

/// A call that asks.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The program's name of the event.
    pub(crate) event: String,
    pub(crate) tool: String,
    pub(crate) args: Value,
    /// Title and schema of what a person fills in, where nothing is approved.
    pub(crate) form: Option<(String, Value)>,
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
