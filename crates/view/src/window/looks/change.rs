//! Changes to files, as agents that write code ask for them.

use crate::{ArgLook, DiffKind, DiffLine};
use countersign_redaction::hides_whole;
use serde_json::{Map, Value};

use super::text_at;
use crate::window::edit::diff;
use crate::window::hidden::{escape, without_secrets};

/// Where editing tools name the file.
const PATHS: [&str; 6] = [
    "path",
    "file_path",
    "filename",
    "file",
    "target_file",
    "notebook_path",
];
/// What they call the old and the new text.
const PAIRS: [(&str, &str); 5] = [
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("search", "replace"),
    ("before", "after"),
];
/// Arguments that hold several changes to one file.
const LISTS: [&str; 2] = ["edits", "changes"];
/// What a unified diff is called, and where Codex has its patches.
const PATCHES: [&str; 4] = ["patch", "diff", "command", "input"];
/// Lines that are compared; a longer change is read in the arguments.
const LINES: usize = 4_000;

pub(super) fn changes(args: &Map<String, Value>, found: &mut Vec<ArgLook>) {
    let path = text_at(args, &PATHS);
    let lists = LISTS.iter().filter_map(|name| args.get(*name)?.as_array());
    let parts = lists.flatten().filter_map(Value::as_object);
    for part in std::iter::once(args).chain(parts) {
        let path = text_at(part, &PATHS).or(path);
        let lines = compared(part).or_else(|| patch(part));
        found.extend(lines.map(|lines| ArgLook::Change {
            path: path.map(escape),
            lines,
        }));
    }
}

fn compared(part: &Map<String, Value>) -> Option<Vec<DiffLine>> {
    let text = |name: &str| {
        let value = part.get(name)?;
        value
            .as_str()
            .filter(|_| !hides_whole(Some(name), value))
            .map(without_secrets)
    };
    let (old, new) = PAIRS
        .iter()
        .find_map(|(old, new)| Some((text(old)?, text(new)?)))?;
    if old.lines().count() + new.lines().count() > LINES {
        return None;
    }
    Some(diff(&old, &new, escape))
}

/// A unified diff, line by line as it was written: a hunk that does not fit is not repaired.
fn patch(part: &Map<String, Value>) -> Option<Vec<DiffLine>> {
    let text = without_secrets(text_at(part, &PATCHES)?);
    let named = part.contains_key("patch") || part.contains_key("diff");
    let starts = |line: &str| named && line.starts_with("@@ ") || line == "*** Begin Patch";
    if !text.lines().any(starts) || text.lines().count() > LINES {
        return None;
    }
    let lines = text.lines().map(|line| {
        let head = line.starts_with("--- ") || line.starts_with("+++ ");
        let (kind, rest) = match line.split_at_checked(1) {
            Some(("+", rest)) if !head => (DiffKind::New, rest),
            Some(("-", rest)) if !head => (DiffKind::Old, rest),
            Some((" ", rest)) => (DiffKind::Same, rest),
            _ => (DiffKind::Same, line),
        };
        DiffLine {
            kind,
            text: escape(rest),
        }
    });
    Some(lines.collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    /// Each change as its file and its lines with their signs.
    fn found(args: &Value) -> Vec<(Option<String>, Vec<String>)> {
        let mut looks = Vec::new();
        changes(args.as_object().unwrap(), &mut looks);
        let plain = looks.into_iter().map(|look| {
            let ArgLook::Change { path, lines } = look else {
                panic!("{look:?}");
            };
            let lines = lines.into_iter().map(|line| {
                let sign = match line.kind {
                    DiffKind::Same => ' ',
                    DiffKind::Old => '-',
                    DiffKind::New => '+',
                };
                format!("{sign}{}", line.text.plain())
            });
            (path.map(|path| path.plain()), lines.collect())
        });
        plain.collect()
    }

    #[test]
    fn an_edit_of_a_file_is_a_difference_of_lines() {
        let edit = json!({"file_path": "a.rs", "old_string": "a\nb\n", "new_string": "a\nc\n"});
        let lines = [" a", "-b", "+c"].map(str::to_owned).to_vec();
        assert_eq!(found(&edit), [(Some("a.rs".to_owned()), lines)]);
    }

    #[test]
    fn several_edits_of_one_file_are_told_apart() {
        let edits = json!({"path": "a", "edits": [
            {"old_str": "1", "new_str": "2"}, {"path": "b", "old_text": "3", "new_text": "4"}, {"old_str": 5}, "x",
        ]});
        let lines = |old: &str, new: &str| vec![format!("-{old}"), format!("+{new}")];
        let expected = [
            (Some("a".to_owned()), lines("1", "2")),
            (Some("b".to_owned()), lines("3", "4")),
        ];
        assert_eq!(found(&edits), expected);
    }

    #[test]
    fn a_unified_diff_keeps_its_lines() {
        let patch = json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n same\n-old\n+new\n"});
        let lines = [
            " --- a/x",
            " +++ b/x",
            " @@ -1 +1 @@",
            " same",
            "-old",
            "+new",
        ];
        assert_eq!(found(&patch), [(None, lines.map(str::to_owned).to_vec())]);
    }

    #[test]
    fn a_patch_of_codex_is_a_change() {
        let text = "*** Begin Patch\n*** Update File: a\n@@\n same\n-old\n+new\n*** End Patch";
        let lines = [
            " *** Begin Patch",
            " *** Update File: a",
            " @@",
            " same",
            "-old",
            "+new",
            " *** End Patch",
        ];
        let lines = lines.map(str::to_owned).to_vec();
        assert_eq!(found(&json!({ "command": text })), [(None, lines)]);
        assert_eq!(found(&json!({ "command": "ls\n@@ x" })), []);
    }

    #[test]
    fn what_is_no_change_has_no_look_and_secrets_stay_hidden() {
        for other in [
            json!({"old_string": "a"}),
            json!({"patch": "no diff"}),
            json!({"old_string": 1, "new_string": "a"}),
            json!({"before": "a", "after": "b\n".repeat(LINES + 1)}),
        ] {
            assert_eq!(found(&other), [], "{other}");
        }
        let token = "sk-abcdefghijklmnopqrstuv";
        let edit = json!({"old_string": "x", "new_string": format!("key = {token}")});
        let shown = format!("{:?}", found(&edit));
        assert!(!shown.contains(token), "{shown}");
    }
}
