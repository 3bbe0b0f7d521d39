//! A form's JSON Schema as the page draws it: what can be filled in, with every text of the agent as [`Shown`].
//!
//! A schema that fields cannot show as it is meant is answered as JSON. The core checks every answer against the schema
//! itself, so what it allows is not repeated here.

mod field;

use std::borrow::Cow;

use crate::{FormFields, FormView};
use countersign_wire::{Shown, text_ascii_safe};
use serde_json::{Map, Value, json};

use super::hidden::{escape, escape_lines, json_shown};
use field::{Choice, Node, choices, hint, holds, is_exact, is_long};

/// Fields and choices of a form; nobody fills in more.
const PARTS: usize = 500;
/// Fields within fields.
const DEPTH: usize = 8;

/// Why a schema has no fields.
type Unfit = Cow<'static, str>;

/// A form: its fields, or why it is answered as JSON.
pub(super) fn form_view(schema: &Value) -> FormView {
    let mut reader = Reader {
        root: schema,
        texts: Vec::new(),
        left: PARTS,
    };
    let (fields, json_only) = match reader.field(schema, At::ROOT) {
        Ok(field) => {
            let initial = field.initial.unwrap_or_else(|| json!({}));
            let fields = FormFields {
                structure: text_ascii_safe(&field.structure.to_string()),
                initial: text_ascii_safe(&initial.to_string()),
                texts: reader.texts,
            };
            (Some(fields), None)
        }
        Err(why) => (None, Some(escape(&why))),
    };
    FormView {
        schema: json_shown(schema),
        fields,
        json_only,
    }
}

/// Where a field is.
#[derive(Clone, Copy)]
struct At<'s> {
    name: Option<&'s str>,
    /// The default that the object around it has for it.
    default: Option<&'s Value>,
    required: bool,
    in_list: bool,
    depth: usize,
}

impl At<'_> {
    const ROOT: Self = Self {
        name: None,
        default: None,
        required: true,
        in_list: false,
        depth: 0,
    };
}

/// A field as the page draws it, and what it begins with.
struct Field {
    structure: Value,
    initial: Option<Value>,
}

struct Reader<'s> {
    root: &'s Value,
    texts: Vec<Shown>,
    left: usize,
}

impl<'s> Reader<'s> {
    fn spend(&mut self, parts: usize) -> Result<(), Unfit> {
        let left = self.left.checked_sub(parts);
        self.left = left.ok_or(format!("it has more than {PARTS} fields and choices"))?;
        Ok(())
    }

    /// The place of a text. As a word: the form library takes titles for texts.
    fn text(&mut self, shown: Shown) -> Value {
        self.texts.push(shown);
        Value::from((self.texts.len() - 1).to_string())
    }

    fn field(&mut self, schema: &'s Value, at: At<'s>) -> Result<Field, Unfit> {
        self.spend(1)?;
        if at.depth > DEPTH {
            return Err("its fields nest too deep".into());
        }
        let node = Node::of(self.root, schema)?;
        let name = at.name.unwrap_or("an entry");
        if node.is_nullable() && at.required {
            return Err(format!("`{name}` may also be null").into());
        }
        let mut out = Map::new();
        let title = node.get("title").and_then(Value::as_str);
        if let Some(label) = title.or(at.name) {
            out.insert("title".to_owned(), self.text(escape(label)));
        }
        // A title may say something else than the name that is sent.
        if let (Some(title), Some(name)) = (title, at.name)
            && title != name
        {
            out.insert("name".to_owned(), self.text(escape(name)));
        }
        if let Some(text) = node.get("description").and_then(Value::as_str) {
            out.insert("description".to_owned(), self.text(escape_lines(text)));
        }
        if let Some(hint) = hint(&node) {
            out.insert("hint".to_owned(), self.text(escape(&hint)));
        }
        let default = at.default.or(node.get("default"));
        let default = default.filter(|value| !value.is_null());
        if let Some(choices) = choices(&node)? {
            out.insert("kind".to_owned(), json!("choice"));
            self.choose_from(&mut out, &choices)?;
            return Ok(self.leaf(out, default, at));
        }
        match node.kind()? {
            "object" => self.object(&node, out, default, at),
            "array" => self.list(&node, out, default, at),
            kind @ ("string" | "number" | "integer" | "boolean") => {
                out.insert("kind".to_owned(), json!(kind));
                if kind == "string" && is_long(&node, default) {
                    out.insert("long".to_owned(), json!(true));
                }
                Ok(self.leaf(out, default, at))
            }
            other => Err(format!("`{name}` is of type `{other}`").into()),
        }
    }

    fn choose_from(
        &mut self,
        out: &mut Map<String, Value>,
        choices: &[Choice<'_>],
    ) -> Result<(), Unfit> {
        self.spend(choices.len())?;
        let mut listed = Vec::new();
        for (title, value) in choices {
            if !is_exact(value) {
                return Err("a choice is a number that loses digits here".into());
            }
            let own = words(value);
            let label = self.text(title.map_or_else(|| own.clone(), escape));
            let mut choice = json!({"label": label, "value": value});
            // What is sent is seen, whatever it is called.
            if title.is_some_and(|title| value.as_str() != Some(title)) {
                choice["sends"] = self.text(own);
            }
            listed.push(choice);
        }
        out.insert("choices".to_owned(), listed.into());
        Ok(())
    }

    /// What is filled in as one. To the form library it is a text: the page draws it.
    fn leaf(&mut self, mut out: Map<String, Value>, default: Option<&Value>, at: At<'_>) -> Field {
        out.insert("type".to_owned(), json!("string"));
        let initial = self.suggest(&mut out, default, at);
        Field {
            structure: out.into(),
            initial,
        }
    }

    /// Notes the agent's default; what a field begins with, where it may stay empty.
    fn suggest(
        &mut self,
        out: &mut Map<String, Value>,
        default: Option<&Value>,
        at: At<'_>,
    ) -> Option<Value> {
        let default = default?;
        let shown = words(default);
        // Fields show what they hold as it is: nothing hidden gets into one.
        let seen = shown.marks() == 0 && shown.original() == Some(plain(default));
        let mut suggested = json!({ "text": self.text(shown) });
        let usable = seen && is_exact(default) && holds(out, default);
        let initial = usable.then(|| default.clone());
        if let Some(value) = &initial {
            suggested["value"] = value.clone();
        }
        out.insert("suggested".to_owned(), suggested);
        initial.filter(|_| !at.required && !at.in_list)
    }

    fn object(
        &mut self,
        node: &Node<'s>,
        mut out: Map<String, Value>,
        default: Option<&'s Value>,
        at: At<'s>,
    ) -> Result<Field, Unfit> {
        let properties = node.get("properties").and_then(Value::as_object);
        let properties = properties.filter(|map| !map.is_empty());
        let properties = properties.ok_or("it does not say which fields it has")?;
        if node
            .get("additionalProperties")
            .is_some_and(Value::is_object)
        {
            return Err("it has fields with names of their own".into());
        }
        let required: Vec<&str> = node.names("required");
        if let Some(name) = required
            .iter()
            .find(|name| !properties.contains_key(**name))
        {
            return Err(format!("it requires `{name}` and does not describe it").into());
        }
        let (mut fields, mut initial) = (Map::new(), Map::new());
        for (name, schema) in properties {
            if name.is_empty() || name.starts_with("__") {
                return Err(format!("a field has the name `{name}`").into());
            }
            let at = At {
                name: Some(name),
                default: default.and_then(|default| default.get(name)),
                required: required.contains(&name.as_str()),
                in_list: at.in_list,
                depth: at.depth + 1,
            };
            let field = self.field(schema, at)?;
            initial.extend(field.initial.map(|value| (name.clone(), value)));
            fields.insert(name.clone(), field.structure);
        }
        // An object that may stay away is not begun for its defaults: the rest of it would be required then.
        let begins = at.required || required.is_empty();
        out.insert("type".to_owned(), json!("object"));
        out.insert("properties".to_owned(), fields.into());
        out.insert("required".to_owned(), json!(required));
        Ok(Field {
            structure: out.into(),
            initial: Some(Value::from(initial)).filter(|of| begins && *of != json!({})),
        })
    }

    fn list(
        &mut self,
        node: &Node<'s>,
        mut out: Map<String, Value>,
        default: Option<&'s Value>,
        at: At<'s>,
    ) -> Result<Field, Unfit> {
        let items = node.get("items").filter(|items| items.is_object());
        let items = items.ok_or("it has a list that does not say what is in it")?;
        let of = Node::of(self.root, items)?;
        if node.get("uniqueItems") == Some(&json!(true))
            && let Some(choices) = choices(&of)?
        {
            out.insert("kind".to_owned(), json!("choices"));
            self.choose_from(&mut out, &choices)?;
            return Ok(self.leaf(out, default, at));
        }
        let entry = At {
            name: None,
            default: None,
            in_list: true,
            depth: at.depth + 1,
            ..At::ROOT
        };
        out.insert("items".to_owned(), self.field(items, entry)?.structure);
        out.insert("type".to_owned(), json!("array"));
        if let Some(most) = node.get("maxItems") {
            out.insert("maxItems".to_owned(), most.clone());
        }
        let initial = self.suggest(&mut out, default, at);
        Ok(Field {
            structure: out.into(),
            initial,
        })
    }
}

/// A value as a person reads it: a text as it is, anything else as JSON.
fn words(value: &Value) -> Shown {
    match value {
        Value::Object(_) => json_shown(value),
        Value::Array(items) if items.iter().any(is_container) => json_shown(value),
        other => escape_lines(&plain(other)),
    }
}

/// The same before it is escaped: on one line where there is nothing to indent.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.iter().any(is_container) => value.to_string(),
        other => format!("{other:#}"),
    }
}

fn is_container(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

#[cfg(test)]
mod tests;
