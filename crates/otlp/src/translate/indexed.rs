//! Messages that came as one attribute a field: `gen_ai.prompt.0.content`, `llm.input_messages.0.message.role`.

use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use serde_json::Value;
use serde_json::map::{Entry, Map};

use super::bounded::{Budget, cut};
use super::content::MOST;
use super::lookup::Attributes;

/// Of what a model was asked, in OpenLLMetry and in OpenInference.
pub(super) const ASKED: [&str; 2] = ["gen_ai.prompt.", "llm.input_messages."];
/// Of what it answered.
pub(super) const ANSWERED: [&str; 2] = ["gen_ai.completion.", "llm.output_messages."];

/// Steps of a path; what is deeper stays in the last one's name.
const STEPS: usize = 8;
/// Names that OpenInference puts around each entry of a list.
const AROUND: [&str; 3] = ["message", "message_content", "tool_call"];

/// Whether an attribute is a field of such a message.
pub(super) fn is_of_message(name: &str) -> bool {
    let mut prefixes = ASKED.iter().chain(&ANSWERED);
    prefixes.any(|prefix| path(name, prefix).is_some())
}

/// The messages in their order, and the names that carried them.
pub(super) fn messages<'a>(
    attributes: Attributes<'a>,
    prefixes: &[&str],
) -> Option<(Value, Vec<&'a str>)> {
    prefixes.iter().find_map(|prefix| {
        let (mut tree, mut used) = (Map::new(), Vec::new());
        for (name, value) in attributes.all() {
            // It is not part of a message and has its own place among the attributes.
            let Some(path) = path(name, prefix).filter(|path| !path.ends_with(".finish_reason"))
            else {
                continue;
            };
            let value = match value {
                Any::StringValue(text) => Some(Value::String(cut(text, MOST))),
                other => {
                    let value = Some(other.clone());
                    Budget::new(MOST).value(&AnyValue { value }, STEPS)
                }
            };
            if value.is_some_and(|value| put(&mut tree, path, value)) {
                used.push(name);
            }
        }
        (!tree.is_empty()).then(|| (listed(Value::Object(tree)), used))
    })
}

/// What follows the prefix, where that begins with a number.
fn path<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    let path = name.strip_prefix(prefix)?;
    let (number, _) = path.split_once('.')?;
    number.parse::<u32>().ok().map(|_| path)
}

/// False where something is there already.
fn put(tree: &mut Map<String, Value>, path: &str, value: Value) -> bool {
    let mut steps = path.splitn(STEPS, '.').peekable();
    let mut into = tree;
    while let Some(step) = steps.next() {
        let entry = into.entry(step);
        if steps.peek().is_none() {
            let Entry::Vacant(entry) = entry else {
                return false;
            };
            entry.insert(value);
            return true;
        }
        let inner = entry.or_insert_with(|| Map::new().into());
        let Value::Object(inner) = inner else {
            return false;
        };
        into = inner;
    }
    false
}

/// Lists for what is named by numbers, in the order of these; no deeper than [`STEPS`] and the values below.
fn listed(value: Value) -> Value {
    let Value::Object(mut fields) = value else {
        return value;
    };
    if fields.len() == 1
        && let Some(inner) = AROUND.iter().find_map(|name| fields.remove(*name))
    {
        return listed(inner);
    }
    let numbers: Option<Vec<u32>> = fields.keys().map(|name| name.parse().ok()).collect();
    let fields = fields
        .into_iter()
        .map(|(name, value)| (name, listed(value)));
    match numbers {
        Some(numbers) if !numbers.is_empty() => {
            let mut items: Vec<_> = numbers.into_iter().zip(fields).collect();
            items.sort_by_key(|(number, _)| *number);
            items.into_iter().map(|(_, (_, value))| value).collect()
        }
        _ => Value::Object(fields.collect()),
    }
}
