//! The call tree as nested JSON.

use std::collections::HashMap;

use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::{Entry, SpanRow};
use countersign_core::domain::trace::Subchat;
use countersign_wire::json_value;
use serde_json::{Map, Value, json};

use super::super::output::plain;
use super::gate;
use countersign_view::secrets::hiding;

/// Fields of a span that people read: escaped.
const READ: [&str; 5] = ["run_id", "thread_id", "tool_name", "args_digest", "error"];
/// Fields of a span that programs read: exactly as the agent wrote them, but for secrets.
const EXACT: [&str; 5] = ["input", "output", "artifacts", "attributes", "usage"];
/// Figures of `usage` that are summed up the tree.
const SUMMED: [&str; 5] = [
    "tokens_charged",
    "execution_time_ms",
    "input_tokens",
    "output_tokens",
    "cost_usd",
];

/// What was used, in the order of [`SUMMED`].
type Used = [f64; SUMMED.len()];

/// An entry whose children are being gathered.
struct Open {
    fields: Map<String, Value>,
    /// Last child first.
    children: Vec<Value>,
    /// What the entry and its children so far used.
    used: Used,
}

/// The roots with everything below them; no deeper than the tree, which has a limit.
pub(super) fn nested(
    entries: &[Entry],
    bodies: &HashMap<i64, Vec<u8>>,
    subchats: &[Subchat],
) -> Vec<Value> {
    let both = entries.iter().zip(subchats);
    let mut built: Vec<Open> = both
        .map(|(entry, subchat)| open(entry, bodies, *subchat))
        .collect();
    let mut roots = Vec::new();
    // From the last to the first: all that lies below an entry comes after it.
    while let Some(mut done) = built.pop() {
        done.children.reverse();
        let children = Value::Array(done.children);
        done.fields
            .insert("usage_total".to_owned(), sums(done.used));
        done.fields.insert("children".to_owned(), children);
        let shown = Value::Object(done.fields);
        let parent = entries
            .get(built.len())
            .and_then(|entry| entry.place.parent)
            .and_then(|parent| built.get_mut(parent));
        match parent {
            Some(parent) => {
                for (sum, more) in parent.used.iter_mut().zip(done.used) {
                    *sum += more;
                }
                parent.children.push(shown);
            }
            None => roots.push(shown),
        }
    }
    roots.reverse();
    roots
}

fn open(entry: &Entry, bodies: &HashMap<i64, Vec<u8>>, subchat: Subchat) -> Open {
    let mut fields = Map::new();
    let mut used: Used = Used::default();
    match (&entry.span, &entry.gate) {
        (Some(span), _) => {
            span_fields(span, &mut fields);
            fields.insert("subchat".to_owned(), json!(subchat.is_one));
            let body: Option<Value> = bodies.get(&span.id).and_then(|body| json_value(body));
            let reported = |name: &str| {
                let reported = body.as_ref().and_then(|body| body.get(name));
                reported
                    .map(|value| hiding().field(name, value))
                    .unwrap_or_default()
            };
            for name in READ {
                fields.insert(name.to_owned(), escaped(reported(name)));
            }
            for name in EXACT {
                fields.insert(name.to_owned(), reported(name));
            }
            let usage = body.as_ref().and_then(|body| body.get("usage"));
            for (sum, name) in used.iter_mut().zip(SUMMED) {
                let figure = usage.and_then(|usage| usage.get(name)?.as_f64());
                *sum = figure.filter(|figure| figure.is_finite()).unwrap_or(0.0);
            }
        }
        (None, Some(gate)) => {
            fields.insert("kind".to_owned(), json!("request"));
            fields.insert("name".to_owned(), json!(gate.tool.as_deref().map(plain)));
            fields.insert("workspace".to_owned(), json!(gate.ws));
            fields.insert("agent".to_owned(), json!(gate.agent));
        }
        (None, None) => {}
    }
    fields.insert("request".to_owned(), json!(gate(entry)));
    let repairs: Vec<&str> = entry
        .place
        .repairs
        .iter()
        .map(|repair| repair.as_str())
        .collect();
    fields.insert("repairs".to_owned(), json!(repairs));
    Open {
        fields,
        children: Vec::new(),
        used,
    }
}

/// Every text in it, safe to show.
fn escaped(value: Value) -> Value {
    match value {
        Value::String(text) => plain(&text).into(),
        Value::Array(values) => values.into_iter().map(escaped).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (plain(&name), escaped(value)))
            .collect::<Map<String, Value>>()
            .into(),
        other => other,
    }
}

fn span_fields(span: &SpanRow, fields: &mut Map<String, Value>) {
    let escaped = |text: &Option<String>| json!(text.as_deref().map(plain));
    let time = |at: i64| Timestamp(at).rfc3339();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("kind", json!(span.kind));
    put("name", json!(plain(&span.name)));
    put("workspace", json!(span.ws));
    put("agent", json!(span.agent));
    put("span_id", json!(plain(&span.span_id)));
    put("parent_span_id", escaped(&span.parent_span_id));
    put("status", json!(span.status));
    put("started_at", json!(time(span.started_at)));
    put("ended_at", json!(span.ended_at.map(time)));
    let duration = span.ended_at.map(|end| (end - span.started_at).max(0));
    put("duration_ms", json!(duration));
    put("request_id", escaped(&span.request_id));
    put("call_id", escaped(&span.call_id));
}

fn sums(used: Used) -> Value {
    SUMMED
        .iter()
        .zip(used)
        .map(|(name, sum)| ((*name).to_owned(), json!(sum)))
        .collect::<Map<String, Value>>()
        .into()
}
