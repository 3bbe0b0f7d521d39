//! Arguments drawn as what they are, under the arguments themselves.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::DiffLine;
use countersign_wire::Shown;

/// One command of a shell command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CommandPart {
    /// The operator before it; empty at the beginning of a line.
    pub joint: Shown,
    /// Its first word; empty where variables are set before it.
    pub program: Shown,
    /// What follows, as it was written.
    pub rest: Shown,
    /// 0; more for a command inside of the one before it.
    pub depth: u32,
}

/// How an argument looks as what it is. The arguments stay what is approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ArgLook {
    /// A change to a file.
    Change {
        /// The file, where the arguments name one.
        path: Option<Shown>,
        /// Line by line.
        lines: Vec<DiffLine>,
    },
    /// A shell command of several parts.
    Command {
        /// The argument.
        place: Shown,
        /// Its parts in their order, those inside of one behind it.
        parts: Vec<CommandPart>,
    },
    /// An image that came with the request; its bytes were checked to be one.
    Image {
        /// The argument.
        place: Shown,
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`, as its bytes say.
        mime: String,
        /// Base64.
        data: String,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
}
