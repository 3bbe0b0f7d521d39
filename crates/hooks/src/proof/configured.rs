//! A hook as a program's settings have it.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

/// What can be done with a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Run, as the program runs it.
    Command,
    /// Nothing; it may set a call's input.
    MayRewrite,
    /// Nothing; it can only deny.
    OnlyDenies,
}

/// A hook that is asked before a call.
#[derive(Debug)]
pub(super) struct Configured {
    pub(super) file: PathBuf,
    /// The event that it is for.
    pub(super) event: &'static str,
    pub(super) kind: Kind,
    /// As the shell reads it; what it is, where it is not a command.
    pub(super) command: String,
    pub(super) matcher: Option<String>,
    /// Whether it is asked about shell commands, which every program has.
    pub(super) of_shell: bool,
    pub(super) ours: bool,
    /// How long the program waits for it.
    pub(super) timeout: Duration,
    /// A failure of the hook blocks the call.
    pub(super) blocks: bool,
    /// The program does not wait for it.
    pub(super) background: bool,
    /// Why the program never runs it.
    pub(super) untrusted: Option<String>,
}

impl Configured {
    /// Whether a probe of the gate runs it although it is not ours.
    pub(super) fn is_run_beside(&self) -> bool {
        !self.ours && !self.background && self.kind == Kind::Command && self.untrusted.is_none()
    }
}

/// With the place of each: that of its group in the event's list, and its own in the group.
pub(super) type Placed = (Configured, (Value, usize, usize));
