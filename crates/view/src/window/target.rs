//! The text that is typed before a critical call is approved: the argument that an operator chose, else the tool's
//! name.
//!
//! The agent never chooses it.

use crate::{RevealKind, TypedTarget};
use countersign_redaction::leaf_text;
use countersign_wire::pointer::below;
use countersign_wire::{escape, is_hostile};
use serde_json::Value;

use super::args::walk;

/// Longer texts do not name anything: nobody types them with a thought.
const LONGEST: usize = 200;
/// Arguments that are offered for one tool.
const OFFERED: usize = 50;

/// The value at `chosen` of the arguments that would run; the tool's name where there is none, where it is long, a
/// list or an object, and where it is hidden on the screen.
pub(crate) fn typed_target(
    tool: Option<&str>,
    args: Option<&Value>,
    chosen: Option<&str>,
    key: &[u8; 32],
) -> TypedTarget {
    let value = args
        .zip(chosen)
        .and_then(|(args, chosen)| Some((chosen, at(args, chosen, key)?)));
    let (pointer, text) = match value {
        Some((chosen, text)) => (Some(escape(chosen)), Some(text)),
        None => (None, tool.map(str::to_owned)),
    };
    TypedTarget {
        text: text.filter(|text| !text.is_empty() && !text.chars().any(is_hostile)),
        pointer,
    }
}

fn at(args: &Value, chosen: &str, key: &[u8; 32]) -> Option<String> {
    let value = args.pointer(chosen)?;
    if value.is_null() || value.is_array() || value.is_object() {
        return None;
    }
    let text = leaf_text(value);
    if text.is_empty() || text.chars().count() > LONGEST {
        return None;
    }
    let inside = |outer: &str| {
        let rest = chosen.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let found = walk(args, key).found;
    let secret = found
        .iter()
        .any(|found| found.kind == RevealKind::Secret && inside(&found.pointer));
    (!secret).then_some(text)
}

/// Pointers that a tool's schema offers for the choice: plain values, one level of objects deep.
pub(crate) fn offered(args_schema: Option<&Value>) -> Vec<String> {
    let mut pointers = Vec::new();
    properties(args_schema, "", 1, &mut pointers);
    pointers.retain(|pointer| !pointer.chars().any(is_hostile));
    pointers.truncate(OFFERED);
    pointers
}

fn properties(schema: Option<&Value>, place: &str, deeper: usize, pointers: &mut Vec<String>) {
    let fields = schema
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object);
    for (name, schema) in fields.into_iter().flatten() {
        let place = below(place, name);
        match schema.get("type").and_then(Value::as_str) {
            Some("string" | "integer" | "number") => pointers.push(place),
            Some("object") if deeper > 0 => properties(Some(schema), &place, deeper - 1, pointers),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn typed(args: &Value, chosen: Option<&str>) -> (Option<String>, bool) {
        let target = typed_target(Some("delete_invoice"), Some(args), chosen, &[7; 32]);
        (target.text, target.pointer.is_some())
    }

    #[test]
    fn the_value_that_an_operator_chose_is_typed_else_the_tools_name() {
        let args = json!({"id": "INV-7", "n": 42, "on": true, "to": {"iban": "DE02", "a/b": "c"}, "list": [1], "none": null,
            "empty": "", "long": "x".repeat(201), "fits": "x".repeat(200)});
        let name = ("delete_invoice".to_owned(), false);
        let value = |text: &str| (text.to_owned(), true);
        let table = [
            (Some("/id"), value("INV-7")),
            (Some("/n"), value("42")),
            (Some("/on"), value("true")),
            (Some("/to/iban"), value("DE02")),
            (Some("/to/a~1b"), value("c")),
            (Some("/list/0"), value("1")),
            (Some("/fits"), value(&"x".repeat(200))),
            (None, name.clone()),
            (Some("/missing"), name.clone()),
            (Some("/to"), name.clone()),
            (Some("/list"), name.clone()),
            (Some("/none"), name.clone()),
            (Some("/empty"), name.clone()),
            (Some("/long"), name),
        ];
        for (chosen, (text, of_argument)) in table {
            assert_eq!(
                typed(&args, chosen),
                (Some(text), of_argument),
                "{chosen:?}"
            );
        }
    }

    #[test]
    fn a_value_with_hidden_characters_cannot_be_typed_and_nothing_stands_in_its_place() {
        let args = json!({"id": "INV-7\u{202e}", "lines": "a\nb"});
        assert_eq!(typed(&args, Some("/id")), (None, true));
        assert_eq!(typed(&args, Some("/lines")), (None, true));
        let target = typed_target(Some("delete\u{200b}"), Some(&args), None, &[7; 32]);
        assert_eq!(target.text, None);
    }

    #[test]
    fn what_the_screen_hides_is_not_told_as_what_to_type() {
        let args = json!({"api_key": "s3cr3t", "password": {"id": "a"}, "cmd": "login --token abc123 now"});
        for chosen in ["/api_key", "/password/id", "/cmd"] {
            let expected = (Some("delete_invoice".to_owned()), false);
            assert_eq!(typed(&args, Some(chosen)), expected, "{chosen}");
        }
    }

    #[test]
    fn a_schema_offers_its_plain_values() {
        let schema = json!({"properties": {
            "id": {"type": "string"}, "to": {"type": "object", "properties": {
                "iban": {"type": "string"}, "deep": {"type": "object", "properties": {"x": {"type": "string"}}}}},
            "tags": {"type": "array"}, "bad\u{202e}": {"type": "string"}, "n": {"type": "integer"}}});
        let mut found = offered(Some(&schema));
        found.sort();
        assert_eq!(found, ["/id", "/n", "/to/iban"]);
        assert!(offered(None).is_empty());
    }
}
