//! The end of a command that did not do what was asked.
//!
//! Every message passes the escaper and loses its secrets.

use std::io::{self, Write};
use std::process::ExitCode;

use countersign_core::Fault;
use countersign_core::ops::rules::RulesFault;
use countersign_core::ops::waiting_calls::WaitingCall;
use countersign_wire::{ErrorCode, json_ascii_safe};
use serde_json::json;

use countersign_view::secrets::Secrets;

/// A stable code and a sentence that says what to do next.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Reported on standard error.
    Reported {
        /// Decides the exit code.
        code: ErrorCode,
        /// For a person.
        message: String,
    },
    /// A change that would approve waiting calls, without the flag that accepts them.
    Waiting(Vec<WaitingCall>),
    /// Whoever read our output has had enough; nothing failed.
    NobodyReads,
    /// The command has already reported on standard output how it ended.
    Printed(ErrorCode),
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Reported {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Usage, message)
    }

    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Environment, message)
    }

    /// How a command ends whose exit code is an answer of its own: the code stays the same whether or not anybody read
    /// its output.
    pub(crate) fn answered(
        printed: Result<(), Self>,
        answer: Result<(), Self>,
    ) -> Result<(), Self> {
        match (printed, answer) {
            (Ok(()) | Err(Self::NobodyReads), answer) => answer,
            (Err(_), Err(refused @ (Self::Reported { .. } | Self::Waiting(_)))) => Err(refused),
            (Err(unprinted), _) => Err(unprinted),
        }
    }

    /// How a command ends that did what was asked and could not print it.
    pub(crate) fn unprinted(error: io::Error, done: &str) -> Self {
        match Self::from(error) {
            Self::Reported { code, message } => Self::new(code, format!("{done}, but {message}")),
            other => other,
        }
    }

    /// The sentence alone, without secrets.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Reported { message, .. } => Secrets::Hidden.block(message),
            _ => "failed".to_owned(),
        }
    }

    /// Prints the message and returns the exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        match self {
            Self::Reported { code, message } => {
                print_failure(*code, &shown(*code, message, json, &[]))
            }
            Self::Waiting(calls) => {
                let why = RulesFault::DecidesWaiting(calls.clone());
                let message =
                    format!("{why}. Nothing was changed; check them, then add --accept-waiting");
                print_failure(
                    ErrorCode::VerdictNotAllowed,
                    &shown(ErrorCode::VerdictNotAllowed, &message, json, calls),
                )
            }
            Self::NobodyReads => ExitCode::SUCCESS,
            Self::Printed(code) => code.exit_code().into(),
        }
    }
}

fn print_failure(code: ErrorCode, text: &str) -> ExitCode {
    // With standard error gone nobody would read it.
    let _ = writeln!(io::stderr(), "{text}");
    code.exit_code().into()
}

/// Request ids of waiting calls.
pub(crate) fn ids(calls: &[WaitingCall]) -> Vec<String> {
    calls
        .iter()
        .map(|of| of.key.request_id.to_string())
        .collect()
}

fn shown(code: ErrorCode, message: &str, json: bool, waiting: &[WaitingCall]) -> String {
    let message = Secrets::Hidden.block(message);
    if json {
        let mut error = json!({ "error": { "code": code.as_str(), "message": message } });
        if !waiting.is_empty() {
            error["error"]["decides_waiting"] = json!(ids(waiting));
        }
        json_ascii_safe(&error)
    } else {
        format!("countersign: {message}")
    }
}

impl From<Fault> for Failure {
    fn from(error: Fault) -> Self {
        Self::new(error.code, error.message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::new(
                ErrorCode::Failed,
                format!("the output could not be written: {error}"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stays_what_it_is_where_nobody_reads() {
        let full = || Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        let denied = || Failure::new(ErrorCode::Expired, "denied");
        let code = |ended: Result<(), Failure>| match ended {
            Ok(()) | Err(Failure::NobodyReads) => 0,
            Err(Failure::Printed(code) | Failure::Reported { code, .. }) => code.exit_code(),
            Err(Failure::Waiting(_)) => 6,
        };
        let unread = || Err(Failure::NobodyReads);
        let printed = || Err(Failure::Printed(ErrorCode::Failed));
        assert_eq!(code(Failure::answered(unread(), Ok(()))), 0);
        assert_eq!(code(Failure::answered(unread(), printed())), 1);
        assert_eq!(code(Failure::answered(unread(), Err(denied()))), 5);
        assert_eq!(code(Failure::answered(Err(full()), Err(denied()))), 5);
        assert_eq!(code(Failure::answered(Err(full()), Ok(()))), 1);
    }

    #[test]
    fn what_was_done_is_named_where_it_could_not_be_printed() {
        let of = |kind| Failure::unprinted(io::Error::from(kind), "approved a/b/c");
        let Failure::Reported { code, message } = of(io::ErrorKind::StorageFull) else {
            panic!("nothing is reported");
        };
        assert_eq!(code, ErrorCode::Failed);
        assert!(message.starts_with("approved a/b/c, but"), "{message}");
        assert!(matches!(
            of(io::ErrorKind::BrokenPipe),
            Failure::NobodyReads
        ));
    }

    #[test]
    fn an_error_is_one_json_object_without_hostile_characters() {
        let text = shown(
            ErrorCode::NotFound,
            "no \u{202e}such\u{1b}[2J id",
            true,
            &[],
        );
        assert!(
            !text
                .chars()
                .any(|c| c != '⟨' && countersign_wire::is_hostile(c))
        );
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["error"]["code"], "not_found");
        assert_eq!(value["error"]["message"], "no ⟨U+202E⟩such⟨U+001B⟩[2J id");
    }
}
