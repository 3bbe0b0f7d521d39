//! Values of any size and depth, cut to a number of bytes of JSON.
//!
//! Recursion ends at [`DEEPEST`], and bytes count as they will be written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_wire::MAX_SAFE_INTEGER;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use serde_json::{Map, Value};

/// Levels of nesting that are kept of a value; a span may have 64 in all.
pub(super) const DEEPEST: usize = 32;
/// Bytes of a name that is kept; a longer one is left out with its value.
const NAME: usize = 256;
/// Bytes of JSON that one text may take, so that the first leaves room for the others.
const TEXT: usize = 16 * 1024;
/// What replaces a value that is nested deeper.
const TOO_DEEP: &str = "[nested too deep]";

/// The beginning of a text that takes at most `max` bytes in JSON, and a mark when that is not all of it.
pub(super) fn cut(text: &str, max: usize) -> String {
    match fitting(text, max) {
        end if end == text.len() => text.to_owned(),
        _ => {
            let mark = format!("[truncated from {} bytes] ", text.len());
            let end = fitting(text, max.saturating_sub(mark.len()));
            mark + &text[..end]
        }
    }
}

/// How many bytes of a text fit into `max` bytes of JSON, quotes not counted.
fn fitting(text: &str, max: usize) -> usize {
    // Six bytes is the most that one byte becomes.
    if text.len() * 6 <= max {
        return text.len();
    }
    let mut left = max;
    for (at, letter) in text.char_indices() {
        let cost = cost(letter);
        if cost > left {
            return at;
        }
        left -= cost;
    }
    text.len()
}

fn cost(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\u{8}' | '\u{c}' | '\n' | '\r' | '\t' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

fn written(text: &str) -> usize {
    text.chars().map(cost).sum::<usize>() + 2
}

/// What may still be written. Once something did not fit, what follows may still.
pub(super) struct Budget {
    left: usize,
    /// Values and parts of values that were left out.
    pub(super) left_out: u64,
    /// Something is written otherwise than it came, for want of such a value in JSON.
    pub(super) changed: bool,
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            left: bytes,
            left_out: 0,
            changed: false,
        }
    }

    fn take(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }

    /// A value, whole or cut; none when it does not fit at all.
    pub(super) fn value(&mut self, value: &AnyValue, depth: usize) -> Option<Value> {
        let Some(value) = &value.value else {
            self.take(5)?;
            return Some(Value::Null);
        };
        match value {
            Any::StringValue(text) => self.text(text),
            Any::BoolValue(word) => self.take(6).map(|()| Value::Bool(*word)),
            Any::IntValue(number) => {
                self.take(24)?;
                Some(self.noted(whole(*number)))
            }
            Any::DoubleValue(number) => {
                self.take(32)?;
                Some(self.noted(double(*number)))
            }
            Any::BytesValue(bytes) => {
                self.changed = true;
                self.bytes(bytes)
            }
            Any::ArrayValue(_) | Any::KvlistValue(_) if depth >= DEEPEST => {
                self.left_out += 1;
                self.text(TOO_DEEP)
            }
            Any::ArrayValue(array) => {
                self.take(3)?;
                let mut kept = Vec::new();
                for (at, item) in array.values.iter().enumerate() {
                    let Some(item) = self.value(item, depth + 1) else {
                        self.left_out += count(array.values.len() - at);
                        break;
                    };
                    kept.push(item);
                }
                Some(Value::Array(kept))
            }
            Any::KvlistValue(list) => {
                self.take(3)?;
                Some(Value::Object(self.pairs(&list.values, depth + 1)))
            }
            // Only profiles have a table of strings to look it up in.
            Any::StringValueStrindex(_) => self.take(5).map(|()| Value::Null),
        }
    }

    /// Notes a number that had to become a text.
    fn noted(&mut self, value: Value) -> Value {
        self.changed |= value.is_string();
        value
    }

    /// Names and values; of two with one name the first is kept.
    pub(super) fn pairs(&mut self, pairs: &[KeyValue], depth: usize) -> Map<String, Value> {
        let mut kept = Map::new();
        for pair in pairs {
            self.put(&mut kept, &pair.key, pair.value.as_ref(), depth);
        }
        kept
    }

    /// Puts one pair into an object, or counts it as left out.
    pub(super) fn put(
        &mut self,
        into: &mut Map<String, Value>,
        name: &str,
        value: Option<&AnyValue>,
        depth: usize,
    ) {
        let before = self.left;
        let kept = if name.len() > NAME || into.contains_key(name) {
            None
        } else {
            self.take(written(name) + 2).and_then(|()| match value {
                Some(value) => self.value(value, depth),
                None => self.take(5).map(|()| Value::Null),
            })
        };
        match kept {
            Some(value) => {
                into.insert(name.to_owned(), value);
            }
            None => {
                self.left = before;
                self.left_out += 1;
            }
        }
    }

    fn text(&mut self, text: &str) -> Option<Value> {
        // A beginning with fewer bytes than its mark is useless.
        const SHORTEST: usize = 64;
        let room = self.left.checked_sub(3)?.min(TEXT);
        if fitting(text, room) < text.len() {
            if room < SHORTEST {
                return None;
            }
            self.left_out += 1;
        }
        let kept = cut(text, room);
        self.take(written(&kept) + 1)?;
        Some(Value::String(kept))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Option<Value> {
        let length = bytes.len().div_ceil(3).checked_mul(4)?;
        if length + 3 > self.left.min(TEXT) {
            self.left_out += 1;
            return self.text(&format!("[{} bytes left out]", bytes.len()));
        }
        self.take(length + 3)?;
        Some(Value::String(STANDARD.encode(bytes)))
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn whole(number: i64) -> Value {
    if number.unsigned_abs() <= MAX_SAFE_INTEGER {
        Value::from(number)
    } else {
        // As OTLP's own JSON writes it.
        Value::String(number.to_string())
    }
}

fn double(number: f64) -> Value {
    serde_json::Number::from_f64(number)
        .map_or_else(|| Value::String(number.to_string()), Value::Number)
}
