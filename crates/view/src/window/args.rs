//! Arguments as a person reads them: complete, in order, secrets hidden, hidden characters marked.
//!
//! They are never shortened.

use crate::{ArgEntry, ArgPart, PartMark, Reveal, RevealKind};
use countersign_redaction::{Redacted, hides_whole, leaf_text, secret_spans};
use countersign_scrutiny::Finding;
use countersign_wire::pointer::below;
use countersign_wire::{TextWarning, escape_lines, text_ascii_safe, warnings};
use serde_json::Value;
use std::ops::Range;

use super::hidden::escape;
use super::letters::letters;

/// A container of plain values is written on one line up to this length.
const ONE_LINE: usize = 400;

/// A value that V opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its place: a JSON pointer.
    pub pointer: String,
    /// Its place, for a person.
    pub place: String,
    /// Why it is opened by a key press.
    pub kind: RevealKind,
    /// The value: a text itself, anything else as JSON.
    pub text: String,
}

/// Arguments, walked through once.
#[derive(Debug, Default)]
pub struct Walked {
    /// Top-level entries.
    pub entries: Vec<ArgEntry>,
    /// Values to be revealed; their places are the numbers of the reveals.
    pub found: Vec<Found>,
}

impl Walked {
    /// As the card lists them.
    pub fn reveals(&self) -> Vec<Reveal> {
        let numbered = self.found.iter().zip(0_u32..);
        numbered
            .map(|(found, reveal)| Reveal {
                reveal,
                kind: found.kind,
                place: escape(&found.place),
            })
            .collect()
    }
}

/// Walks through arguments. `key` is the console's own, for the digests of hidden values.
pub fn walk(value: &Value, key: &[u8; 32]) -> Walked {
    walk_marked(value, key, &[])
}

/// The same, with the places of findings marked.
pub(super) fn walk_marked(value: &Value, key: &[u8; 32], findings: &[Finding]) -> Walked {
    let mut walked = Walked::default();
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let place = FieldPath {
                    pointer: below("", name),
                    words: name.clone(),
                    depth: 0,
                };
                if has_hidden(name) {
                    let kind = RevealKind::HiddenCharacters;
                    walked.found.push(place.found(kind, name.clone()));
                }
                let mut writer = Writer {
                    key,
                    findings,
                    found: &mut walked.found,
                    parts: Vec::new(),
                    text: String::new(),
                    marks: Vec::new(),
                };
                writer.value(&place, Some(name), value);
                let value = writer.done();
                walked.entries.push(ArgEntry {
                    name: Some(escape(name)),
                    value,
                });
            }
        }
        other => {
            let place = FieldPath {
                pointer: String::new(),
                words: "the arguments".to_owned(),
                depth: 0,
            };
            let mut writer = Writer {
                key,
                findings,
                found: &mut walked.found,
                parts: Vec::new(),
                text: String::new(),
                marks: Vec::new(),
            };
            writer.value(&place, None, other);
            let value = writer.done();
            walked.entries.push(ArgEntry { name: None, value });
        }
    }
    walked
}

/// Entries whose hidden values cannot be opened from the card.
pub(super) fn hidden_for_good(walked: Walked) -> Vec<ArgEntry> {
    let mut entries = walked.entries;
    for part in entries.iter_mut().flat_map(|entry| entry.value.iter_mut()) {
        if let ArgPart::Hidden { reveal, .. } = part {
            *reveal = None;
        }
    }
    entries
}

/// A text as a JSON string in pure ASCII.
pub fn ascii_literal(text: &str) -> String {
    let literal = text_ascii_safe(&Value::from(text).to_string());
    let mut ascii = String::with_capacity(literal.len());
    for character in literal.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

fn has_hidden(text: &str) -> bool {
    warnings(text)
        .iter()
        .any(|w| matches!(w, TextWarning::HiddenCharacters { .. }))
}

struct FieldPath {
    pointer: String,
    words: String,
    depth: usize,
}

impl FieldPath {
    fn found(&self, kind: RevealKind, text: String) -> Found {
        Found {
            pointer: self.pointer.clone(),
            place: self.words.clone(),
            kind,
            text,
        }
    }

    fn step(&self, step: &str, words: String) -> Self {
        Self {
            pointer: below(&self.pointer, step),
            words,
            depth: self.depth + 1,
        }
    }
}

struct Writer<'a> {
    key: &'a [u8; 32],
    findings: &'a [Finding],
    found: &'a mut Vec<Found>,
    parts: Vec<ArgPart>,
    text: String,
    /// Findings of the value that is written now.
    marks: Vec<u32>,
}

impl Writer<'_> {
    fn done(mut self) -> Vec<ArgPart> {
        self.close_text(false);
        self.parts
    }

    fn close_text(&mut self, letters: bool) {
        if !self.text.is_empty() {
            self.parts.push(ArgPart::Text {
                text: escape_lines(&self.text),
                mark: self.mark(letters),
            });
            self.text.clear();
        }
    }

    fn mark(&self, letters: bool) -> Option<PartMark> {
        (!self.marks.is_empty()).then(|| PartMark {
            findings: self.marks.clone(),
            letters,
        })
    }

    /// Findings of a value; those inside of one that is hidden whole are its own.
    fn marks_of(&self, place: &FieldPath, hidden: bool) -> Vec<u32> {
        let inside = |at: &str| {
            let rest = at.strip_prefix(place.pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || (hidden && rest.starts_with('/')))
        };
        let numbered = self.findings.iter().zip(0..);
        let mine = numbered.filter(|(finding, _)| inside(&finding.at));
        mine.map(|(_, number)| number).collect()
    }

    fn value(&mut self, place: &FieldPath, name: Option<&str>, value: &Value) {
        let marks = self.marks_of(place, hides_whole(name, value));
        if marks.is_empty() {
            return self.plain(place, name, value);
        }
        self.close_text(false);
        let around = std::mem::replace(&mut self.marks, marks);
        self.plain(place, name, value);
        self.close_text(false);
        self.marks = around;
    }

    fn plain(&mut self, place: &FieldPath, name: Option<&str>, value: &Value) {
        if hides_whole(name, value) {
            return self.hide(place, leaf_text(value));
        }
        match value {
            Value::String(text) => {
                if has_hidden(text) {
                    self.found
                        .push(place.found(RevealKind::HiddenCharacters, text.clone()));
                }
                self.quoted(place, text, place.depth == 0 && text.contains('\n'));
            }
            Value::Array(items) => {
                let steps = items.iter().enumerate().map(|(at, item)| {
                    let step = at.to_string();
                    let words = format!("{}[{step}]", place.words);
                    (place.step(&step, words), None, item)
                });
                self.container('[', ']', steps.collect(), one_line(value), place.depth);
            }
            Value::Object(map) => {
                let steps = map.iter().map(|(name, item)| {
                    (
                        place.step(name, format!("{}.{name}", place.words)),
                        Some(name.as_str()),
                        item,
                    )
                });
                self.container('{', '}', steps.collect(), one_line(value), place.depth);
            }
            other => self.text.push_str(&other.to_string()),
        }
    }

    fn container(
        &mut self,
        open: char,
        close: char,
        items: Vec<(FieldPath, Option<&str>, &Value)>,
        one_line: bool,
        depth: usize,
    ) {
        let line = |depth: usize| {
            if one_line {
                String::new()
            } else {
                format!("\n{}", "  ".repeat(depth))
            }
        };
        let count = items.len();
        self.text.push(open);
        for (at, (place, name, value)) in items.into_iter().enumerate() {
            self.text.push_str(&line(depth + 1));
            if let Some(name) = name {
                if has_hidden(name) {
                    self.found
                        .push(place.found(RevealKind::HiddenCharacters, name.to_owned()));
                }
                self.quoted(&place, name, false);
                self.text.push_str(": ");
            }
            self.value(&place, name, value);
            if at + 1 < count {
                self.text.push_str(if one_line { ", " } else { "," });
            }
        }
        if count > 0 {
            self.text.push_str(&line(depth));
        }
        self.text.push(close);
    }

    /// A text between quotes, with the secrets in it hidden one by one: as it is, or with the escapes of JSON.
    fn quoted(&mut self, place: &FieldPath, text: &str, as_it_is: bool) {
        let concerned = self.concerned(text);
        self.text.push('"');
        let mut from = 0;
        for span in secret_spans(text) {
            self.open(text, from..span.start, as_it_is, &concerned);
            self.hide(place, text[span.clone()].to_owned());
            from = span.end;
        }
        self.open(text, from..text.len(), as_it_is, &concerned);
        self.text.push('"');
    }

    /// The letters that the findings of this value are about, in order.
    fn concerned(&self, text: &str) -> Vec<Range<usize>> {
        let findings = self
            .marks
            .iter()
            .filter_map(|at| self.findings.get(*at as usize));
        let mut found: Vec<_> = findings
            .flat_map(|finding| letters(finding, text))
            .collect();
        found.sort_by_key(|range| (range.start, range.end));
        found
    }

    /// A part of a text that is not hidden.
    fn open(&mut self, text: &str, part: Range<usize>, as_it_is: bool, letters: &[Range<usize>]) {
        let write = |part: &str, to: &mut String| match as_it_is {
            true => to.push_str(part),
            false => quote(part, to),
        };
        let mut from = part.start;
        for letters in letters {
            let (start, end) = (letters.start.max(from), letters.end.min(part.end));
            if start >= end {
                continue;
            }
            write(&text[from..start], &mut self.text);
            self.close_text(false);
            write(&text[start..end], &mut self.text);
            self.close_text(true);
            from = end;
        }
        write(&text[from..part.end], &mut self.text);
    }

    fn hide(&mut self, place: &FieldPath, text: String) {
        let hidden = Redacted::of(&text, self.key);
        self.close_text(false);
        let reveal = u32::try_from(self.found.len()).unwrap_or(u32::MAX);
        self.found.push(place.found(RevealKind::Secret, text));
        self.parts.push(ArgPart::Hidden {
            reveal: Some(reveal),
            characters: u32::try_from(hidden.length).unwrap_or(u32::MAX),
            digest: hidden.keyed_digest,
            mark: self.mark(false),
        });
    }
}

fn one_line(value: &Value) -> bool {
    let plain = |value: &Value| !value.is_array() && !value.is_object();
    let all_plain = match value {
        Value::Array(items) => items.iter().all(plain),
        Value::Object(map) => map.values().all(plain),
        _ => true,
    };
    all_plain && value.to_string().len() <= ONE_LINE && !value.to_string().contains("\\n")
}

/// The text between the quotes of a JSON string; hostile characters stay for the escaper to mark. A line feed breaks
/// the line: one that is written as `\n` has its backslash doubled. The page marks the ends of lines where that is
/// asked.
fn quote(text: &str, to: &mut String) {
    for character in text.chars() {
        match character {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            other => to.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    const KEY: [u8; 32] = [7; 32];

    fn plain(parts: &[ArgPart]) -> String {
        let text = |part: &ArgPart| match part {
            ArgPart::Text { text, .. } => text.plain(),
            ArgPart::Hidden {
                reveal, characters, ..
            } => format!("<{}: {characters}>", reveal.unwrap_or(u32::MAX)),
        };
        parts.iter().map(text).collect()
    }

    #[test]
    fn arguments_are_complete_and_in_the_order_received() {
        let long = "x".repeat(100_000);
        let value = json!({"z": 1, "a": long, "m": {"deep": [{"b": null}]}, "list": [1, "two"]});
        let walked = walk(&value, &KEY);
        let names: Vec<_> = walked
            .entries
            .iter()
            .map(|e| e.name.as_ref().unwrap().plain())
            .collect();
        assert_eq!(names, ["z", "a", "m", "list"]);
        assert_eq!(plain(&walked.entries[1].value), format!("\"{long}\""));
        assert_eq!(plain(&walked.entries[3].value), "[1, \"two\"]");
        // What is shown, marks and broken lines aside, is the JSON itself.
        let shown = plain(&walked.entries[2].value);
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value["m"]);
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand_and_equal_ones_look_equal() {
        let value = json!({"api_key": "s3cr3t", "deep": {"password": ["s3cr3t"], "n": 1}, "text": "sk-abcdefghijklmnop"});
        let walked = walk(&value, &KEY);
        let all: String = walked
            .entries
            .iter()
            .map(|entry| plain(&entry.value))
            .collect();
        assert!(!all.contains("s3cr3t") && !all.contains("sk-abc"), "{all}");
        assert!(
            walked
                .found
                .iter()
                .all(|found| found.kind == RevealKind::Secret)
        );
        let pointers: Vec<_> = walked
            .found
            .iter()
            .map(|found| found.pointer.as_str())
            .collect();
        assert_eq!(pointers, ["/api_key", "/deep/password", "/text"]);
        let digest = |value: &Value| match &walk(value, &KEY).entries[0].value[0] {
            ArgPart::Hidden { digest, .. } => digest.clone(),
            ArgPart::Text { .. } => String::new(),
        };
        assert_eq!(
            digest(&json!({"api_key": "s3cr3t"})),
            digest(&json!({"token": "s3cr3t"}))
        );
        assert_ne!(
            digest(&json!({"api_key": "s3cr3t"})),
            digest(&json!({"token": "other"}))
        );
    }

    #[test]
    fn a_secret_inside_a_text_is_hidden_and_what_stands_around_it_is_read() {
        let command =
            "curl -H 'Authorization: Bearer abcdef-0123456789' https://u:pa55@h/x; rm -rf /";
        let walked = walk(&json!({ "cmd": command }), &KEY);
        let shown = plain(&walked.entries[0].value);
        assert_eq!(
            shown,
            "\"curl -H 'Authorization: Bearer <0: 17>' https://u:<1: 4>@h/x; rm -rf /\""
        );
        let found: Vec<_> = walked
            .found
            .iter()
            .map(|found| found.text.as_str())
            .collect();
        assert_eq!(found, ["abcdef-0123456789", "pa55"]);
    }

    #[test]
    fn hidden_characters_are_marked_and_can_be_revealed_exactly() {
        let walked = walk(&json!({"to\u{200b}": "acme\u{202e}"}), &KEY);
        assert_eq!(plain(&walked.entries[0].value), "\"acme⟨U+202E⟩\"");
        let kinds: Vec<_> = walked.found.iter().map(|found| found.kind).collect();
        assert_eq!(kinds, [RevealKind::HiddenCharacters; 2]);
        assert_eq!(ascii_literal(&walked.found[1].text), "\"acme\\u202e\"");
        assert_eq!(ascii_literal("é\u{1f600}"), "\"\\u00e9\\ud83d\\ude00\"");
    }

    #[test]
    fn a_text_of_many_lines_can_be_read_and_a_written_escape_is_no_line_feed() {
        let walked = walk(&json!(["a\nb", "a\\nb", "\"q\""]), &KEY);
        assert_eq!(
            plain(&walked.entries[0].value),
            "[\n  \"a\nb\",\n  \"a\\\\nb\",\n  \"\\\"q\\\"\"\n]"
        );
        // What is a text of several lines itself is shown as it was written.
        let body = "Dear \"Ann\",\nC:\\new\n";
        let walked = walk(&json!({ "body": body }), &KEY);
        assert_eq!(plain(&walked.entries[0].value), format!("\"{body}\""));
    }
}
