//! The arguments of a call as a rule can name them.
//!
//! Refuses what a rule should not show or cannot compare: secrets, null, numbers that are not the same for
//! everybody, and more than a person reads. Such a call is named by its digest.

use std::collections::BTreeMap;

use countersign_redaction::{hides_whole, secret_spans};
use countersign_wire::{MAX_SAFE_INTEGER, pointer};
use serde_json::Value;

/// More arguments than these, or more text in them, and nobody reads the rule.
const NAMED_MAX: usize = 50;
const NAMED_BYTES_MAX: usize = 4_096;

/// Every value by its JSON pointer; none where a rule cannot name them all, or there is none.
pub(super) fn leaves(args: &Value) -> Option<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    let mut bytes = 0;
    let fits = args.is_object() && walk(args, None, String::new(), &mut bytes, &mut found);
    (fits && !found.is_empty()).then_some(found)
}

fn walk(
    value: &Value,
    name: Option<&str>,
    at: String,
    bytes: &mut usize,
    found: &mut BTreeMap<String, Value>,
) -> bool {
    if hides_whole(name, value) {
        return false;
    }
    let below = |part: &str| pointer::below(&at, part);
    match value {
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .all(|(key, value)| walk(value, Some(key), below(key), bytes, found)),
        Value::Array(list) if !list.is_empty() => list
            .iter()
            .enumerate()
            .all(|(place, value)| walk(value, name, below(&place.to_string()), bytes, found)),
        leaf => {
            *bytes += at.len() + leaf.as_str().map_or(0, str::len);
            found.insert(at, leaf.clone());
            *bytes <= NAMED_BYTES_MAX && found.len() <= NAMED_MAX && can_be_written(leaf)
        }
    }
}

/// TOML has no null, and a number must be the same for everybody who compares it.
fn can_be_written(leaf: &Value) -> bool {
    match leaf {
        Value::Null => false,
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.unsigned_abs() <= MAX_SAFE_INTEGER,
            (None, Some(real)) => number.is_f64() && real.is_finite(),
            (None, None) => false,
        },
        Value::String(text) => secret_spans(text).is_empty(),
        _ => true,
    }
}
