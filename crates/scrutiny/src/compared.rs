//! The approved call that is nearest to a new one, and in what the two differ.

use std::collections::HashSet;

use countersign_wire::pointer;
use serde_json::Value;

use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;

/// One place at which two calls differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// JSON pointer.
    pub at: String,
    /// The value of the earlier call; none where there was none.
    pub was: Option<Value>,
    /// The value of this call; none where it is gone.
    pub is: Option<Value>,
}

/// Of calls with their arguments, the newest first, the one that shares the most of what names something, each value
/// counted by how rare it is; of those the newest.
#[must_use]
pub fn nearest<T>(
    tool: &str,
    now: &Value,
    approved: impl IntoIterator<Item = (T, Value)>,
) -> Option<(T, Value)> {
    let calls: Vec<(T, Value)> = approved.into_iter().collect();
    let mine = identities(tool, now);
    let theirs: Vec<_> = calls
        .iter()
        .map(|(_, args)| identities(tool, args))
        .collect();
    let rare = |value: &(String, String)| {
        let have = theirs.iter().filter(|of| of.contains(value)).count();
        (1.0 + calls.len() as f64 / have.max(1) as f64).ln()
    };
    let weights: Vec<(&(String, String), f64)> = mine.iter().map(|of| (of, rare(of))).collect();
    let share = |of: &HashSet<(String, String)>| -> f64 {
        weights
            .iter()
            .filter(|(value, _)| of.contains(value))
            .map(|(_, weight)| weight)
            .sum()
    };
    let mut best: Option<(usize, f64)> = None;
    for (place, of) in theirs.iter().enumerate() {
        let share = share(of);
        if best.is_none_or(|(_, most)| share > most + 1e-9) {
            best = Some((place, share));
        }
    }
    calls.into_iter().nth(best?.0)
}

/// How many values that name something two calls of a tool share.
#[must_use]
pub fn shares(tool: &str, one: &Value, other: &Value) -> usize {
    identities(tool, one)
        .intersection(&identities(tool, other))
        .count()
}

/// What names whom and what a call is about, with its place.
fn identities(tool: &str, args: &Value) -> HashSet<(String, String)> {
    let call = Call::new(tool, args);
    let names = |cell: &&Cell| cell.names() || cell.what == What::Host;
    let cells = cells::of(&call).iter().filter(names);
    cells
        .map(|cell| (cell.place.clone(), cell.form.clone()))
        .collect()
}

/// Where two calls differ, in the order of the arguments; what is gone comes last.
#[must_use]
pub fn differs(was: &Value, is: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk("", Some(was), Some(is), &mut found);
    found
}

fn walk(at: &str, was: Option<&Value>, is: Option<&Value>, found: &mut Vec<Difference>) {
    match (was, is) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            for key in new.keys().chain(gone) {
                walk(&pointer::below(at, key), old.get(key), new.get(key), found);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for place in 0..old.len().max(new.len()) {
                walk(
                    &format!("{at}/{place}"),
                    old.get(place),
                    new.get(place),
                    found,
                );
            }
        }
        (was, is) if was == is => {}
        (was, is) => found.push(Difference {
            at: at.to_owned(),
            was: was.cloned(),
            is: is.cloned(),
        }),
    }
}
