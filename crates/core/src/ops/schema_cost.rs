//! The cost of checking a value against a JSON Schema that an agent wrote.
//!
//! Thirty definitions that each name the next one twice are a kilobyte of text and a billion steps, during which the
//! console would hang. An upper bound is counted; a schema beyond it, or with keywords of unknown cost, is refused.

use serde_json::{Map, Value};

/// Steps that a check may take; each is well below a microsecond.
const STEPS: u32 = 1_000_000;
/// Schemas within schemas, references included. Values end at 64 levels.
const DEPTH: u32 = 512;
/// Steps that a regular expression or a format counts for, and an expression that [`goes_back`].
const PATTERN: u32 = 20;
const BACKTRACKING: u32 = 20_000;

/// Whether a check of `value` against `schema` ends in a moment, whatever either of them holds.
#[must_use]
pub(super) fn is_affordable(schema: &Value, value: &Value) -> bool {
    let draft = schema.get("$schema").and_then(Value::as_str);
    let old = draft.is_some_and(|draft| draft.contains("draft-04"));
    let id = if old { "id" } else { "$id" };
    let inside = schema.as_object().into_iter().flat_map(Map::values);
    let mut walk = Walk {
        root: schema,
        moved: inside.into_iter().any(|inside| names_itself(inside, id)),
        left: STEPS,
    };
    walk.visit(schema, value, 0).is_some()
}

/// Whether a schema inside gives itself a name of its own: `#/…` then starts there and not at the root.
fn names_itself(value: &Value, id: &str) -> bool {
    match value {
        Value::Object(map) => {
            map.get(id).is_some_and(Value::is_string)
                || map.values().any(|value| names_itself(value, id))
        }
        Value::Array(items) => items.iter().any(|value| names_itself(value, id)),
        _ => false,
    }
}

/// Whether a regular expression can go back over its text: look-around, atomic and conditional groups,
/// possessive repetition, references to what matched before. The others take linear time.
fn goes_back(pattern: &str) -> bool {
    let refers = |pair: &[u8]| matches!(pair, [b'\\', b'k' | b'1'..=b'9']);
    let marks = [
        "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "++", "*+", "?+", "}+",
    ];
    marks.iter().any(|mark| pattern.contains(mark)) || pattern.as_bytes().windows(2).any(refers)
}

struct Walk<'s> {
    root: &'s Value,
    moved: bool,
    left: u32,
}

/// None once too much was spent.
type Spent = Option<()>;

impl<'s> Walk<'s> {
    fn spend(&mut self, steps: usize) -> Spent {
        self.left = self.left.checked_sub(u32::try_from(steps).ok()?)?;
        Some(())
    }

    fn visit(&mut self, schema: &'s Value, value: &Value, depth: u32) -> Spent {
        self.spend(1)?;
        let Value::Object(words) = schema else {
            return Some(());
        };
        if depth == DEPTH {
            return None;
        }
        self.spend(words.len())?;
        // What was not evaluated is found by evaluating the rest once more.
        let again = words.keys().any(|word| word.starts_with("unevaluated"));
        for _ in 0..1 + u32::from(again) {
            self.in_place(words, value, depth + 1)?;
            match value {
                Value::Object(fields) => self.fields(words, fields, depth + 1)?,
                Value::Array(items) => self.items(words, items, depth + 1)?,
                Value::String(_) => {
                    self.pattern(words.get("pattern"))?;
                    if words.contains_key("format") {
                        self.spend(PATTERN as usize)?;
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    /// What looks at the same value again.
    fn in_place(&mut self, words: &'s Map<String, Value>, value: &Value, depth: u32) -> Spent {
        for (word, schema) in words {
            match word.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    if let Some(named) = self.referred(schema)? {
                        self.visit(named, value, depth)?;
                    }
                }
                "not" | "if" | "then" | "else" => self.visit(schema, value, depth)?,
                "allOf" | "anyOf" | "oneOf" => {
                    for schema in schema.as_array().into_iter().flatten() {
                        self.visit(schema, value, depth)?;
                    }
                }
                "dependentSchemas" | "dependencies" => {
                    for schema in schema.as_object().into_iter().flat_map(Map::values) {
                        self.visit(schema, value, depth)?;
                    }
                }
                "enum" | "required" => self.spend(schema.as_array().map_or(0, Vec::len))?,
                _ => {}
            }
        }
        Some(())
    }

    /// The schema that a reference names; none where it names nothing, which no check gets past.
    fn referred(&self, reference: &Value) -> Option<Option<&'s Value>> {
        match reference.as_str() {
            Some("#") => Some(Some(self.root)),
            Some(text) if text.starts_with("#/") && !text.contains('%') && !self.moved => {
                Some(self.root.pointer(&text[1..]))
            }
            _ => None,
        }
    }

    fn fields(
        &mut self,
        words: &'s Map<String, Value>,
        fields: &Map<String, Value>,
        depth: u32,
    ) -> Spent {
        for (word, schema) in words {
            match word.as_str() {
                "properties" => {
                    for (name, schema) in schema.as_object().into_iter().flatten() {
                        if let Some(value) = fields.get(name) {
                            self.visit(schema, value, depth)?;
                        }
                    }
                }
                "patternProperties" => {
                    for (name, schema) in schema.as_object().into_iter().flatten() {
                        for value in fields.values() {
                            self.text_pattern(name)?;
                            self.visit(schema, value, depth)?;
                        }
                    }
                }
                "additionalProperties" | "unevaluatedProperties" => {
                    for value in fields.values() {
                        self.visit(schema, value, depth)?;
                    }
                }
                "propertyNames" => {
                    for name in fields.keys() {
                        self.visit(schema, &Value::String(name.clone()), depth)?;
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn items(&mut self, words: &'s Map<String, Value>, items: &[Value], depth: u32) -> Spent {
        for (word, schema) in words {
            match (word.as_str(), schema) {
                ("prefixItems" | "items", Value::Array(schemas)) => {
                    for (schema, value) in schemas.iter().zip(items) {
                        self.visit(schema, value, depth)?;
                    }
                }
                ("items" | "additionalItems" | "contains" | "unevaluatedItems", schema) => {
                    for value in items {
                        self.visit(schema, value, depth)?;
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn pattern(&mut self, pattern: Option<&Value>) -> Spent {
        pattern
            .and_then(Value::as_str)
            .map_or(Some(()), |text| self.text_pattern(text))
    }

    fn text_pattern(&mut self, text: &str) -> Spent {
        let steps = if goes_back(text) {
            BACKTRACKING
        } else {
            PATTERN
        };
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `names` definitions, each made of the next one.
    fn chain(names: usize, made_of: impl Fn(Value) -> Value) -> Value {
        let mut defs = Map::new();
        for at in 0..names {
            let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
            defs.insert(format!("d{at}"), made_of(next));
        }
        defs.insert(format!("d{names}"), json!({ "type": "string" }));
        json!({ "$defs": defs, "$ref": "#/$defs/d0" })
    }

    #[test]
    fn what_people_write_is_affordable() {
        let tree = json!({
            "$defs": {"node": {"type": "object", "properties": {
                "left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}, "n": {"type": "integer"},
            }}},
            "$ref": "#/$defs/node",
        });
        let deep = (0..60).fold(json!({}), |below, n| json!({"left": below, "n": n}));
        assert!(is_affordable(&tree, &deep));
        let rows = json!({
            "type": "array", "items": {"type": "object", "required": ["id"], "additionalProperties": false,
                "properties": {"id": {"type": "string", "pattern": "^[a-z]+$"}, "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}},
        });
        let many = Value::from(vec![json!({"id": "abc", "n": 1}); 10_000]);
        assert!(is_affordable(&rows, &many));
        assert!(is_affordable(
            &chain(30, |next| json!({"properties": {"a": next}})),
            &deep
        ));
        assert!(is_affordable(&json!(true), &deep));
    }

    #[test]
    fn a_small_text_that_asks_for_endless_work_is_not() {
        let deep = (0..60).fold(json!("end"), |below, _| json!({"a": below}));
        let twice = |next: &Value| json!([next, next]);
        let costly = [
            chain(30, |next| json!({"allOf": twice(&next)})),
            chain(30, |next| json!({"anyOf": twice(&next)})),
            chain(
                30,
                |next| json!({"allOf": [next], "unevaluatedProperties": true}),
            ),
            json!({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}),
            json!({"patternProperties": {"a": {"$ref": "#"}, "^a": {"$ref": "#"}}}),
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
            json!({"$ref": "#"}),
        ];
        for schema in costly {
            assert!(!is_affordable(&schema, &deep), "{schema}");
        }
        let backwards = json!({"items": {"pattern": "^(?=(a+)+$)b"}});
        let texts = Value::from(vec!["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"; 1_000]);
        assert!(!is_affordable(&backwards, &texts));
    }

    #[test]
    fn a_reference_that_cannot_be_followed_here_is_not_affordable() {
        for schema in [
            json!({"$ref": "#elsewhere", "$defs": {"a": {"$anchor": "elsewhere"}}}),
            json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "b", "$ref": "#/$defs/c"}}}),
            json!({"$ref": "#/$defs/a%62", "$defs": {"ab": {}}}),
        ] {
            assert!(!is_affordable(&schema, &json!("a")), "{schema}");
        }
    }
}
