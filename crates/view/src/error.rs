//! What the page learns when a command fails: a code to branch on and a sentence to show.

use countersign_wire::ErrorCode;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What only a window can meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum WindowFault {
    /// The proof that a high or critical call asks for is missing.
    NotArmed,
    /// The page has lost the application.
    IpcLost,
}

/// Why a command failed: an error code of the command line contract, or what only a window can meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(untagged)]
#[ts(rename = "IpcErrorCode")]
pub enum FaultCode {
    /// As of a command.
    Command(ErrorCode),
    /// Of the window.
    Window(WindowFault),
}

impl From<ErrorCode> for FaultCode {
    fn from(code: ErrorCode) -> Self {
        Self::Command(code)
    }
}

impl From<WindowFault> for FaultCode {
    fn from(fault: WindowFault) -> Self {
        Self::Window(fault)
    }
}

/// A failed command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct IpcError {
    /// What to branch on.
    pub code: FaultCode,
    /// What to show: it says what to do next, and holds no text of an agent that is not escaped.
    pub message: String,
}

impl IpcError {
    /// An error with a code and a sentence.
    pub fn new(code: impl Into<FaultCode>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}
