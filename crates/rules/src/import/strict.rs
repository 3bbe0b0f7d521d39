//! JSON in which every key is written once.
//!
//! Of two equal keys a reader keeps one: a list of what is denied may be the other.

use std::fmt;

use countersign_wire::pointer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Reads a text. A byte order mark before it is skipped.
///
/// # Errors
/// Every fault, for a person: why it is not JSON, or each key that is written again in its object and each text
/// that is none, as a JSON pointer with the places.
pub fn read_json(text: &str) -> Result<Value, Vec<String>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole: &RawValue =
        serde_json::from_str(text).map_err(|error| vec![format!("it is not JSON: {error}")])?;
    let mut faults = Vec::new();
    walk(text, whole, "", &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    let value = countersign_wire::json_value(text.as_bytes());
    value.ok_or_else(|| vec!["it is not JSON that can be kept".to_owned()])
}

fn walk(text: &str, raw: &RawValue, pointer: &str, faults: &mut Vec<String>) {
    if let Ok(Members(members)) = serde_json::from_str(raw.get()) {
        for (number, (key, value)) in members.iter().enumerate() {
            let at = pointer::below(pointer, key);
            if let Some((_, first)) = members[..number].iter().find(|(known, _)| known == key) {
                let (first, again) = (place(text, first), place(text, value));
                faults.push(format!("{at} is written twice: {first} and {again}"));
            }
            walk(text, value, &at, faults);
        }
    } else if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
        for (number, item) in items.into_iter().enumerate() {
            walk(text, item, &format!("{pointer}/{number}"), faults);
        }
    } else if serde_json::from_str::<Value>(raw.get()).is_err() {
        let at = place(text, raw);
        faults.push(format!(
            "{pointer} has an escape that is no character, such as half a surrogate pair: {at}"
        ));
    }
}

/// Where a part of the text begins.
fn place(text: &str, part: &RawValue) -> String {
    let offset = part.get().as_ptr().addr() - text.as_ptr().addr();
    let before = text.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    format!("line {line} column {column}")
}

/// The members of an object as they are written.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(from: D) -> Result<Self, D::Error> {
        struct Of;
        impl<'t> Visitor<'t> for Of {
            type Value = Members<'t>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Members<'t>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Of)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_key_that_is_written_twice_is_named_with_both_places() {
        let text = "{\"permissions\": {\"deny\": [\"a\"],\n \"deny\": []}, \"x\": [{\"y/\": 1, \"y/\": 2}]}";
        assert_eq!(
            read_json(text).unwrap_err(),
            [
                "/permissions/deny is written twice: line 1 column 26 and line 2 column 10",
                "/x/0/y~1 is written twice: line 2 column 28 and line 2 column 37",
            ]
        );
        let half =
            read_json("{\"allow\": [\"a\", \"\\ud83d\"], \"x\": {\"\\udc00\": 1}}").unwrap_err();
        assert!(
            half[0].starts_with("/allow/1 ") && half[1].starts_with("/x "),
            "{half:?}"
        );
        let escaped = read_json("{\"deny\": 1, \"\\u0064eny\": 2}").unwrap_err();
        assert_eq!(escaped.len(), 1, "{escaped:?}");
        for (text, is) in [
            ("{\"a\": \"\\ud83d\\ude00\", \"b\": {\"a\": [1, {}]}}", true),
            ("\u{feff}{}", true),
            ("{\"a\": [1,]}", false),
            ("{} // a", false),
            ("a: 1", false),
        ] {
            assert_eq!(read_json(text).is_ok(), is, "{text}");
        }
    }
}
