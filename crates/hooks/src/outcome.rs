//! What came of an ask, in words that any program can carry.

use countersign_sdk::{Decision, DecisionVerdict, GateError, decider, edit_notice, refusal_text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Call;
use crate::questions::answered;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// The call may run with these arguments; the note says to the model that a person changed them.
    Allowed {
        words: String,
        args: Value,
        note: Option<String>,
    },
    /// It must not run.
    Refused { words: String, ends_run: bool },
    /// It waits, and will be asked about again.
    Deferred { words: String },
}

impl Outcome {
    pub(crate) fn refused(words: impl Into<String>) -> Self {
        Self::Refused {
            words: words.into(),
            ends_run: false,
        }
    }

    pub(crate) fn of(call: &Call, answer: Result<&Decision, &GateError>) -> Self {
        let allowed = answer.ok().and_then(|decision| {
            let args = match (&call.form, decision.response()) {
                (Some(_), filled) => answered(&call.args, &filled?.content)?,
                (None, _) => decision.args()?.clone(),
            };
            Some((decision, args))
        });
        let Some((decision, args)) = allowed else {
            let ends_run =
                answer.is_ok_and(|decision| *decision.verdict() == DecisionVerdict::Terminate);
            return Self::Refused {
                words: refusal_text(&call.tool, answer),
                ends_run,
            };
        };
        let done = call.form.as_ref().map_or("approved", |_| "answered");
        let whose = format!("this {} call", call.tool);
        Self::Allowed {
            words: format!("{done} by {}", decider(decision)),
            args,
            note: edit_notice(decision)
                .map(|note| note.trim_end().replacen("this call", &whose, 1)),
        }
    }

    /// `allow` or `deny`, and the words.
    pub(crate) fn decided(&self) -> (&'static str, &str) {
        match self {
            Self::Allowed { words, .. } => ("allow", words),
            Self::Refused { words, .. } | Self::Deferred { words } => ("deny", words),
        }
    }

    /// The arguments that may run.
    pub(crate) fn args(&self) -> Option<&Value> {
        match self {
            Self::Allowed { args, .. } => Some(args),
            _ => None,
        }
    }

    /// What the model reads of a change.
    pub(crate) fn note(&self) -> Option<&str> {
        match self {
            Self::Allowed { note, .. } => note.as_deref(),
            _ => None,
        }
    }

    /// The words, where the run ends with them.
    pub(crate) fn last_words(&self) -> Option<&str> {
        match self {
            Self::Refused {
                words,
                ends_run: true,
            } => Some(words),
            _ => None,
        }
    }

    pub(crate) fn deferred(call: &Call) -> Self {
        let name = &call.tool;
        Self::Deferred {
            words: format!(
                "{name} waits for a person in Countersign; make calls that need approval one by one, so that each can wait"
            ),
        }
    }
}
