//! Text from agents, made safe to look at (the operator's desk, "Text from agents is hostile").
//!
//! A character that hides, reorders or forges text becomes a mark with its code point. This is the one escaper; window
//! and command line both use it.

mod class;
mod json;
mod plain;
mod warning;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use class::{is_hostile, judged};
pub use json::{json_ascii_safe, json_shown, text_ascii_safe};
pub use plain::read_plain;
pub use warning::{TextWarning, looks_like, warnings};

/// A piece of shown text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", ts(export_to = "generated.ts"))]
pub enum Segment {
    /// Text without hostile characters.
    Text {
        /// The text.
        text: String,
    },
    /// One hostile character.
    Mark {
        /// Its code point, such as `U+202E`, or its byte where it is not UTF-8, such as `0xFF`.
        code: String,
        /// What it is called, where that helps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "typescript", ts(optional))]
        name: Option<String>,
    },
}

impl Segment {
    fn mark(character: char) -> Self {
        Self::Mark {
            code: format!("U+{:04X}", u32::from(character)),
            name: class::name(character).map(str::to_owned),
        }
    }
}

/// Text that is safe to show, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "typescript", ts(export_to = "generated.ts"))]
pub struct Shown(pub Vec<Segment>);

impl Shown {
    /// For places that can show only text: marks are written `⟨U+202E⟩`. The
    /// opening bracket is itself always a mark, so that marks cannot be forged.
    pub fn plain(&self) -> String {
        let mut plain = String::new();
        for segment in &self.0 {
            match segment {
                Segment::Text { text } => plain.push_str(text),
                Segment::Mark { code, .. } => {
                    plain.push('⟨');
                    plain.push_str(code);
                    plain.push('⟩');
                }
            }
        }
        plain
    }

    /// The text that was escaped, hostile characters and all; `None` when it
    /// was not UTF-8 or a mark was not made by this module. For comparing and copying, never for showing.
    pub fn original(&self) -> Option<String> {
        let mut original = String::new();
        for segment in &self.0 {
            match segment {
                Segment::Text { text } => original.push_str(text),
                Segment::Mark { code, .. } => {
                    let code = u32::from_str_radix(code.strip_prefix("U+")?, 16).ok()?;
                    original.push(char::from_u32(code)?);
                }
            }
        }
        Some(original)
    }

    /// How many characters are marked.
    pub fn marks(&self) -> usize {
        self.0
            .iter()
            .filter(|segment| matches!(segment, Segment::Mark { .. }))
            .count()
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Escapes text for one line: every hostile character is marked, line breaks and tabs too.
pub fn escape(text: &str) -> Shown {
    escape_with(text, |_| false)
}

/// Escapes text for a block: line feeds stay, everything else is as in [`escape`].
pub fn escape_lines(text: &str) -> Shown {
    escape_with(text, |character| character == '\n')
}

/// Escapes bytes as received: as [`escape_lines`], and every byte that is not
/// part of UTF-8 becomes a mark such as `0xFF`.
pub fn escape_bytes(bytes: &[u8]) -> Shown {
    let mut segments = Vec::new();
    for chunk in bytes.utf8_chunks() {
        segments.extend(escape_lines(chunk.valid()).0);
        segments.extend(chunk.invalid().iter().map(|byte| Segment::Mark {
            code: format!("0x{byte:02X}"),
            name: Some("not UTF-8".to_owned()),
        }));
    }
    Shown(segments)
}

fn escape_with(text: &str, stays: impl Fn(char) -> bool) -> Shown {
    let mut segments = Vec::new();
    let mut start = 0;
    for (at, character, hostile) in judged(text) {
        if hostile && !stays(character) {
            if start < at {
                segments.push(Segment::Text {
                    text: text[start..at].to_owned(),
                });
            }
            segments.push(Segment::mark(character));
            start = at + character.len_utf8();
        }
    }
    if start < text.len() {
        segments.push(Segment::Text {
            text: text[start..].to_owned(),
        });
    }
    Shown(segments)
}
