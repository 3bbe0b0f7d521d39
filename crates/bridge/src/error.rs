//! What can go wrong before and beside the commands.

use std::path::PathBuf;

use countersign_sdk::wire::ErrorCode;

/// Why a subcommand of the bridge ended.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The configuration cannot be read or says what it may not.
    #[error("{}: {why}", .file.display())]
    Config {
        /// The file.
        file: PathBuf,
        /// What is wrong, with line and column where they are known.
        why: String,
    },
    /// The folder of the bridge cannot be used.
    #[error("the bridge's folder {}: {why}", .folder.display())]
    Store {
        /// The folder.
        folder: PathBuf,
        /// What happened.
        why: String,
    },
    /// Another process runs this bridge.
    #[error("another process holds the lock of {}; one bridge runs for a folder", .0.display())]
    Locked(PathBuf),
    /// CommonGround's bus refused the login.
    #[error("CommonGround's bus refused the login: {0}")]
    Login(String),
    /// CommonGround's bus, a stream or its HTTP API cannot be reached.
    #[error("cannot reach {what}: {why}")]
    Unreachable {
        /// What was tried.
        what: String,
        /// What happened.
        why: String,
    },
    /// Countersign's bus.
    #[error("project {project}: {source}")]
    Gate {
        /// The project.
        project: String,
        /// What happened.
        source: countersign_sdk::GateError,
    },
    /// A tool's file that cannot be guarded.
    #[error("{0}")]
    Tool(String),
    /// No configured tool has this name.
    #[error("{0}")]
    NotFound(String),
}

impl BridgeError {
    /// The program's stable code for it (`cli.md`).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Config { .. } | Self::Store { .. } | Self::Locked(_) | Self::Login(_) => {
                ErrorCode::Environment
            }
            Self::Unreachable { .. } => ErrorCode::BusUnreachable,
            Self::Gate { source, .. } => match source.code() {
                "bus_unreachable" | "bus_no_streams" => ErrorCode::BusUnreachable,
                _ => ErrorCode::Environment,
            },
            Self::Tool(_) => ErrorCode::InvalidArgs,
            Self::NotFound(_) => ErrorCode::NotFound,
        }
    }
}
