//! JSON for terminals and for people.
//!
//! Values stay the same: what is escaped reads back as the same value.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Shown, class::judged, escape_lines};

/// Compact JSON whose strings hold no hostile character: each is written as
/// `\uXXXX` (two for one beyond U+FFFF), so the value is unchanged.
pub fn json_ascii_safe(value: &Value) -> String {
    text_ascii_safe(&value.to_string())
}

/// The same for a text that is JSON. Outside strings JSON has only line feeds,
/// tabs and carriage returns of this kind; those stay.
pub fn text_ascii_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for (_, character, hostile) in judged(json) {
        let blank = matches!(character, '\n' | '\t' | '\r');
        if blank || character == '\u{27e8}' || !hostile {
            safe.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a String does not fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        }
    }
    safe
}

/// Arguments as a person reads them: indented, keys in the order received,
/// never shortened, hostile characters marked.
pub fn json_shown(value: &Value) -> Shown {
    escape_lines(&format!("{value:#}"))
}
