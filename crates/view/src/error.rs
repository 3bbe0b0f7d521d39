//! What the page learns when a command fails: a code to branch on and a sentence to show.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Why a command failed. The words are the error codes of the command line contract, and two that
/// only a window can meet: `not_armed` and `ipc_lost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum IpcErrorCode {
    /// Something went wrong that has no code of its own.
    Failed,
    /// The command's arguments make no sense.
    Usage,
    /// The surroundings are not as they must be.
    Environment,
    /// An id without workspace and agent names several requests.
    AmbiguousId,
    /// No such request.
    NotFound,
    /// Somebody was first, this console included.
    AlreadyDecided,
    /// The deadline has passed.
    Expired,
    /// The agent cannot honour the verdict.
    VerdictNotAllowed,
    /// The arguments that were seen are not the stored ones.
    DigestDiffers,
    /// Rejected or void.
    NotApprovable,
    /// Edited arguments or an answer do not fit their schema.
    InvalidArgs,
    /// The bus cannot be reached; the decision is queued.
    BusUnreachable,
    /// The console takes no decisions at the moment.
    ReadOnly,
    /// The proof that a high or critical call asks for is missing.
    NotArmed,
    /// The page has lost the application.
    IpcLost,
}

/// A failed command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct IpcError {
    /// What to branch on.
    pub code: IpcErrorCode,
    /// What to show: it says what to do next, and holds no text of an agent that is not escaped.
    pub message: String,
}

impl IpcError {
    /// An error with a code and a sentence.
    pub fn new(code: IpcErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}
