//! Pieces of a sentence.

use serde_json::Value;

use crate::call::Call;
use crate::leaf::{Leaf, among, snake};
use crate::shown::shown;

/// How many values are named before the rest is counted.
const NAMED: usize = 3;

/// Whether the value, or a list or object that it is in, has one of these names.
pub(super) fn under(leaf: &Leaf<'_>, names: &str) -> bool {
    leaf.place.split('/').any(|name| among(names, &snake(name)))
}

/// The first value with one of these names that is not empty, as a person reads it; earlier names count first.
pub(super) fn first(call: &Call<'_>, names: &str) -> Option<String> {
    let text = |leaf: &Leaf<'_>| match leaf.value.as_ref() {
        Value::String(text) if !text.trim().is_empty() => Some(shown(text.trim())),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    names.split_ascii_whitespace().find_map(|name| {
        let of_name = |leaf: &&Leaf<'_>| leaf.name == name && !call.is_hidden(leaf);
        let mut named = call.leaves.iter().filter(of_name);
        let found = named.find_map(text)?;
        // One of several: which, is not said.
        named.next().is_none().then_some(found)
    })
}

/// Whether a switch with one of these names is on.
pub(super) fn on(call: &Call<'_>, names: &str) -> bool {
    call.leaves
        .iter()
        .any(|leaf| leaf.named(names) && *leaf.value == Value::Bool(true))
}

/// "a, b, c and 2 more".
pub(super) fn listed(values: impl Iterator<Item = String>) -> String {
    let mut values: Vec<String> = values.collect();
    let more = values.len().saturating_sub(NAMED);
    values.truncate(NAMED);
    let named = values.join(", ");
    match more {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
