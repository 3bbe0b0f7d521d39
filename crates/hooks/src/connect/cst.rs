//! JSON texts that keep their bytes.

use std::collections::HashSet;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde::de::IgnoredAny;
use serde_json::Value;

/// The object of a file, `{}` where it is empty. Refuses a key that is there twice; comments only where the program
/// that reads the file takes them.
pub(super) fn root(text: &str, comments: bool) -> Result<(CstRootNode, CstObject), String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    if !comments {
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string())?;
    }
    let options = ParseOptions::default();
    let root = CstRootNode::parse(text, &options).map_err(|error| error.to_string())?;
    let object = root.object_value().ok_or("it is not a JSON object")?;
    no_key_twice(&object)?;
    Ok((root, object))
}

fn no_key_twice(object: &CstObject) -> Result<(), String> {
    let mut names = HashSet::new();
    for property in object.properties() {
        let name = property.decoded_name().unwrap_or_default();
        if !names.insert(name.clone()) {
            return Err(format!("the key {name:?} appears twice"));
        }
        property.value().iter().try_for_each(inside)?;
    }
    Ok(())
}

fn inside(node: &CstNode) -> Result<(), String> {
    match (node.as_object(), node.as_array()) {
        (Some(object), _) => no_key_twice(&object),
        (_, Some(array)) => array.elements().iter().try_for_each(inside),
        _ => Ok(()),
    }
}

/// A value to be put in.
pub(super) fn input(value: Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text),
        Value::Array(items) => CstInputValue::Array(items.into_iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name, input(value)))
                .collect(),
        ),
    }
}
