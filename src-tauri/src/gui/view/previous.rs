//! The difference from the nearest earlier decided call of the same tool. Praises nothing.

use countersign_wire::escape;
use countersign_wire::ipc::{ArgEntry, ArgPart, Delta, PreviousCall};
use serde_json::Value;

use super::args::{Walked, walk};
use super::card::hidden_for_good;
use super::row::decider;
use super::story::Story;

/// Compares with the earlier call, where there is one.
pub(crate) fn previous(story: &Story, key: &[u8; 32], own_key: &str) -> Option<PreviousCall> {
    let (line, request) = story.earlier.as_ref()?;
    let now = story.request.args.as_ref()?;
    let then = request.args.as_ref()?;
    Some(PreviousCall {
        verdict: escape(line.verdict.as_deref()?).plain(),
        at_ms: line.decided_at.unwrap_or(line.stored_at),
        mine: decider(line).is_some_and(|by| by.1 == own_key),
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
    let gone = old.iter().filter(|entry| !new.iter().any(|other| other.name == entry.name));
    new.iter()
        .chain(gone)
        .map(|entry| {
            let (before, after) = (find(&old, entry), find(&new, entry));
            let same = same(&before, &after);
            Delta {
                name: entry.name.clone().unwrap_or_else(|| escape("arguments")),
                hidden: !same && marks(&after) > 0,
                old: before,
                new: after,
                same,
            }
        })
        .collect()
}

/// Hidden values are the same when their keyed digests are.
fn same(old: &[ArgPart], new: &[ArgPart]) -> bool {
    old.len() == new.len()
        && old.iter().zip(new).all(|parts| match parts {
            (ArgPart::Text { text: old }, ArgPart::Text { text: new }) => old == new,
            (
                ArgPart::Hidden { digest: old, characters: before, .. },
                ArgPart::Hidden { digest: new, characters: after, .. },
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
