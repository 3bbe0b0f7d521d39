//! A settings file that is imported again: its rules replace those of its earlier import.
//!
//! The id of an imported rule names its files: `claude-code-MARK[-MARK…]-REST`, a mark for each file's path.

use countersign_wire::Sha256Digest;

use super::SourceFile;
use crate::rule::{Enabled, Rule};

/// Files that are read together: more marks do not fit into an id.
pub const FILES_MAX: usize = 5;
const PREFIX: &str = "claude-code-";
const MARK_LENGTH: usize = 6;

/// What the ids of a file's rules have.
pub(super) fn mark_of(path: &str) -> String {
    let digest = Sha256Digest::of_bytes(path.as_bytes()).to_string();
    let hex = digest.chars().skip("sha256:".len());
    hex.take(MARK_LENGTH).collect()
}

/// The id of a rule that several files give together.
pub(super) fn joined_id<'f>(files: impl Iterator<Item = &'f SourceFile>, rest: &str) -> String {
    let mut marks: Vec<String> = files.map(|file| mark_of(&file.path)).collect();
    marks.sort_unstable();
    marks.dedup();
    format!("{PREFIX}{}-{rest}", marks.join("-"))
}

/// The marks of an imported rule, and what its id has behind them.
fn parts(id: &str) -> Option<(Vec<&str>, &str)> {
    let mut rest = id.strip_prefix(PREFIX)?;
    let mut marks = Vec::new();
    while let Some((mark, behind)) = rest.split_once('-')
        && mark.len() == MARK_LENGTH
        && mark.bytes().all(|b| b.is_ascii_hexdigit())
    {
        marks.push(mark);
        rest = behind;
    }
    (!marks.is_empty()).then_some((marks, rest))
}

/// A workspace's rules with these in the place of what came from the same files before. What somebody turned off
/// stays off.
#[must_use]
pub fn with_earlier_replaced(
    existing: &[Rule],
    files: &[SourceFile],
    imported: Vec<Rule>,
) -> Vec<Rule> {
    let marks: Vec<String> = files.iter().map(|file| mark_of(&file.path)).collect();
    let (earlier, mut rules): (Vec<Rule>, Vec<Rule>) = existing.iter().cloned().partition(|rule| {
        parts(&rule.id)
            .is_some_and(|(own, _)| own.iter().any(|mark| marks.iter().any(|of| of == mark)))
    });
    rules.extend(imported.into_iter().map(|mut rule| {
        let is_same = |old: &&Rule| match (parts(&old.id), parts(&rule.id)) {
            (Some((was, old)), Some((is, new))) => {
                old == new && was.iter().any(|mark| is.contains(mark))
            }
            _ => false,
        };
        let not_on = earlier
            .iter()
            .filter(is_same)
            .map(|old| old.enabled)
            .find(|enabled| *enabled != Enabled::On);
        rule.enabled = not_on.unwrap_or(rule.enabled);
        rule
    }));
    rules
}
