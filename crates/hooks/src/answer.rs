//! What a hook leaves behind: standard output, standard error, exit code.

use serde_json::{Value, json};

/// The answer to one event. Every program reads exit code 2 with words on standard error as a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// For standard output; empty: nothing.
    pub output: String,
    /// For standard error, where it refuses without JSON.
    pub words: Option<String>,
    /// The tool of a call that ran, asks, and was never asked about.
    pub never_asked: Option<String>,
}

impl Answer {
    pub(crate) fn json(value: &Value) -> Self {
        Self {
            output: format!("{value}\n"),
            words: None,
            never_asked: None,
        }
    }

    /// No objection and nothing to say: the program's own permissions decide.
    pub(crate) fn nothing() -> Self {
        Self {
            output: String::new(),
            words: None,
            never_asked: None,
        }
    }

    pub(crate) fn empty() -> Self {
        Self::json(&json!({}))
    }

    /// A refusal that no JSON can carry.
    pub fn fault(words: impl Into<String>) -> Self {
        Self {
            output: String::new(),
            words: Some(words.into()),
            never_asked: None,
        }
    }

    /// 0, or 2 for a refusal without JSON.
    pub fn exit_code(&self) -> u8 {
        if self.words.is_some() { 2 } else { 0 }
    }
}
