//! Setup keys: what an agent declares, and what its values are.
//!
//! Refuses a declaration with anything unknown in it, and a value of another type than the declared one.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::read::Problem;
use super::rule::whole;

const FIELDS_MAX: usize = 500;

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// A short text.
    StringShort,
    /// A long text.
    StringLong,
    /// A text of several lines.
    StringMultiline,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// A list of objects.
    ListDict,
}

countersign_wire::words!(FieldType {
    StringShort => "string_short", StringLong => "string_long",
    StringMultiline => "string_multiline", Bool => "bool", Int => "int", Float => "float",
    ListDict => "list_dict",
});

impl FieldType {
    /// What a value of it is, as a person says it.
    fn words(self) -> &'static str {
        match self {
            Self::StringShort | Self::StringLong | Self::StringMultiline => "a text",
            Self::Bool => "true or false",
            Self::Int => "a whole number",
            Self::Float => "a number",
            Self::ListDict => "a list of entries",
        }
    }

    /// Whether the value is a text.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(
            self,
            Self::StringShort | Self::StringLong | Self::StringMultiline
        )
    }
}

/// A declared key.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: FieldType,
    /// Its value where nobody chose one; null only within `elements`.
    pub default: Value,
    /// What it belongs to.
    pub group: Option<String>,
    /// What it does, in the agent's words.
    pub description: Option<String>,
    /// Its place among the others.
    pub order: Option<f64>,
    /// What an empty field shows.
    pub placeholder: Option<String>,
    /// How important it is, in the agent's word.
    pub importance: Option<Value>,
    /// What the objects of a list hold.
    pub elements: Vec<Field>,
}

/// What an agent declares, in its order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SetupSchema(pub Vec<Field>);

/// Reads a list of fields, or a map of them by name.
///
/// # Errors
/// What is wrong, each with its path.
pub fn read_schema(value: &Value) -> Result<SetupSchema, Vec<Problem>> {
    let mut reader = Reader::default();
    let fields = reader.fields(value, false);
    if reader.problems.is_empty() {
        Ok(SetupSchema(fields))
    } else {
        Err(reader.problems)
    }
}

#[derive(Default)]
struct Reader {
    path: Vec<String>,
    problems: Vec<Problem>,
}

const KEYS: [&str; 9] = [
    "bs_name",
    "bs_type",
    "bs_default",
    "bs_group",
    "bs_description",
    "bs_order",
    "bs_placeholder",
    "bs_importance",
    "bs_elements",
];

impl Reader {
    fn bad(&mut self, part: &str, message: impl Into<String>) {
        let mut path = self.path.clone();
        if !part.is_empty() {
            path.push(part.to_owned());
        }
        if self.problems.len() < 20 {
            self.problems.push(Problem {
                path,
                message: message.into(),
            });
        }
    }

    fn fields(&mut self, value: &Value, inner: bool) -> Vec<Field> {
        let entries: Vec<(String, Option<&str>, &Value)> = match value {
            Value::Array(list) if list.len() <= FIELDS_MAX => list
                .iter()
                .enumerate()
                .map(|(place, field)| (place.to_string(), None, field))
                .collect(),
            Value::Object(map) if map.len() <= FIELDS_MAX => map
                .iter()
                .map(|(name, field)| (name.clone(), Some(name.as_str()), field))
                .collect(),
            _ => {
                self.bad(
                    "",
                    format!("must be a list or a map of at most {FIELDS_MAX} fields"),
                );
                return Vec::new();
            }
        };
        let (mut fields, mut names) = (Vec::new(), BTreeSet::new());
        for (part, name, value) in entries {
            self.path.push(part);
            if let Some(field) = self.field(name, value, inner) {
                if !names.insert(field.name.clone()) {
                    self.bad("bs_name", "another field has this name");
                }
                fields.push(field);
            }
            self.path.pop();
        }
        fields
    }

    fn field(&mut self, name: Option<&str>, value: &Value, inner: bool) -> Option<Field> {
        let Some(map) = value.as_object() else {
            self.bad("", "must be an object");
            return None;
        };
        let before = self.problems.len();
        for key in map.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            self.bad(key, "is not known here");
        }
        let named = map.get("bs_name").and_then(Value::as_str).or(name);
        if name.is_some() && named != name {
            self.bad("bs_name", "differs from its key");
        }
        let named = named.filter(|name| is_name(name));
        if named.is_none() {
            self.bad(
                "bs_name",
                "must be 2 to 40 letters, digits and _, a letter first",
            );
        }
        let kind = map
            .get("bs_type")
            .and_then(Value::as_str)
            .and_then(FieldType::from_word);
        if kind.is_none() {
            self.bad("bs_type", "must be string_short, string_long, string_multiline, bool, int, float or list_dict");
        }
        let text = |reader: &mut Self, key: &str| match map.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                reader.bad(key, "must be a text");
                None
            }
        };
        // Flexus' maps have no groups.
        let no_group = (name.is_some() && !inner).then(|| "General".to_owned());
        let group = text(self, "bs_group").or(no_group);
        if group.is_none() && !inner && !map.contains_key("bs_group") {
            self.bad("bs_group", "is missing");
        }
        let order = map.get("bs_order").filter(|order| !order.is_null());
        if order.is_some_and(|order| !order.is_number()) {
            self.bad("bs_order", "must be a number");
        }
        let elements = match (map.get("bs_elements").filter(|of| !of.is_null()), kind) {
            (None, _) => Vec::new(),
            (Some(_), kind) if kind != Some(FieldType::ListDict) => {
                self.bad("bs_elements", "is only known with list_dict");
                Vec::new()
            }
            (Some(_), _) if inner => {
                self.bad("bs_elements", "a list within a list is not known");
                Vec::new()
            }
            (Some(elements), _) => {
                self.path.push("bs_elements".to_owned());
                let fields = self.fields(elements, true);
                self.path.pop();
                fields
            }
        };
        let field = Field {
            name: named.unwrap_or_default().to_owned(),
            kind: kind.unwrap_or(FieldType::StringShort),
            default: map.get("bs_default").cloned().unwrap_or_default(),
            group,
            description: text(self, "bs_description"),
            order: order.and_then(Value::as_f64),
            placeholder: text(self, "bs_placeholder"),
            importance: map.get("bs_importance").cloned(),
            elements,
        };
        match map.get("bs_default") {
            None if inner => {}
            None => self.bad("bs_default", "is missing"),
            Some(default) if kind.is_some() => {
                if let Err(why) = cast(&field, default)
                    && !(inner && default.is_null())
                {
                    self.bad("bs_default", why);
                }
            }
            Some(_) => {}
        }
        (self.problems.len() == before).then_some(field)
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic());
    first && (2..=40).contains(&name.len()) && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A value as its field's type. A number may change between whole and not; nothing becomes a bool.
pub fn cast(field: &Field, value: &Value) -> Result<Value, String> {
    let wrong = || Err(format!("must be {}", field.kind.words()));
    if !is_kept(value) {
        return Err("holds a whole number that is too large (9007199254740991 is the most)".into());
    }
    match (field.kind, value) {
        (kind, Value::String(_)) if kind.is_text() => Ok(value.clone()),
        (FieldType::Bool, Value::Bool(_)) => Ok(value.clone()),
        (FieldType::Float, Value::Number(_)) => Ok(value.clone()),
        (FieldType::Int, Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Ok(whole.into()),
            (None, Some(number)) => whole(number).map_or_else(wrong, |whole| Ok(whole.into())),
            _ => wrong(),
        },
        (FieldType::ListDict, Value::Array(list)) => {
            let items: Result<Vec<Value>, String> = list
                .iter()
                .enumerate()
                .map(|(place, item)| element(field, place, item))
                .collect();
            items.map(Value::Array)
        }
        _ => wrong(),
    }
}

/// Whether canonical JSON, in which every number is a double, keeps the value as it is.
fn is_kept(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_f64()
            .is_some_and(|number| number.fract() != 0.0 || whole(number).is_some()),
        Value::Array(list) => list.iter().all(is_kept),
        Value::Object(map) => map.values().all(is_kept),
        _ => true,
    }
}

/// What the items of a list hold and the field does not declare: [`cast`] leaves it out.
#[must_use]
pub fn left_out<'v>(field: &Field, value: &'v Value) -> BTreeSet<&'v str> {
    let declared = |name: &str| field.elements.iter().any(|of| of.name == name);
    let items = value.as_array().filter(|_| !field.elements.is_empty());
    let names = items.into_iter().flatten().filter_map(Value::as_object);
    names
        .flat_map(Map::keys)
        .map(String::as_str)
        .filter(|name| !declared(name))
        .collect()
}

fn element(field: &Field, place: usize, item: &Value) -> Result<Value, String> {
    let Some(map) = item.as_object() else {
        return Err(format!("item {place} must be an object"));
    };
    if field.elements.is_empty() {
        return Ok(item.clone());
    }
    let mut kept = Map::new();
    for of in &field.elements {
        let Some(value) = map.get(&of.name).filter(|value| !value.is_null()) else {
            kept.insert(of.name.clone(), of.default.clone());
            continue;
        };
        let cast = cast(of, value).map_err(|why| format!("item {place}, {}: {why}", of.name))?;
        kept.insert(of.name.clone(), cast);
    }
    Ok(Value::Object(kept))
}

impl SetupSchema {
    /// The field of a key.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.0.iter().find(|field| field.name == key)
    }

    /// Every declared key with its value: the chosen one unless it is null or does not fit any more, else
    /// the default. Also the chosen keys that nobody declares.
    #[must_use]
    pub fn merge(&self, chosen: &Map<String, Value>) -> (Map<String, Value>, Vec<String>) {
        let mut values = Map::new();
        for field in &self.0 {
            let default = || cast(field, &field.default).unwrap_or(Value::Null);
            let value = chosen.get(&field.name).filter(|value| !value.is_null());
            let value = value
                .and_then(|value| cast(field, value).ok())
                .unwrap_or_else(default);
            values.insert(field.name.clone(), value);
        }
        let dropped = chosen
            .keys()
            .filter(|key| self.field(key).is_none())
            .cloned()
            .collect();
        (values, dropped)
    }
}

#[cfg(test)]
mod tests;
