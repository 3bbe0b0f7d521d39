//! Hides secrets in texts and JSON, for people and for exports.
//!
//! An agent cannot forge the mark of a hidden value: on screen it is a mark of the escaper.

use std::fmt;

use serde_json::Value;

use super::names::{is_maybe_secret_key, is_plain_seed, is_random};
use super::{Redacted, is_secret_key, secret_spans};
use countersign_wire::{Segment, Sha256Digest, Shown, escape, escape_lines, read_plain};

/// The name of the mark of a hidden value.
const MARK: &str = "hidden value";

/// Hides what looks like a secret, under a console's own key.
#[derive(Clone)]
pub struct Hiding {
    key: [u8; 32],
}

impl fmt::Debug for Hiding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hiding(key hidden)")
    }
}

impl Hiding {
    /// Takes the key of the digests that replace hidden values; secret and the console's own.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// Derives the key from a seed, so that it needs no place of its own and is the same after a restart.
    pub fn from_seed(seed: &str) -> Self {
        let key = Sha256Digest::of_bytes(format!("countersign-hiding-v1\n{seed}").as_bytes());
        Self::new(*key.as_bytes())
    }

    /// The key.
    pub fn key(&self) -> [u8; 32] {
        self.key
    }

    /// What replaces a value.
    pub fn redacted(&self, value: &str) -> Redacted {
        Redacted::of(value, &self.key)
    }

    /// A text for an export or a log: each secret in it reads `(hidden: N characters, DIGITS)`.
    pub fn text(&self, text: &str) -> String {
        let mut safe = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Open(open) => safe.push_str(open),
                Piece::Secret(secret) => safe.push_str(&self.in_brackets(secret)),
            }
        }
        safe
    }

    /// The same for JSON: a value under the name of a secret is hidden whole and becomes a text, and so
    /// are names that are secrets themselves.
    pub fn json(&self, value: &Value) -> Value {
        self.json_of(None, value)
    }

    /// The same for the value of a field; its name may say that it is a secret.
    pub fn field(&self, name: &str, value: &Value) -> Value {
        self.json_of(Some(name), value)
    }

    fn json_of(&self, name: Option<&str>, value: &Value) -> Value {
        if hides_whole(name, value) {
            return Value::String(self.in_brackets(&leaf_text(value)));
        }
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.json_of(None, item)).collect(),
            Value::Object(fields) => {
                let hide = |(name, item): (&String, &Value)| {
                    (self.text(name), self.json_of(Some(name), item))
                };
                Value::Object(fields.iter().map(hide).collect())
            }
            other => other.clone(),
        }
    }

    /// As [`escape`], with a mark for each secret.
    pub fn escape(&self, text: &str) -> Shown {
        self.shown(text, escape)
    }

    /// As [`escape_lines`], with a mark for each secret.
    pub fn escape_lines(&self, text: &str) -> Shown {
        self.shown(text, escape_lines)
    }

    /// As [`read_plain`], with a mark for each secret.
    pub fn read_plain(&self, text: &str) -> Shown {
        self.shown(text, read_plain)
    }

    /// As [`json_shown`](countersign_wire::json_shown), with a mark for each secret.
    pub fn json_shown(&self, value: &Value) -> Shown {
        let mut writer = Writer {
            hiding: self,
            segments: Vec::new(),
            open: String::new(),
        };
        writer.value(None, value, 0);
        writer.close();
        Shown(writer.segments)
    }

    fn shown(&self, text: &str, escaped: fn(&str) -> Shown) -> Shown {
        let mut segments = Vec::new();
        for piece in pieces(text) {
            match piece {
                Piece::Open(open) => segments.extend(escaped(open).0),
                Piece::Secret(secret) => segments.push(self.mark(secret)),
            }
        }
        Shown(segments)
    }

    fn mark(&self, secret: &str) -> Segment {
        Segment::Mark {
            code: self.redacted(secret).to_string(),
            name: Some(MARK.to_owned()),
        }
    }

    fn in_brackets(&self, secret: &str) -> String {
        format!("({})", self.redacted(secret))
    }
}

/// Whether a value is hidden whole because of its key's name. Null, booleans and an empty text are never secrets.
pub fn hides_whole(name: Option<&str>, value: &Value) -> bool {
    let holds = match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    let hides = |name| match is_secret_key(name) {
        true => !is_plain_seed(name, &leaf_text(value)),
        false => is_maybe_secret_key(name) && value.as_str().is_some_and(is_random),
    };
    holds && name.is_some_and(hides)
}

/// A value's text as it is hidden and revealed: a string itself, anything else as JSON.
#[must_use]
pub fn leaf_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

enum Piece<'t> {
    Open(&'t str),
    Secret(&'t str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for span in secret_spans(text) {
        if from < span.start {
            pieces.push(Piece::Open(&text[from..span.start]));
        }
        pieces.push(Piece::Secret(&text[span.clone()]));
        from = span.end;
    }
    if from < text.len() {
        pieces.push(Piece::Open(&text[from..]));
    }
    pieces
}

/// Writes indented JSON as `serde_json` does, but for what is hidden.
struct Writer<'a> {
    hiding: &'a Hiding,
    segments: Vec<Segment>,
    open: String,
}

impl Writer<'_> {
    fn close(&mut self) {
        self.segments.extend(escape_lines(&self.open).0);
        self.open.clear();
    }

    fn hide(&mut self, secret: &str) {
        self.close();
        let mark = self.hiding.mark(secret);
        self.segments.push(mark);
    }

    fn value(&mut self, name: Option<&str>, value: &Value, depth: usize) {
        if hides_whole(name, value) {
            return self.hide(&leaf_text(value));
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) if !items.is_empty() => {
                self.open.push('[');
                for (place, item) in items.iter().enumerate() {
                    self.line(place > 0, depth + 1);
                    self.value(None, item, depth + 1);
                }
                self.line(false, depth);
                self.open.push(']');
            }
            Value::Object(fields) if !fields.is_empty() => {
                self.open.push('{');
                for (place, (name, item)) in fields.iter().enumerate() {
                    self.line(place > 0, depth + 1);
                    self.text(name);
                    self.open.push_str(": ");
                    self.value(Some(name), item, depth + 1);
                }
                self.line(false, depth);
                self.open.push('}');
            }
            other => self.open.push_str(&other.to_string()),
        }
    }

    fn line(&mut self, comma: bool, depth: usize) {
        if comma {
            self.open.push(',');
        }
        self.open.push('\n');
        self.open.push_str(&"  ".repeat(depth));
    }

    fn text(&mut self, text: &str) {
        self.open.push('"');
        for piece in pieces(text) {
            match piece {
                Piece::Open(open) => {
                    // Each character is escaped separately, so the pieces of a text are escaped as the whole.
                    let literal = Value::from(open).to_string();
                    self.open.push_str(&literal[1..literal.len() - 1]);
                }
                Piece::Secret(secret) => self.hide(secret),
            }
        }
        self.open.push('"');
    }
}
