//! The server's tools, as it lists them to the proxy itself.
//!
//! Refuses to believe what a tool says about its danger: hints are shown as effects and change nothing else.

use std::collections::HashMap;

use countersign_sdk::{HelloTool, Which};
use countersign_wire::Effects;
use serde_json::{Map, Number, Value};

use crate::answer;
use crate::id::Id;
use bytes::Bytes;

/// More are not kept: calls of the others have cards without a schema.
const MOST_TOOLS: usize = 10_000;
const MOST_PAGES: u32 = 1_000;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tool {
    pub(crate) description: Option<String>,
    pub(crate) args_schema: Option<Value>,
    pub(crate) effects: Option<Effects>,
    /// Its results have a schema, so that a person's text is none of them.
    pub(crate) typed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Tools {
    tools: HashMap<String, Tool>,
    /// The names in the server's order.
    order: Vec<String>,
    /// Every page of a list was read, or the server has none.
    known: bool,
    listing: Option<Listing>,
    envelope: Map<String, Value>,
}

#[derive(Debug)]
struct Listing {
    id: Id,
    pages: u32,
    /// Another change was reported while it was read.
    again: bool,
    found: Vec<(String, Tool)>,
}

/// What became of an answer to the proxy's own question.
#[derive(Debug, PartialEq)]
pub(crate) enum Page {
    /// Ask on.
    More(Bytes),
    /// The list is whole.
    Whole,
}

impl Tools {
    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// Whether nobody asked for the tools yet.
    pub(crate) fn never_asked(&self) -> bool {
        !self.known && self.listing.is_none()
    }

    /// The message that asks for them; none while one is under way, which is then followed by another.
    pub(crate) fn list(&mut self, envelope: Option<Map<String, Value>>) -> Option<Bytes> {
        if let Some(envelope) = envelope {
            self.envelope = envelope;
        }
        if let Some(listing) = &mut self.listing {
            listing.again = true;
            return None;
        }
        let id = Id::Text(format!("countersign-{}", uuid::Uuid::new_v4()));
        let message = answer::list_tools(&id, None, &self.envelope);
        self.listing = Some(Listing {
            id,
            pages: 0,
            again: false,
            found: Vec::new(),
        });
        Some(message)
    }

    /// Whether the answer of this id is for the proxy alone.
    pub(crate) fn awaits(&self, id: &Id) -> bool {
        self.listing
            .as_ref()
            .is_some_and(|listing| listing.id == *id)
    }

    /// Takes the answer that [`awaits`](Self::awaits) names; none for an error.
    pub(crate) fn page(&mut self, result: Option<&Value>) -> Page {
        let Some(mut listing) = self.listing.take() else {
            return Page::Whole;
        };
        let tools = result.and_then(|result| result.get("tools")?.as_array());
        let room = MOST_TOOLS - listing.found.len().min(MOST_TOOLS);
        let tools = tools.into_iter().flatten().filter_map(read).take(room);
        listing.found.extend(tools);
        listing.pages += 1;
        let next = result.and_then(|result| result.get("nextCursor")?.as_str());
        if let Some(cursor) = next
            && listing.pages < MOST_PAGES
        {
            let message = answer::list_tools(&listing.id, Some(cursor), &self.envelope);
            self.listing = Some(listing);
            return Page::More(message);
        }
        self.known = true;
        self.order = listing.found.iter().map(|(name, _)| name.clone()).collect();
        self.tools = listing.found.into_iter().collect();
        match listing.again.then(|| self.list(None)).flatten() {
            Some(message) => Page::More(message),
            None => Page::Whole,
        }
    }

    /// For hello.
    pub(crate) fn hello(&self, which: &Which) -> Vec<HelloTool> {
        let tools = self
            .order
            .iter()
            .filter_map(|name| Some((name, self.get(name)?)));
        tools
            .map(|(name, tool)| HelloTool {
                name: name.clone(),
                description: tool.description.clone(),
                args_schema: tool.args_schema.clone(),
                risk: Some(which.risk(name).as_str().to_owned()),
                strict: None,
                origin: Some("mcp".to_owned()),
                gated: None,
            })
            .collect()
    }
}

fn read(tool: &Value) -> Option<(String, Tool)> {
    let text = |name: &str| tool.get(name)?.as_str().map(str::to_owned);
    let hint = |name: &str| tool.get("annotations")?.get(name)?.as_bool();
    let effects = match (hint("readOnlyHint"), hint("destructiveHint")) {
        (Some(true), _) => Some(Effects::Read),
        (Some(false), Some(true)) => Some(Effects::Irreversible),
        (Some(false), _) => Some(Effects::Write),
        (None, Some(true)) => Some(Effects::Irreversible),
        (None, _) => None,
    };
    let described = Tool {
        description: text("description"),
        args_schema: tool.get("inputSchema").cloned().map(without_large_integers),
        effects,
        typed: tool
            .get("outputSchema")
            .is_some_and(|schema| !schema.is_null()),
    };
    Some((text("name")?, described))
}

/// Bounds such as a 64-bit integer's have no canonical form; as floating point they have.
fn without_large_integers(mut value: Value) -> Value {
    match &mut value {
        Value::Number(number) => {
            let exact = number.as_f64().filter(|_| !number.is_f64());
            let large = exact.filter(|value| value.abs() > 9_007_199_254_740_991.0);
            if let Some(float) = large.and_then(Number::from_f64) {
                *number = float;
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = without_large_integers(item.take());
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                *field = without_large_integers(field.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hints_are_effects_and_what_destroys_is_irreversible_unless_it_only_reads() {
        let (read_only, destroys) = ("readOnlyHint", "destructiveHint");
        for (hints, effects) in [
            (json!({destroys: true}), Some(Effects::Irreversible)),
            (
                json!({read_only: false, destroys: true}),
                Some(Effects::Irreversible),
            ),
            (
                json!({read_only: null, destroys: true}),
                Some(Effects::Irreversible),
            ),
            (
                json!({read_only: true, destroys: true}),
                Some(Effects::Read),
            ),
            (json!({read_only: false}), Some(Effects::Write)),
            (json!({destroys: false}), None),
            (json!({destroys: "true"}), None),
            (json!({}), None),
        ] {
            let tool = json!({"name": "a", "annotations": hints});
            let found = read(&tool).map(|(_, tool)| tool.effects);
            assert_eq!(found, Some(effects), "{tool}");
        }
    }
}
