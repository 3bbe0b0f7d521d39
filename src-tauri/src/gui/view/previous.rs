//! The difference from the nearest approved call of the same tool, and whose that was.

use countersign_view::{ArgEntry, ArgPart, Delta, DiffLine, PreviousCall};
use countersign_wire::{Shown, escape};
use serde_json::Value;

use super::args::{Walked, walk};
use super::card::hidden_for_good;
use super::edit::{diff, text_of};
use super::hidden::without_secrets;
use super::row::decider;
use super::story::Story;

/// Compares with the earlier call, where there is one.
pub(crate) fn previous(story: &Story, key: &[u8; 32], own_key: &str) -> Option<PreviousCall> {
    let (line, then) = story.earlier.as_ref()?;
    let now = story.request.args.as_ref()?;
    let (name, by_key) = decider(line).unwrap_or_default();
    let by = match (line.origin.as_deref(), &line.rule_id) {
        (Some("rule"), Some(rule)) => format!("rule {rule}"),
        (Some("setup_key"), Some(name)) => format!("setup key {name}"),
        _ => name,
    };
    Some(PreviousCall {
        verdict: escape(line.verdict.as_deref()?).plain(),
        at_ms: line.decided_at.unwrap_or(line.stored_at),
        mine: by_key == own_key,
        by: (!by.is_empty()).then(|| escape(&by)),
        agent: (line.agent != story.line.agent).then(|| format!("{}/{}", line.ws, line.agent)),
        deltas: deltas(then, now, key),
    })
}

fn deltas(then: &Value, now: &Value, key: &[u8; 32]) -> Vec<Delta> {
    let old = hidden_for_good(walk(then, key));
    // The numbers of the reveals are those of the card.
    let Walked { entries: new, .. } = walk(now, key);
    let find = |entries: &[ArgEntry], name: &ArgEntry| -> Vec<ArgPart> {
        let same = entries.iter().find(|entry| entry.name == name.name);
        same.map(|entry| entry.value.clone()).unwrap_or_default()
    };
    let gone = old
        .iter()
        .filter(|entry| !new.iter().any(|other| other.name == entry.name));
    new.iter()
        .chain(gone)
        .map(|entry| {
            let (before, after) = (find(&old, entry), find(&new, entry));
            let same = same(&before, &after);
            let lines = match !same && (has_lines(&before) || has_lines(&after)) {
                true => changed_lines(entry, (then, now), key),
                false => Vec::new(),
            };
            let (hidden, wider) = (marks(&after) > 0, is_wider(entry, then, now));
            let by_line = !lines.is_empty();
            Delta {
                name: entry.name.clone().unwrap_or_else(|| escape("arguments")),
                hidden: !same && hidden,
                wider: !same && wider,
                old: if by_line { Vec::new() } else { before },
                new: if by_line { Vec::new() } else { after },
                lines,
                same,
            }
        })
        .collect()
}

fn has_lines(parts: &[ArgPart]) -> bool {
    parts.iter().any(|part| match part {
        ArgPart::Text { text } => text.plain().contains('\n'),
        ArgPart::Hidden { .. } => false,
    })
}

/// A value of several lines and what it was: none where one of them is not there.
fn changed_lines(entry: &ArgEntry, (then, now): (&Value, &Value), key: &[u8; 32]) -> Vec<DiffLine> {
    let text = |args: &Value| {
        let name = entry.name.as_ref().and_then(Shown::original);
        let value = match (name, args) {
            (Some(name), _) => args.get(&name)?,
            (None, whole) => whole,
        };
        Some(match value {
            Value::String(text) => without_secrets(text),
            other => text_of(other, key),
        })
    };
    match (text(then), text(now)) {
        (Some(then), Some(now)) => diff(&then, &now, escape),
        _ => Vec::new(),
    }
}

/// Names of safeguards: switching one off reaches further.
const SAFEGUARDS: [&str; 8] = [
    "check", "confirm", "dry_run", "dryrun", "preview", "safe", "simulate", "test",
];

/// A guess that errs towards a flag: it is a reason to look, its absence proves nothing.
fn is_wider(entry: &ArgEntry, then: &Value, now: &Value) -> bool {
    let name = entry
        .name
        .as_ref()
        .and_then(Shown::original)
        .unwrap_or_default();
    let (old, new) = match (then.get(&name), now.get(&name)) {
        (Some(old), Some(new)) => (old, new),
        // A new argument may be anything.
        (None, Some(_)) => return true,
        _ => return false,
    };
    match (old, new) {
        (Value::Bool(old), Value::Bool(new)) => {
            let safeguard = SAFEGUARDS
                .iter()
                .any(|word| name.to_lowercase().contains(word));
            if safeguard {
                *old && !new
            } else {
                !old && *new
            }
        }
        (Value::Array(old), Value::Array(new)) => new.iter().any(|item| !old.contains(item)),
        (Value::Number(old), Value::Number(new)) => {
            new.as_f64().unwrap_or(f64::MAX).abs() > old.as_f64().unwrap_or_default().abs()
        }
        (Value::String(old), Value::String(new)) => {
            let wild = |text: &str| text.contains('*') || text.contains('%');
            (wild(new) && !wild(old))
                || (!new.is_empty() && old.len() > new.len() && old.starts_with(new.as_str()))
        }
        (Value::Object(old), Value::Object(new)) => new.keys().any(|key| !old.contains_key(key)),
        _ => false,
    }
}

/// Hidden values are the same when their keyed digests are.
fn same(old: &[ArgPart], new: &[ArgPart]) -> bool {
    old.len() == new.len()
        && old.iter().zip(new).all(|parts| match parts {
            (ArgPart::Text { text: old }, ArgPart::Text { text: new }) => old == new,
            (
                ArgPart::Hidden {
                    digest: old,
                    characters: before,
                    ..
                },
                ArgPart::Hidden {
                    digest: new,
                    characters: after,
                    ..
                },
            ) => old == new && before == after,
            _ => false,
        })
}

fn marks(parts: &[ArgPart]) -> usize {
    let count = |part: &ArgPart| match part {
        ArgPart::Text { text } => text.marks(),
        ArgPart::Hidden { .. } => 0,
    };
    parts.iter().map(count).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use countersign_view::DiffKind;
    use serde_json::json;

    #[test]
    fn what_reaches_further_is_flagged_and_what_is_the_same_is_said() {
        let table = [
            (
                json!({"dry_run": true}),
                json!({"dry_run": false}),
                (false, true),
            ),
            (
                json!({"dry_run": false}),
                json!({"dry_run": true}),
                (false, false),
            ),
            (
                json!({"force": false}),
                json!({"force": true}),
                (false, true),
            ),
            (json!({"ids": [1]}), json!({"ids": [1, 2]}), (false, true)),
            (json!({"ids": [1, 2]}), json!({"ids": [1]}), (false, false)),
            (json!({"amount": 10}), json!({"amount": -20}), (false, true)),
            (
                json!({"path": "/srv/app"}),
                json!({"path": "/srv"}),
                (false, true),
            ),
            (json!({"path": "/a"}), json!({"path": "/*"}), (false, true)),
            (json!({"to": "a"}), json!({"to": "b"}), (false, false)),
            (
                json!({"api_key": "s"}),
                json!({"api_key": "s"}),
                (true, false),
            ),
        ];
        for (then, now, (same, wider)) in table {
            let delta = deltas(&then, &now, &[1; 32]).pop().unwrap();
            assert_eq!((delta.same, delta.wider), (same, wider), "{then} -> {now}");
        }
    }

    #[test]
    fn a_text_of_several_lines_is_told_once_line_by_line() {
        let told = |then: Value, now: Value| {
            let delta = deltas(&then, &now, &[1; 32]).pop().unwrap();
            let lines = delta.lines.iter().map(|line| {
                let sign = match line.kind {
                    DiffKind::Same => ' ',
                    DiffKind::Old => '-',
                    DiffKind::New => '+',
                };
                format!("{sign}{}", line.text.plain())
            });
            (
                lines.collect::<Vec<_>>(),
                delta.old.is_empty() && delta.new.is_empty(),
            )
        };
        let body = |text: &str| json!({ "body": text });
        let table = [
            (
                body("a\nb\nc"),
                body("a\nB\nc"),
                vec![" a", "-b", "+B", " c"],
            ),
            (body("a"), body("a\nb"), vec!["-a", "+a", "+b"]),
            (
                json!({"rows": [{"n": 1}, {"n": 2}]}),
                json!({"rows": [{"n": 1}, {"n": 3}]}),
                vec![
                    " [",
                    "   {",
                    "     \"n\": 1",
                    "   },",
                    "   {",
                    "-    \"n\": 2",
                    "+    \"n\": 3",
                    "   }",
                    " ]",
                ],
            ),
            (
                body("x\nok"),
                body("x\nok\u{202e}"),
                vec![" x", "-ok", "+ok⟨U+202E⟩"],
            ),
        ];
        for (then, now, lines) in table {
            assert_eq!(
                told(then, now),
                (lines.iter().map(|line| (*line).to_owned()).collect(), true)
            );
        }
        // One line, the same, and what was not there before are shown as they were.
        for (then, now) in [
            (body("a"), body("b")),
            (body("a\nb"), body("a\nb")),
            (json!({}), body("a\nb")),
        ] {
            assert_eq!(told(then, now), (Vec::new(), false));
        }
        let secret = "sk-abcdefghijklmnopqrstuv";
        let lines = told(body("a\nb"), body(&format!("a\nkey {secret}"))).0;
        assert!(!lines.concat().contains(secret), "{lines:?}");
    }

    #[test]
    fn arguments_that_came_and_went_are_listed() {
        let found = deltas(&json!({"old": 1}), &json!({"new": 1}), &[1; 32]);
        let names: Vec<_> = found.iter().map(|delta| delta.name.plain()).collect();
        assert_eq!(names, ["new", "old"]);
        assert!(found[0].old.is_empty() && found[0].wider && found[1].new.is_empty());
    }
}
