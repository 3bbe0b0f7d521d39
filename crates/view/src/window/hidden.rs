//! The escaper as cards use it: what looks like a secret is hidden too.
//!
//! To reveal it is a command of its own, and audited.

use countersign_redaction::Hiding;
use countersign_wire::Shown;
use serde_json::Value;

use crate::secrets::hiding;

/// Text for one line.
pub fn escape(text: &str) -> Shown {
    hiding().escape(text)
}

/// A sentence of the console about values that it escaped.
pub(super) fn read_plain(text: &str) -> Shown {
    hiding().read_plain(text)
}

/// Text of several lines.
pub fn escape_lines(text: &str) -> Shown {
    hiding().escape_lines(text)
}

/// Indented JSON.
pub fn json_shown(value: &Value) -> Shown {
    hiding().json_shown(value)
}

/// Text that is cut afterwards: half a token would not be known as one.
pub(super) fn without_secrets(text: &str) -> String {
    Hiding::text(hiding(), text)
}
