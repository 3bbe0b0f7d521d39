//! Hides what looks like a secret, on its way to a person.
//!
//! Each text for people passes here and is hidden, unless the audit log has first recorded a `show --reveal`.

use std::sync::{LazyLock, OnceLock};

use countersign_redaction::Hiding;
use countersign_wire::{Sha256Digest, Shown, escape, escape_lines, json_shown, read_plain};
use serde_json::Value;
use uuid::Uuid;

/// Set once a command knows its console. One process works with one console.
static OF_CONSOLE: OnceLock<Hiding> = OnceLock::new();
/// Before that, and without a console: equal values look equal within one run.
static OF_PROCESS: LazyLock<Hiding> =
    LazyLock::new(|| Hiding::new(*Sha256Digest::of_bytes(Uuid::new_v4().as_bytes()).as_bytes()));

/// From now on the digests of hidden values are this console's, the same in each command and in the window.
pub fn hide_under(hiding: Hiding) {
    // A second console in one process only happens in tests.
    let _ = OF_CONSOLE.set(hiding);
}

/// Hides under the console's key, once it is known.
pub fn hiding() -> &'static Hiding {
    OF_CONSOLE.get().unwrap_or(&OF_PROCESS)
}

/// Whether a person at a terminal sees what looks like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// Its length and 8 digits of a keyed digest replace it.
    Hidden,
    /// As it is; the audit log records who looked.
    Revealed,
}

impl Secrets {
    /// Text for one line.
    pub fn line(self, text: &str) -> String {
        self.of(text, escape, Hiding::escape)
    }

    /// A sentence of the console about values that it escaped.
    pub fn sentence(self, text: &str) -> String {
        self.of(text, read_plain, Hiding::read_plain)
    }

    /// Text of several lines.
    pub fn block(self, text: &str) -> String {
        self.of(text, escape_lines, Hiding::escape_lines)
    }

    /// Indented JSON.
    pub fn json(self, value: &Value) -> String {
        self.of(value, json_shown, Hiding::json_shown)
    }

    fn of<T: ?Sized>(
        self,
        what: &T,
        revealed: fn(&T) -> Shown,
        hidden: fn(&Hiding, &T) -> Shown,
    ) -> String {
        match self {
            Self::Hidden => hidden(hiding(), what).plain(),
            Self::Revealed => revealed(what).plain(),
        }
    }
}
