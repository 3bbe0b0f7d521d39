//! The name of who decided, as the realm's list has it for the key.
//!
//! The list's name wins over the name in the signed message.

use countersign_wire::json_value;
use serde_json::Value;

/// Where a reader of the list puts its name for the key.
pub const LISTED: &str = "listed_name";

/// Who decided. Not escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decider {
    /// The list's name, with the one that was signed where it differs.
    pub name: Option<String>,
    /// The public key.
    pub key: Option<String>,
}

/// Who decided, of JSON `{name, key, listed_name}`.
#[must_use]
pub fn decider(decided_by: Option<&str>) -> Option<Decider> {
    let by = json_value(decided_by?.as_bytes())?;
    Some(Decider {
        name: shown_name(&by),
        key: by.get("key").and_then(Value::as_str).map(str::to_owned),
    })
}

fn shown_name(decided_by: &Value) -> Option<String> {
    let word = |name: &str| decided_by.get(name).and_then(Value::as_str);
    match (word("name"), word(LISTED)) {
        (Some(signed), Some(listed)) => Some(signed_as(signed, listed)),
        (name, listed) => listed.or(name).map(str::to_owned),
    }
}

/// `bea`, or `bea (signed as zoe)`.
#[must_use]
pub fn signed_as(signed: &str, listed: &str) -> String {
    match signed == listed {
        true => listed.to_owned(),
        false => format!("{listed} (signed as {signed})"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_that_the_list_does_not_have_for_the_key_is_told_beside_the_one_that_it_has() {
        for (by, shown) in [
            (
                json!({"name": "zoe", "listed_name": "bea"}),
                Some("bea (signed as zoe)"),
            ),
            (json!({"name": "bea", "listed_name": "bea"}), Some("bea")),
            (json!({"name": "bea"}), Some("bea")),
            (json!({"listed_name": "bea"}), Some("bea")),
            (json!({"name": 7}), None),
        ] {
            let decided = decider(Some(&by.to_string()));
            assert_eq!(decided.and_then(|by| by.name).as_deref(), shown, "{by}");
        }
    }
}
