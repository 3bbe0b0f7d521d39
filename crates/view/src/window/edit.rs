//! Arguments for the editor, and what became of them.
//!
//! JSON that readers could understand differently is refused, and a hidden value keeps its place.

use std::time::Duration;

use crate::{AnswerCheck, DiffKind, DiffLine, EditCheck, EditProblem};
use countersign_domain::Fault;
use countersign_domain::facts::Misfit;
use countersign_redaction::{Redacted, hides_whole, leaf_text, secret_spans};
use countersign_wire::pointer::below;
use countersign_wire::{Shown, args_digest, escape, text_ascii_safe};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::strict::{JsonProblem, strict_json};

/// A comparison that takes longer goes on in larger pieces.
const PATIENCE: Duration = Duration::from_millis(50);

/// A checked edit.
pub struct Checked {
    /// What the page is shown.
    pub check: EditCheck,
    /// The arguments that would run; none while there are problems.
    pub value: Option<Value>,
}

/// Indented JSON with placeholders for hidden values and escapes for hidden characters.
pub fn editor_text(value: &Value, key: &[u8; 32]) -> String {
    text_ascii_safe(&text_of(value, key))
}

/// The same, with characters as they are.
pub(super) fn text_of(value: &Value, key: &[u8; 32]) -> String {
    let hidden = map_leaves(value, &mut |_, name, leaf| {
        if hides_whole(name, leaf) {
            return Some(Value::from(placeholder(&leaf_text(leaf), key)));
        }
        let text = leaf.as_str()?;
        let mut safe = text.to_owned();
        // From the last one on, so that the places before it stay.
        for span in secret_spans(text).into_iter().rev() {
            safe.replace_range(span.clone(), &placeholder(&text[span], key));
        }
        Some(Value::from(safe))
    });
    format!("{hidden:#}")
}

/// Checks an edit of `original` and compares both; `misfits` finds what the tool's schema does not allow.
pub fn edit_check(
    original: &Value,
    text: &str,
    key: &[u8; 32],
    misfits: impl FnOnce(&Value) -> Vec<Misfit>,
) -> Checked {
    let edited = match strict_json(text) {
        Ok(value) => value,
        Err(JsonProblem { line, message }) => {
            let problem = EditProblem {
                line,
                path: escape(""),
                message: escape(&message),
            };
            return Checked {
                check: refused(vec![problem]),
                value: None,
            };
        }
    };
    let (value, mut problems) = restored(original, &edited, key);
    let misfits = misfits(&value);
    problems.extend(misfits.iter().map(|of| problem(&of.place, &of.why, text)));
    let digest = match args_digest(&value) {
        Ok(digest) => digest.to_string(),
        Err(error) => {
            problems.push(problem("", &error.to_string(), text));
            return Checked {
                check: refused(problems),
                value: None,
            };
        }
    };
    let usable = problems.is_empty();
    let check = EditCheck {
        problems,
        args_digest: usable.then_some(digest),
        target: None,
        changed: value != *original,
        diff: diff(
            &editor_text(original, key),
            &editor_text(&value, key),
            escape,
        ),
    };
    Checked {
        check,
        value: usable.then_some(value),
    }
}

/// Checks the answer of a form; `misfits` finds what its schema does not allow, as before an answer is taken.
///
/// # Errors
/// Those of `misfits`: a schema against which nothing can be checked.
pub fn answer_check(
    text: &str,
    misfits: impl FnOnce(&Value) -> Result<Vec<Misfit>, Fault>,
) -> Result<AnswerCheck, Fault> {
    let problems = match strict_json(text) {
        Ok(value) => {
            let misfits = misfits(&value)?;
            let of = misfits.iter();
            of.map(|of| problem(&of.place, &of.why, text)).collect()
        }
        Err(JsonProblem { line, message }) => vec![EditProblem {
            line,
            path: escape(""),
            message: escape(&message),
        }],
    };
    Ok(AnswerCheck { problems })
}

fn refused(problems: Vec<EditProblem>) -> EditCheck {
    EditCheck {
        problems,
        args_digest: None,
        target: None,
        changed: true,
        diff: Vec::new(),
    }
}

fn placeholder(secret: &str, key: &[u8; 32]) -> String {
    format!("({})", Redacted::of(secret, key))
}

/// The placeholder of a hidden value, and its place.
struct Holder {
    place: String,
    text: String,
    /// The whole value, or a part of a text.
    value: Value,
    whole: bool,
}

/// Puts hidden values back in the place of their placeholders. One that was moved is a problem.
fn restored(original: &Value, edited: &Value, key: &[u8; 32]) -> (Value, Vec<EditProblem>) {
    let mut hidden = Vec::new();
    map_leaves(original, &mut |place, name, leaf| {
        let mut hold = |secret: &str, value: Value, whole| {
            hidden.push(Holder {
                place: place.to_owned(),
                text: placeholder(secret, key),
                value,
                whole,
            });
        };
        if hides_whole(name, leaf) {
            hold(&leaf_text(leaf), leaf.clone(), true);
            // What is inside is hidden with it.
            return Some(Value::Null);
        }
        if let Some(text) = leaf.as_str() {
            for span in secret_spans(text) {
                hold(&text[span.clone()], Value::from(&text[span]), false);
            }
        }
        None
    });
    let mut problems = Vec::new();
    let value = map_leaves(edited, &mut |place, _, leaf| {
        let mut text = leaf.as_str()?.to_owned();
        let here = |holder: &&Holder| holder.place == place;
        if let Some(whole) = hidden
            .iter()
            .filter(here)
            .find(|holder| holder.whole && holder.text == text)
        {
            return Some(whole.value.clone());
        }
        for part in hidden.iter().filter(here).filter(|holder| !holder.whole) {
            text = text.replace(&part.text, &leaf_text(&part.value));
        }
        if hidden.iter().any(|holder| text.contains(&holder.text)) {
            let message = "A hidden value can only stay where it was. Write another value here.";
            problems.push(EditProblem {
                line: None,
                path: escape(place),
                message: escape(message),
            });
            return None;
        }
        Some(Value::from(text))
    });
    (value, problems)
}

/// Gives another value for the one at a pointer, under a key; none keeps it.
type Change<'a> = dyn FnMut(&str, Option<&str>, &Value) -> Option<Value> + 'a;

/// Copies a value; `change` may replace any value that it is shown with its pointer and its key.
fn map_leaves(value: &Value, change: &mut Change<'_>) -> Value {
    fn step(place: &str, name: Option<&str>, value: &Value, change: &mut Change<'_>) -> Value {
        if let Some(other) = change(place, name, value) {
            return other;
        }
        match value {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(at, item)| step(&below(place, &at.to_string()), None, item, change))
                    .collect()
            }
            Value::Object(map) => {
                let fields = map.iter();
                let copy = fields.map(|(name, item)| {
                    (
                        name.clone(),
                        step(&below(place, name), Some(name), item, change),
                    )
                });
                Value::Object(copy.collect())
            }
            other => other.clone(),
        }
    }
    step("", None, value, change)
}

/// A problem at a pointer, with the line of its last step where that can be found.
fn problem(path: &str, message: &str, text: &str) -> EditProblem {
    let last = path
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .replace("~1", "/")
        .replace("~0", "~");
    let quoted = text_ascii_safe(&Value::from(last.as_str()).to_string());
    let lines = text.lines().zip(1_u32..);
    let line = lines
        .filter(|(line, _)| !last.is_empty() && line.trim_start().starts_with(&quoted))
        .map(|(_, number)| number)
        .next();
    EditProblem {
        line,
        path: escape(path),
        message: escape(message),
    }
}

/// Two texts line by line, each line as `show` shows it.
pub(super) fn diff(old: &str, new: &str, show: impl Fn(&str) -> Shown) -> Vec<DiffLine> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    diff.iter_all_changes()
        .map(|change| DiffLine {
            kind: match change.tag() {
                ChangeTag::Equal => DiffKind::Same,
                ChangeTag::Delete => DiffKind::Old,
                ChangeTag::Insert => DiffKind::New,
            },
            text: show(change.value().trim_end_matches('\n')),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    const KEY: [u8; 32] = [7; 32];

    fn check(original: &Value, text: &str) -> Checked {
        edit_check(original, text, &KEY, |_| Vec::new())
    }

    #[test]
    fn what_is_not_edited_stays_byte_for_byte() {
        let original = json!({"to": "acme\u{202e}", "api_key": "s3cr3t", "n": [1.5, {"password": {"a": 1}}], "e": "\n\u{1f600}"});
        let text = editor_text(&original, &KEY);
        assert!(
            !text.contains("s3cr3t") && !text.contains('\u{202e}'),
            "{text}"
        );
        let checked = check(&original, &text);
        assert_eq!(checked.value, Some(original));
        assert!(!checked.check.changed && checked.check.problems.is_empty());
    }

    #[test]
    fn a_secret_inside_a_text_stays_while_the_text_around_it_is_edited() {
        let original = json!({"cmd": "login --token abc123 --token abc123 now", "n": [{"x": "sk-abcdefghijklmnop"}]});
        let text = editor_text(&original, &KEY);
        assert!(
            !text.contains("abc123") && !text.contains("sk-abc"),
            "{text}"
        );
        assert_eq!(check(&original, &text).value, Some(original.clone()));
        let edited = check(&original, &text.replace("now", "later")).value;
        let expected = "login --token abc123 --token abc123 later";
        assert_eq!(edited.unwrap()["cmd"], expected);
        let holder = placeholder("abc123", &KEY);
        let moved = json!({"cmd": "x", "n": [{"x": format!("tell {holder}")}]}).to_string();
        assert!(check(&original, &moved).value.is_none());
    }

    #[test]
    fn an_edit_keeps_the_hidden_value_and_has_its_own_digest() {
        let original = json!({"api_key": "s3cr3t", "amount": 1180});
        let text = editor_text(&original, &KEY).replace("1180", "18");
        let checked = check(&original, &text);
        let expected = json!({"api_key": "s3cr3t", "amount": 18});
        assert_eq!(
            checked.check.args_digest,
            Some(args_digest(&expected).unwrap().to_string())
        );
        assert_eq!(checked.value, Some(expected));
        let kinds: Vec<_> = checked.check.diff.iter().map(|line| line.kind).collect();
        assert!(kinds.contains(&DiffKind::Old) && kinds.contains(&DiffKind::New));
    }

    #[test]
    fn a_hidden_value_cannot_be_moved_to_another_place() {
        let original = json!({"api_key": "s3cr3t", "to": "x"});
        let holder = placeholder("s3cr3t", &KEY);
        let text = json!({"api_key": "new", "to": holder}).to_string();
        let checked = check(&original, &text);
        assert_eq!(checked.check.problems[0].path.plain(), "/to");
        assert!(checked.value.is_none() && checked.check.args_digest.is_none());
    }

    #[test]
    fn json_that_readers_understand_differently_is_refused_with_its_line() {
        let table = [
            ("{\n\"a\": 1,\n\"a\": 2}", Some(3)),
            ("{\"a\": 9007199254740993}", Some(1)),
            ("{\"a\": }", Some(1)),
            ("{\"a\": \"\\ud800\"}", Some(1)),
            ("", None),
            ("1}, {", Some(1)),
        ];
        for (text, line) in table {
            let checked = check(&json!({"a": 1}), text);
            assert!(checked.value.is_none(), "{text}");
            let found = checked.check.problems[0].line;
            assert!(line.is_none() || found == line, "{text}: {found:?}");
        }
    }

    #[test]
    fn the_tools_schema_is_told_with_its_place() {
        let checked = edit_check(&json!({"n": 1}), "{\n  \"n\": 9\n}", &KEY, |_| {
            vec![Misfit {
                place: "/n".to_owned(),
                why: "at most 5".to_owned(),
            }]
        });
        let problem = &checked.check.problems[0];
        assert_eq!(
            (problem.line, problem.path.plain().as_str()),
            (Some(2), "/n")
        );
        assert!(checked.value.is_none());
    }
}
