//! One span whole.

use crate::{ArgEntry, NamedId, SpanView};
use countersign_domain::facts::WholeSpan;
use countersign_domain::trace::Used;
use countersign_wire::{Shown, escape, json_value};
use serde_json::Value;

use super::super::args::{hidden_for_good, walk};
use super::cut;
use super::fault::fault;
use super::lines::usage_view;
use super::parts::{artifacts, chain_calls, parts};

/// How the page names a span's bytes.
pub(crate) const SPAN: &str = "span:";

/// The span as its agent wrote it; `key` is the console's own, for the digests of hidden values.
pub fn span_view(span: &WholeSpan, key: &[u8; 32]) -> SpanView {
    let row = &span.row;
    let body = json_value(&span.body).unwrap_or_default();
    let field = |name: &str| body.get(name).unwrap_or(&Value::Null);
    let text = |name: &str| field(name).as_str().map(escape);
    let used = Used::of(|name| field("usage").get(name)?.as_f64());
    let (input, input_cut) = shown(field("input"), key);
    let (attributes, attributes_cut) = shown(field("attributes"), key);
    SpanView {
        key: format!("{SPAN}{}", row.id),
        name: text("name").unwrap_or_else(|| escape(&row.name)),
        agent: format!("{}/{}", row.ws, row.agent),
        status: row.status.clone(),
        tool: text("tool_name"),
        started_ms: row.started_at,
        ids: ids(span, &body),
        input,
        input_cut,
        output: parts(field("output"), key),
        artifacts: artifacts(field("artifacts")),
        fault: fault(field("error"), field("attributes")),
        chain: chain_calls(field("output"), field("attributes")),
        usage: (!used.is_none()).then(|| usage_view(&used)),
        attributes,
        attributes_cut,
    }
}

fn shown(value: &Value, key: &[u8; 32]) -> (Vec<ArgEntry>, bool) {
    if value.is_null() {
        return (Vec::new(), false);
    }
    cut::entries(hidden_for_good(walk(value, key)))
}

fn ids(span: &WholeSpan, body: &Value) -> Vec<NamedId> {
    let row = &span.row;
    let reported = |name: &str| body.get(name).and_then(Value::as_str).map(escape);
    let known: [(&str, Option<Shown>); 8] = [
        ("trace", Some(escape(&span.trace_id))),
        ("span", Some(escape(&row.span_id))),
        ("parent", row.parent_span_id.as_deref().map(escape)),
        ("run", reported("run_id")),
        ("thread", reported("thread_id")),
        ("call", row.call_id.as_deref().map(escape)),
        ("request", row.request_id.as_deref().map(escape)),
        ("arguments", reported("args_digest")),
    ];
    known
        .into_iter()
        .filter_map(|(name, id)| {
            Some(NamedId {
                name: name.to_owned(),
                id: id?,
            })
        })
        .collect()
}
