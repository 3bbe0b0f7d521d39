//! Arguments for the editor, and what became of them.
//!
//! Refuses JSON that readers could understand differently, and moves no hidden value.

use countersign_wire::ipc::{DiffKind, DiffLine, EditCheck, EditProblem};
use countersign_wire::{
    Redacted, RejectionCode, args_digest, escape, parse_decision, text_ascii_safe,
};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::args::{is_hidden, leaf_text, pointer};

/// Problems that are shown at once.
const PROBLEMS: usize = 20;

/// A checked edit.
pub(crate) struct Checked {
    pub(crate) check: EditCheck,
    /// The arguments that would run; none while there are problems.
    pub(crate) value: Option<Value>,
}

/// Why a text is no JSON of the protocol.
#[derive(Debug)]
pub(crate) struct JsonProblem {
    pub(crate) line: Option<u32>,
    pub(crate) message: String,
}

/// Indented JSON in which hidden values stand as placeholders and hidden characters as escapes.
pub(crate) fn editor_text(value: &Value, key: &[u8; 32]) -> String {
    let hidden = map_leaves(value, &mut |_, name, leaf| {
        is_hidden(name, leaf).then(|| Value::from(placeholder(leaf, key)))
    });
    text_ascii_safe(&format!("{hidden:#}"))
}

/// Checks an edit of `original` and compares both.
pub(crate) fn edit_check(
    original: &Value,
    schema: Option<&Value>,
    text: &str,
    key: &[u8; 32],
) -> Checked {
    let edited = match strict_json(text) {
        Ok(value) => value,
        Err(JsonProblem { line, message }) => {
            let problem = EditProblem { line, path: escape(""), message: escape(&message) };
            return Checked { check: refused(vec![problem]), value: None };
        }
    };
    let (value, mut problems) = restored(original, &edited, key);
    if let Some(schema) = schema {
        problems.extend(against_schema(schema, &value, text));
    }
    let digest = match args_digest(&value) {
        Ok(digest) => digest.to_string(),
        Err(error) => {
            problems.push(problem("", &error.to_string(), text));
            return Checked { check: refused(problems), value: None };
        }
    };
    let usable = problems.is_empty();
    let check = EditCheck {
        problems,
        args_digest: usable.then_some(digest),
        changed: value != *original,
        diff: diff(&editor_text(original, key), &editor_text(&value, key)),
    };
    Checked { check, value: usable.then_some(value) }
}

/// JSON as the agent's strict reader takes it: read where it will stand, inside a decision.
pub(crate) fn strict_json(text: &str) -> Result<Value, JsonProblem> {
    let value = serde_json::from_str(text).map_err(|error| JsonProblem {
        line: u32::try_from(error.line()).ok().filter(|line| *line > 0),
        message: format!("This is not JSON: {error}"),
    })?;
    let decision = format!("{{\"edited_args\":{text}}}");
    match parse_decision("countersign.v1.decision.a.a.a", decision.as_bytes()) {
        // Only the other fields of a decision are missing, and those are looked at last.
        Err(error) if error.code < RejectionCode::BadVersion => {
            Err(JsonProblem { line: None, message: format!("The agent would refuse this: {}", error.detail) })
        }
        _ => Ok(value),
    }
}

fn refused(problems: Vec<EditProblem>) -> EditCheck {
    EditCheck { problems, args_digest: None, changed: true, diff: Vec::new() }
}

fn placeholder(leaf: &Value, key: &[u8; 32]) -> String {
    format!("({})", Redacted::of(&leaf_text(leaf), key))
}

/// Puts hidden values back where their placeholders stand. One that was moved is a problem.
fn restored(original: &Value, edited: &Value, key: &[u8; 32]) -> (Value, Vec<EditProblem>) {
    let mut hidden = Vec::new();
    map_leaves(original, &mut |place, name, leaf| {
        if is_hidden(name, leaf) {
            hidden.push((place.to_owned(), placeholder(leaf, key), leaf.clone()));
        }
        None
    });
    let mut problems = Vec::new();
    let value = map_leaves(edited, &mut |place, _, leaf| {
        let text = leaf.as_str()?;
        let (_, _, value) = hidden.iter().find(|(at, holder, _)| at == place && holder == text).or_else(|| {
            if hidden.iter().any(|(_, holder, _)| holder == text) {
                let message = "A hidden value can only stay where it stood. Write another value here.";
                problems.push(EditProblem { line: None, path: escape(place), message: escape(message) });
            }
            None
        })?;
        Some(value.clone())
    });
    (value, problems)
}

/// Copies a value; `change` may replace any value that it is shown with its pointer and its key.
fn map_leaves(
    value: &Value,
    change: &mut dyn FnMut(&str, Option<&str>, &Value) -> Option<Value>,
) -> Value {
    fn step(
        place: &str,
        name: Option<&str>,
        value: &Value,
        change: &mut dyn FnMut(&str, Option<&str>, &Value) -> Option<Value>,
    ) -> Value {
        if let Some(other) = change(place, name, value) {
            return other;
        }
        match value {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(at, item)| step(&pointer(place, &at.to_string()), None, item, change)).collect()
            }
            Value::Object(map) => {
                let fields = map.iter();
                let copy = fields.map(|(name, item)| {
                    (name.clone(), step(&pointer(place, name), Some(name), item, change))
                });
                Value::Object(copy.collect())
            }
            other => other.clone(),
        }
    }
    step("", None, value, change)
}

fn against_schema(schema: &Value, value: &Value, text: &str) -> Vec<EditProblem> {
    let validator = match jsonschema::validator_for(schema) {
        Ok(validator) => validator,
        // The schema is the agent's: a broken one proves nothing and must not block a narrower edit.
        Err(_) => return Vec::new(),
    };
    validator
        .iter_errors(value)
        .take(PROBLEMS)
        .map(|error| problem(&error.instance_path().to_string(), &error.masked().to_string(), text))
        .collect()
}

/// A problem at a pointer, with the line of its last step where that can be found.
fn problem(path: &str, message: &str, text: &str) -> EditProblem {
    let last = path.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    let quoted = text_ascii_safe(&Value::from(last.as_str()).to_string());
    let lines = text.lines().zip(1_u32..);
    let line = lines
        .filter(|(line, _)| !last.is_empty() && line.trim_start().starts_with(&quoted))
        .map(|(_, number)| number)
        .next();
    EditProblem { line, path: escape(path), message: escape(message) }
}

fn diff(old: &str, new: &str) -> Vec<DiffLine> {
    let diff = TextDiff::from_lines(old, new);
    diff.iter_all_changes()
        .map(|change| DiffLine {
            kind: match change.tag() {
                ChangeTag::Equal => DiffKind::Same,
                ChangeTag::Delete => DiffKind::Old,
                ChangeTag::Insert => DiffKind::New,
            },
            text: escape(change.value().trim_end_matches('\n')),
        })
        .collect()
}
