//! Why a gateway does not start.

use std::io;
use std::path::PathBuf;

use countersign_sdk::GateError;

use crate::tokens::TokenError;

/// Why a gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Flags that do not go together.
    #[error("{0}")]
    Usage(String),
    /// A login that cannot be used.
    #[error("{}: {source}", .path.display())]
    Agent {
        /// The `agent.json`.
        path: PathBuf,
        /// What is wrong with it.
        source: GateError,
    },
    /// Another process has the folder.
    #[error("{} is in use by another gateway; stop it, or name another folder with --dir", .0.display())]
    InUse(PathBuf),
    /// The folder, or something in it, cannot be used.
    #[error("{}: {source}", .path.display())]
    Folder {
        /// What.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The tokens cannot be read.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The address or the socket cannot be had, or the certificate not be used.
    #[error("cannot listen on {at}: {source}")]
    Listen {
        /// Where.
        at: String,
        /// What the system says.
        source: io::Error,
    },
}
