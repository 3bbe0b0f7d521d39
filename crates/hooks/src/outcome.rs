//! What came of an ask, in words that any program can carry.

use countersign_sdk::{Decision, DecisionVerdict, GateError, decider, edit_notice, refusal_text};
use serde_json::Value;

use crate::call::Call;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// The call may run as it is, or with these arguments and this note for the model.
    Allowed { words: String, edit: Option<Edit> },
    /// It must not run.
    Refused { words: String, ends_run: bool },
    /// It waits, and will be asked about again.
    Deferred { words: String },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edit {
    pub(crate) args: Value,
    pub(crate) note: String,
}

impl Outcome {
    pub(crate) fn refused(words: impl Into<String>) -> Self {
        Self::Refused {
            words: words.into(),
            ends_run: false,
        }
    }

    pub(crate) fn of(call: &Call, answer: Result<&Decision, &GateError>) -> Self {
        let Some((decision, args)) = answer.ok().and_then(|of| Some((of, of.args()?))) else {
            let ends_run =
                answer.is_ok_and(|decision| *decision.verdict() == DecisionVerdict::Terminate);
            return Self::Refused {
                words: refusal_text(&call.tool, answer),
                ends_run,
            };
        };
        let whose = format!("this {} call", call.tool);
        Self::Allowed {
            words: format!("approved by {}", decider(decision)),
            edit: edit_notice(decision).map(|note| Edit {
                args: args.clone(),
                note: note.trim_end().replacen("this call", &whose, 1),
            }),
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
