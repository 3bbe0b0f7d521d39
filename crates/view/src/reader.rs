//! The second reader: what it is, what it marked, and what it is worth here.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

/// What the reader, a machine, says of one place in the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReaderMarkView {
    /// JSON pointer.
    pub at: Shown,
    /// A finding's word or `other`.
    pub code: String,
    /// Its words, to be shown in quotes.
    pub message: Shown,
    /// The value was edited since.
    pub edited: bool,
}

/// A known program that can read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReaderFound {
    /// Its word in the settings.
    pub name: String,
    /// Its path or address; none where it was not found.
    pub place: Option<String>,
    /// The host beyond this machine that gets arguments, whatever model is chosen.
    pub outside: Option<String>,
    /// Its models; one must be chosen where there are some.
    pub models: Vec<ReaderModel>,
}

/// A model of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReaderModel {
    /// Its name.
    pub name: String,
    /// The host beyond this machine that gets arguments with it.
    pub outside: Option<String>,
}

/// Where arguments go, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReaderView {
    /// Where arguments of which workspaces go; none while no reader is on.
    pub sentence: Option<String>,
    /// What is wrong with its settings; then it is off.
    pub fault: Option<String>,
    /// Workspaces that agents of this console ask in.
    pub workspaces: Vec<String>,
    /// Calls that were sent.
    #[ts(type = "number")]
    pub asked: i64,
    /// Calls without a valid answer.
    #[ts(type = "number")]
    pub failed: i64,
    /// Calls that were never sent.
    #[ts(type = "number")]
    pub skipped: i64,
    /// Calls that it marked.
    #[ts(type = "number")]
    pub marked: i64,
    /// Those of them that people decided.
    #[ts(type = "number")]
    pub marked_decided: i64,
    /// Those of them that people denied.
    #[ts(type = "number")]
    pub marked_denied: i64,
    /// Of the newest 5,000 calls that people decided, those with a look of the console's own.
    #[ts(type = "number")]
    pub looked: i64,
    /// Those of them that were denied.
    #[ts(type = "number")]
    pub looked_denied: i64,
    /// The word of the last failure.
    pub last_error: Option<String>,
    /// Until when it rests after failures.
    #[ts(type = "number | null")]
    pub resting_ms: Option<i64>,
}

/// The known programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReadersFound {
    /// Each of them, found or not.
    pub found: Vec<ReaderFound>,
}

/// Switches a known program on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct UseReaderArgs {
    /// Its word.
    pub name: String,
    /// Whose calls it reads.
    pub workspaces: Vec<String>,
    /// Which model.
    pub model: Option<String>,
    /// The host that was typed, where arguments leave this machine.
    pub typed: String,
}

/// What came of the made-up cards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReaderTried {
    /// Bad ones marked at the place.
    pub found: u32,
    /// Bad ones.
    pub of: u32,
    /// Good ones with a mark.
    pub false_marks: u32,
    /// Good ones.
    pub of_good: u32,
    /// Cards without an answer.
    pub failed: u32,
    /// Why the last of them has none.
    pub why: Option<String>,
    /// Seconds of an answer, the middle.
    pub seconds: Option<f64>,
}
