//! The schema of one field of a form.

use serde_json::{Map, Value};

use super::Unfit;

/// Schemas in a chain, such as a reference to a reference.
const LAYERS: usize = 16;
/// The largest whole number up to which JavaScript has them all.
const EXACT: u64 = (1 << 53) - 1;

/// Keywords whose meaning fields cannot show.
const UNSHOWN: [&str; 16] = [
    "$dynamicRef",
    "$recursiveRef",
    "additionalItems",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxProperties",
    "minProperties",
    "not",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
];
/// Keywords that mean something else when two schemas say them.
const ONCE: [&str; 6] = ["type", "properties", "required", "enum", "const", "items"];

/// What can be chosen: a title, where there is one, and the value.
pub(super) type Choice<'s> = (Option<&'s str>, &'s Value);

/// A schema with what it refers to: the outer one first, whose words go before the others'.
pub(super) struct Node<'s> {
    layers: Vec<&'s Map<String, Value>>,
    nullable: bool,
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

impl<'s> Node<'s> {
    pub(super) fn of(root: &'s Value, schema: &'s Value) -> Result<Self, Unfit> {
        let mut node = Self {
            layers: Vec::new(),
            nullable: false,
        };
        let mut schema = schema;
        loop {
            let map = schema.as_object();
            let map = map.ok_or("a field takes anything, or nothing")?;
            if let Some(word) = UNSHOWN.iter().find(|word| map.contains_key(**word)) {
                return Err(format!("it uses `{word}`").into());
            }
            let twice = |word: &&&str| map.contains_key(**word) && node.get(word).is_some();
            if ONCE.iter().find(twice).is_some() || node.layers.len() == LAYERS {
                return Err("it is made of several schemas".into());
            }
            node.layers.push(map);
            let of = |word: &str| map.get(word).and_then(Value::as_array);
            let inner = match (map.get("$ref"), of("allOf"), of("anyOf").or(of("oneOf"))) {
                (None, None, None) => return Ok(node),
                (Some(named), None, None) => {
                    let place = named.as_str().and_then(|text| text.strip_prefix('#'));
                    let named = place.and_then(|place| root.pointer(place));
                    Some(named.ok_or("it refers to something outside of it")?)
                }
                (None, Some(all), None) if all.len() == 1 => all.first(),
                (None, None, Some(any)) if node.titled().is_none() => {
                    let mut other = any.iter().filter(|schema| !is_null(schema));
                    node.nullable |= any.iter().any(is_null);
                    other.next().filter(|_| other.next().is_none())
                }
                (None, None, Some(_)) => return Ok(node),
                _ => None,
            };
            schema = inner.ok_or("it leaves a choice between several kinds of answers")?;
        }
    }

    /// Whether it also takes null, which no field can hold.
    pub(super) fn is_nullable(&self) -> bool {
        let listed = self.get("enum").and_then(Value::as_array);
        self.nullable
            || self.names("type").contains(&"null")
            || listed.is_some_and(|values| values.iter().any(Value::is_null))
    }

    /// What a keyword says.
    pub(super) fn get(&self, word: &str) -> Option<&'s Value> {
        self.layers.iter().find_map(|layer| layer.get(word))
    }

    pub(super) fn names(&self, word: &str) -> Vec<&'s str> {
        let listed = self.get(word).and_then(Value::as_array);
        listed
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// The values of `oneOf` or `anyOf` with their titles, where each schema of them is a single value.
    fn titled(&self) -> Option<Vec<Choice<'s>>> {
        let any = self.get("oneOf").or_else(|| self.get("anyOf"))?;
        let each = any.as_array()?.iter();
        each.map(|schema| {
            let title = schema.get("title").and_then(Value::as_str);
            Some((title, schema.get("const")?))
        })
        .collect()
    }

    /// The type of its values.
    pub(super) fn kind(&self) -> Result<&'s str, Unfit> {
        let named = match self.get("type") {
            Some(Value::Array(_)) => self.names("type"),
            Some(kind) => kind.as_str().into_iter().collect(),
            None if self.get("properties").is_some() => vec!["object"],
            None if self.get("items").is_some() => vec!["array"],
            None => return Err("a field has no type".into()),
        };
        let mut named = named.into_iter().filter(|kind| *kind != "null");
        match (named.next(), named.next()) {
            (Some(kind), None) => Ok(kind),
            _ => Err("a field has several types, or none".into()),
        }
    }
}

/// The values that a field can be chosen from; none where it is written.
pub(super) fn choices<'s>(node: &Node<'s>) -> Result<Option<Vec<Choice<'s>>>, Unfit> {
    let listed = match (
        node.get("enum").and_then(Value::as_array),
        node.get("const"),
    ) {
        (None, None) => node.titled(),
        (Some(values), None) => Some(values.iter().map(|value| (None, value)).collect()),
        (None, Some(value)) => Some(vec![(None, value)]),
        _ => return Err("it is made of several schemas".into()),
    };
    let listed = listed.map(|listed| {
        let of = listed.into_iter();
        of.filter(|(_, value)| !value.is_null()).collect::<Vec<_>>()
    });
    match listed {
        Some(listed) if listed.is_empty() => Err("a field has no choices".into()),
        listed => Ok(listed),
    }
}

/// Whether the page has a number exactly as it is.
pub(super) fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let whole = number.as_u64().or(number.as_i64().map(i64::unsigned_abs));
            whole.is_none_or(|whole| whole <= EXACT)
        }
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(map) => map.values().all(is_exact),
        _ => true,
    }
}

/// Whether a field can hold a value.
pub(super) fn holds(field: &Map<String, Value>, value: &Value) -> bool {
    let is_choice = |value: &Value| {
        let choices = field.get("choices").and_then(Value::as_array);
        choices.is_some_and(|all| all.iter().any(|choice| choice.get("value") == Some(value)))
    };
    match (field.get("kind").and_then(Value::as_str), value) {
        (Some("string"), value) => value.is_string(),
        (Some("number" | "integer"), value) => value.is_number(),
        (Some("boolean"), value) => value.is_boolean(),
        (Some("choice"), value) => is_choice(value),
        (Some("choices"), Value::Array(values)) => values.iter().all(is_choice),
        // A list: of what is filled in as one.
        (None, Value::Array(values)) => {
            let entry = field.get("items").and_then(Value::as_object);
            let entry = entry.filter(|entry| entry.contains_key("kind"));
            entry.is_some_and(|entry| values.iter().all(|value| holds(entry, value)))
        }
        _ => false,
    }
}

/// Whether a text wants more than one line.
pub(super) fn is_long(node: &Node<'_>, default: Option<&Value>) -> bool {
    let most = node.get("maxLength").and_then(Value::as_u64);
    let default = default.and_then(Value::as_str);
    most.is_some_and(|most| most >= 200) || default.is_some_and(|text| text.contains('\n'))
}

/// What the field asks for beyond its type, in words.
pub(super) fn hint(node: &Node<'_>) -> Option<String> {
    let range = |least: &str, most: &str, unit: &str| match (node.get(least), node.get(most)) {
        (Some(least), Some(most)) if least == most => Some(format!("{least}{unit}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("at least {least}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (None, None) => None,
    };
    let number = |word: &str, says: &str| {
        let number = node.get(word).filter(|value| value.is_number())?;
        Some(format!("{says} {number}"))
    };
    let format = node.get("format").and_then(Value::as_str);
    let format = format.map(|format| match format {
        "date" => "a date such as 2026-11-25".to_owned(),
        "date-time" => "a time such as 2026-11-25T09:30:00Z".to_owned(),
        "time" => "a time such as 09:30:00Z".to_owned(),
        "email" => "an email address".to_owned(),
        "uri" => "an address such as https://example.com/".to_owned(),
        other => other.to_owned(),
    });
    let pattern = node.get("pattern").and_then(Value::as_str);
    let whole = node.kind().is_ok_and(|kind| kind == "integer");
    let hints = [
        whole.then(|| "a whole number".to_owned()),
        format,
        range("minimum", "maximum", ""),
        number("exclusiveMinimum", "more than"),
        number("exclusiveMaximum", "less than"),
        number("multipleOf", "a multiple of"),
        range("minLength", "maxLength", " characters"),
        range("minItems", "maxItems", " entries"),
        pattern.map(|pattern| format!("matches {pattern}")),
    ];
    let hints: Vec<String> = hints.into_iter().flatten().collect();
    (!hints.is_empty()).then(|| hints.join(", "))
}
