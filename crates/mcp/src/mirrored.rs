//! Arguments that a server of revision 2026-07-28 wants to see as headers: `x-mcp-header` in its schema.

use data_encoding::BASE64;
use serde_json::Value;

const DEEPEST: usize = 32;

/// Whether the schema has any.
pub(crate) fn wanted(schema: &Value) -> bool {
    let mut found = Vec::new();
    walk(schema, None, DEEPEST, &mut found);
    !found.is_empty()
}

/// Names and values of the headers.
pub(crate) fn headers(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(schema, Some(arguments), DEEPEST, &mut found);
    let sent = found.into_iter().filter_map(|(token, value)| {
        let text = match value? {
            Value::String(text) => text.clone(),
            value @ (Value::Bool(_) | Value::Number(_)) => value.to_string(),
            _ => return None,
        };
        Some((
            format!("mcp-param-{}", token.to_lowercase()),
            encoded(&text),
        ))
    });
    sent.collect()
}

fn walk<'a>(
    schema: &'a Value,
    value: Option<&'a Value>,
    deepest: usize,
    found: &mut Vec<(&'a str, Option<&'a Value>)>,
) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, schema) in properties {
        let value = value.and_then(|value| value.get(name));
        if let Some(token) = schema.get("x-mcp-header").and_then(Value::as_str) {
            found.push((token, value));
        }
        if deepest > 0 {
            walk(schema, value, deepest - 1, found);
        }
    }
}

/// A value as a header takes it.
pub(crate) fn encoded(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && text.trim() == text && !looks_encoded {
        return text.to_owned();
    }
    format!("=?base64?{}?=", BASE64.encode(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_headers_where_the_schema_says_so() {
        let schema = json!({"properties": {
            "a": {"x-mcp-header": "Region"}, "b": {},
            "c": {"properties": {"d": {"x-mcp-header": "Deep"}, "e": {"x-mcp-header": "Gone"}}},
        }});
        assert!(wanted(&schema) && !wanted(&json!({"properties": {"b": {}}})));
        let arguments = json!({"a": "é", "b": "x", "c": {"d": true}});
        let expected = [
            ("mcp-param-region", "=?base64?w6k=?="),
            ("mcp-param-deep", "true"),
        ];
        let found = headers(&schema, &arguments);
        let found: Vec<_> = found
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_no_header_holds_is_encoded() {
        for (text, header) in [
            ("a b", "a b"),
            (" a", "=?base64?IGE=?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ] {
            assert_eq!(encoded(text), header);
        }
    }
}
