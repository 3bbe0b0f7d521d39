//! An event as it comes on standard input, read strictly: no text that the program itself might read otherwise.

use countersign_wire::{certain_fields, certain_value};
use serde_json::{Map, Value};

/// The largest event in bytes, with what a tool gave back; a request on the bus has a limit of its own.
pub const LARGEST: usize = 64 * 1024 * 1024;

/// What tools gave back, in which numbers may be of any size: nothing is decided by it.
const RESULTS: [&str; 7] = [
    "tool_response",
    "tool_output",
    "tool_result",
    "error",
    "toolResult",
    "result_json",
    "output",
];

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event(Map<String, Value>);

impl Event {
    /// Refuses what is not a JSON object, names a key twice, or is too large, with the reason.
    pub(crate) fn read(input: &[u8]) -> Result<Self, String> {
        if input.len() > LARGEST {
            return Err(format!("the event is larger than {LARGEST} bytes"));
        }
        certain_fields(input, &RESULTS)
            .map(Self)
            .map_err(|why| format!("the event cannot be read: {why}"))
    }

    /// A text; None where it is absent, empty or something else.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.0.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    }

    /// A text that must be there.
    pub(crate) fn needs(&self, name: &str) -> Result<&str, String> {
        self.text(name)
            .ok_or_else(|| format!("the event has no {name}"))
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// An object that must be there.
    pub(crate) fn object(&self, name: &str) -> Result<Value, String> {
        match self.0.get(name) {
            Some(value @ Value::Object(_)) => Ok(value.clone()),
            _ => Err(format!("the event has no object {name}")),
        }
    }

    /// An object, or a text that holds the JSON of one.
    pub(crate) fn object_or_text(&self, name: &str) -> Result<Value, String> {
        match self.0.get(name) {
            Some(Value::String(text)) => match certain_value(text.as_bytes()) {
                Some(value @ Value::Object(_)) => Ok(value),
                _ => Err(format!("{name} of the event is not a JSON object")),
            },
            _ => self.object(name),
        }
    }

    /// These fields, as far as they are there.
    pub(crate) fn some(&self, names: &[&str]) -> Map<String, Value> {
        let there = |name: &&str| Some(((*name).to_owned(), self.0.get(*name)?.clone()));
        names.iter().filter_map(there).collect()
    }
}
