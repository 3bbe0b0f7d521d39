//! What became of calls in the hands of a second reader: facts that are kept beside a request and decide nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How far the reading of one call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// It was sent and is not answered.
    Asked,
    /// The reader answered, with marks or without.
    Answered,
    /// It did not answer, or not as it must.
    Failed,
    /// The call was never sent.
    Skipped,
    /// The answer came when nobody waited any more; it is not kept.
    Late,
}

countersign_wire::words!(Reading {
    Asked => "asked", Answered => "answered", Failed => "failed", Skipped => "skipped", Late => "late",
});

/// Why a reader did not answer. The words are those of `status`, never the reader's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderFault {
    /// Not in time.
    Timeout,
    /// The program failed.
    Exit,
    /// Another status than success; a redirect too.
    Http,
    /// No connection.
    Connect,
    /// Not the object that was asked for.
    Answer,
    /// Too much was said.
    TooLarge,
    /// It has no valid login or key.
    Login,
    /// The program or the model is not there, or the program is another version.
    Missing,
    /// Ended by a stop or by other settings.
    Stopped,
    /// The settings are wrong.
    Config,
}

countersign_wire::words!(ReaderFault {
    Timeout => "timeout", Exit => "exit", Http => "http", Connect => "connect", Answer => "answer",
    TooLarge => "too_large", Login => "login", Missing => "missing", Stopped => "stopped", Config => "config",
});

/// What the reader says of one place in the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderMark {
    /// JSON pointer to a value that was sent; never empty.
    pub at: String,
    /// A finding's word or `other`.
    pub code: String,
    /// One line, escaped, at most 200 characters.
    pub message: String,
}

/// A row of the audit log.
#[derive(Debug, Clone, PartialEq)]
pub struct ReaderAudit {
    /// `reader_asked`, `reader_answered`, `reader_on`, `reader_off`.
    pub action: &'static str,
    /// `WS/AGENT/ID`, or `reader`.
    pub subject: String,
    /// Digests, numbers and words.
    pub detail: Value,
}

impl ReaderAudit {
    /// A row about a subject.
    #[must_use]
    pub fn of(action: &'static str, subject: &str, detail: Value) -> Self {
        Self {
            action,
            subject: subject.to_owned(),
            detail,
        }
    }
}

/// What is kept of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadCall {
    /// Row number of the request.
    pub request: i64,
    /// How far it is.
    pub reading: Reading,
    /// How many marks did not fit.
    pub dropped: u32,
    /// The marks; none unless it was answered.
    pub marks: Vec<ReaderMark>,
    /// Its row in the audit log.
    pub audit: Option<ReaderAudit>,
}

impl ReadCall {
    /// One without marks.
    #[must_use]
    pub fn of(request: i64, reading: Reading, audit: Option<ReaderAudit>) -> Self {
        let (dropped, marks) = (0, Vec::new());
        Self {
            request,
            reading,
            dropped,
            marks,
            audit,
        }
    }
}

/// How the reader is, for `status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderState {
    /// Whether one was on when this was written.
    pub on: bool,
    /// Until when it rests after failures, ms.
    pub resting_until: Option<i64>,
    /// The word of the last failure, until the next answer.
    pub last_error: Option<String>,
    /// When it answered last, ms.
    pub last_answer_at: Option<i64>,
}

/// What is written at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReaderNote {
    /// Calls.
    pub calls: Vec<ReadCall>,
    /// That it is on or off.
    pub audit: Option<ReaderAudit>,
    /// How the reader is from now on; none leaves it as it was.
    pub state: Option<ReaderState>,
}

impl ReaderNote {
    /// How the reader is from now on, and what became of calls.
    #[must_use]
    pub fn of(state: ReaderState, calls: Vec<ReadCall>) -> Self {
        let (audit, state) = (None, Some(state));
        Self {
            calls,
            audit,
            state,
        }
    }
}

impl From<Vec<ReadCall>> for ReaderNote {
    fn from(calls: Vec<ReadCall>) -> Self {
        Self {
            calls,
            ..Self::default()
        }
    }
}
