//! Whether a tool's schema keeps strict mode: every object closes with `additionalProperties: false` and
//! lists all its properties in `required`.
//!
//! A schema is not changed: it says where it is open, the agent's author has to close it.

use countersign_wire::pointer::below;
use serde_json::{Map, Value};

/// Faults listed for one schema.
const REPORTED: usize = 50;
/// Keywords whose value is one schema.
const ONE: [&str; 10] = [
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
const LIST: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value is a map of schemas.
const MAP: [&str; 5] = [
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// A place where a schema is not strict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictFault {
    /// JSON pointer (RFC 6901) into the schema, `""` for the whole.
    pub path: String,
    /// What is wrong; may name properties of the agent's own.
    pub what: String,
}

/// Every place where the schema of a strict tool is not strict, in its order.
pub fn strict_faults(schema: Option<&Value>) -> Vec<StrictFault> {
    let mut faults = Vec::new();
    match schema {
        Some(Value::Object(fields)) if is_object(fields) => {
            look(fields, "", &mut faults);
        }
        Some(Value::Object(fields)) => {
            fault(&mut faults, "", "the arguments are not an object");
            look(fields, "", &mut faults);
        }
        _ => fault(
            &mut faults,
            "",
            "there is no schema of an object to keep to",
        ),
    }
    faults
}

fn fault(faults: &mut Vec<StrictFault>, path: &str, what: impl Into<String>) {
    if faults.len() < REPORTED {
        faults.push(StrictFault {
            path: path.to_owned(),
            what: what.into(),
        });
    }
}

fn is_object(schema: &Map<String, Value>) -> bool {
    let typed = match schema.get("type") {
        Some(Value::String(word)) => word == "object",
        Some(Value::Array(words)) => words.iter().any(|word| word == "object"),
        _ => false,
    };
    typed || schema.contains_key("properties")
}

fn look(schema: &Map<String, Value>, path: &str, faults: &mut Vec<StrictFault>) {
    if is_object(schema) {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            fault(faults, path, "additionalProperties is not false");
        }
        let required = schema.get("required").and_then(Value::as_array);
        let listed =
            |name: &str| required.is_some_and(|names| names.iter().any(|listed| listed == name));
        let properties = schema.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(Map::keys) {
            if !listed(name) {
                let place = below(&below(path, "properties"), name);
                fault(faults, &place, "not listed in required");
            }
        }
    }
    for (word, inner) in schema {
        if ONE.contains(&word.as_str()) {
            enter(inner, &below(path, word), faults);
        }
        if LIST.contains(&word.as_str())
            && let Value::Array(inner) = inner
        {
            for (place, inner) in inner.iter().enumerate() {
                enter(
                    inner,
                    &below(&below(path, word), &place.to_string()),
                    faults,
                );
            }
        }
        if MAP.contains(&word.as_str())
            && let Value::Object(inner) = inner
        {
            for (name, inner) in inner {
                enter(inner, &below(&below(path, word), name), faults);
            }
        }
    }
}

fn enter(schema: &Value, path: &str, faults: &mut Vec<StrictFault>) {
    // The list is full.
    if faults.len() < REPORTED
        && let Value::Object(fields) = schema
    {
        look(fields, path, faults);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn reported(schema: &Value) -> Vec<(String, String)> {
        let faults = strict_faults(Some(schema));
        faults
            .into_iter()
            .map(|fault| (fault.path, fault.what))
            .collect()
    }

    #[test]
    fn every_object_closes_and_requires_all_it_has() {
        let strict = json!({"type": "object", "additionalProperties": false, "required": ["to", "tags"],
        "properties": {
            "to": {"type": ["object", "null"], "additionalProperties": false, "required": [], "properties": {}},
            "tags": {"type": "array", "items": {"type": "string"}},
        }});
        assert_eq!(reported(&strict), []);
        let open = "additionalProperties is not false";
        let missing = "not listed in required";
        let table = [
            ("/additionalProperties", json!(true), vec![("", open)]),
            ("/additionalProperties", json!({}), vec![("", open)]),
            (
                "/required",
                json!(["to"]),
                vec![("/properties/tags", missing)],
            ),
            (
                "/required",
                json!(null),
                vec![("/properties/to", missing), ("/properties/tags", missing)],
            ),
            (
                "/properties/to/additionalProperties",
                json!(null),
                vec![("/properties/to", open)],
            ),
            (
                "/properties/tags/items",
                json!({"type": "object", "properties": {"a/b": {}}}),
                vec![
                    ("/properties/tags/items", open),
                    ("/properties/tags/items/properties/a~1b", missing),
                ],
            ),
            (
                "/properties/tags/items",
                json!({"anyOf": [{"type": "null"}, {"type": "object"}]}),
                vec![("/properties/tags/items/anyOf/1", open)],
            ),
            ("/type", json!("string"), vec![]),
        ];
        for (place, value, expected) in table {
            let mut schema = strict.clone();
            *schema.pointer_mut(place).unwrap() = value;
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(path, what): (&str, &str)| (path.to_owned(), what.to_owned()))
                .collect();
            assert_eq!(reported(&schema), expected, "{place}");
        }
    }

    #[test]
    fn definitions_are_looked_at_too_and_what_is_no_schema_of_an_object_is_told() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": [],
            "$defs": {"x": {"properties": {}}}, "allOf": [true, {"not": {"type": "object"}}]});
        let paths: Vec<_> = reported(&schema)
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert_eq!(paths, ["/$defs/x", "/allOf/1/not"]);
        for schema in [json!(true), json!({"type": "string"}), json!({})] {
            assert_eq!(reported(&schema).len(), 1, "{schema}");
        }
        assert_eq!(strict_faults(None).len(), 1);
    }

    #[test]
    fn a_schema_with_a_million_faults_is_told_in_part() {
        let properties: Map<String, Value> = (0..10_000)
            .map(|n| (n.to_string(), json!({"type": "object"})))
            .collect();
        let faults = strict_faults(Some(&json!({"type": "object", "properties": properties})));
        assert_eq!(faults.len(), REPORTED);
    }
}
