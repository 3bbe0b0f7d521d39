//! Everything a span says that has no field of its own: kept under `attributes`, with marks of where it came from.

use countersign_wire::{AgentKey, KeptJson};
use data_encoding::HEXLOWER;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind as OtlpKind;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use serde_json::{Map, Value, json};

use super::Sender;
use super::agent::agent_of_service;
use super::bounded::{Budget, cut};
use super::content::Content;
use super::lookup::{Attributes, DETAILS};

/// Bytes of JSON that are kept of a span's attributes, events and links, each.
const MOST: usize = 96 * 1024;
/// Events and links of a span that are kept.
const LISTED: usize = 128;
/// Names that only this console writes: a sender that used them could pass for somebody else.
const OURS: &str = "countersign.";

/// Attributes of the resource that are kept with each span; the others describe a machine.
const OF_RESOURCE: [&str; 7] = [
    "service.name",
    "service.namespace",
    "service.version",
    "service.instance.id",
    "telemetry.sdk.language",
    "telemetry.sdk.name",
    "telemetry.sdk.version",
];

/// Whose the spans of a resource are.
pub(super) struct Origin<'a> {
    pub(super) agent: AgentKey,
    sender: &'a Sender,
}

impl<'a> Origin<'a> {
    pub(super) fn of(group: &ResourceSpans, sender: &'a Sender) -> Option<Self> {
        let agent = match sender {
            Sender::Agent(agent) => agent.clone(),
            Sender::Anybody(workspace) => {
                let attributes = group.resource.as_ref().map(|known| &*known.attributes);
                let service = Attributes::of(attributes.unwrap_or_default()).text("service.name");
                AgentKey {
                    workspace: workspace.clone(),
                    agent: agent_of_service(service)?,
                }
            }
        };
        Some(Self { agent, sender })
    }
}

/// The place of a span in its request.
pub(super) struct Source<'a> {
    pub(super) origin: &'a Origin<'a>,
    pub(super) resource: Option<&'a Resource>,
    pub(super) scope: Option<&'a InstrumentationScope>,
}

/// The attributes of an event.
pub(super) fn of_span(span: &Span, source: &Source<'_>, content: &Content<'_>) -> Option<KeptJson> {
    let mut budget = Budget::new(MOST);
    let mut kept = Map::new();
    for pair in &span.attributes {
        if pair.key.starts_with(OURS) {
            budget.left_out += 1;
        } else if !content.used.contains(pair.key.as_str()) {
            budget.put(&mut kept, &pair.key, pair.value.as_ref(), 3);
        }
    }
    let resource = source.resource.map(|known| &*known.attributes);
    for pair in resource.unwrap_or_default() {
        if OF_RESOURCE.contains(&pair.key.as_str()) && !kept.contains_key(&pair.key) {
            let value: Option<&AnyValue> = pair.value.as_ref();
            budget.put(&mut kept, &pair.key, value, 3);
        }
    }
    let mut put = |name: &str, value: Value| kept.insert(name.to_owned(), value);
    let events = events(span, content, &mut budget.left_out);
    if !events.is_empty() {
        put("otel.events", Value::Array(events));
    }
    let links = links(span, &mut budget.left_out);
    if !links.is_empty() {
        put("otel.links", Value::Array(links));
    }
    if let Some(scope) = source.scope {
        for (name, text) in [
            ("otel.scope.name", &scope.name),
            ("otel.scope.version", &scope.version),
        ] {
            if !text.is_empty() {
                put(name, json!(cut(text, 256)));
            }
        }
    }
    if let Some(kind) = side(span.kind) {
        put("otel.span.kind", json!(kind));
    }
    for (name, count) in [
        (
            "otel.dropped_attributes_count",
            span.dropped_attributes_count,
        ),
        ("otel.dropped_events_count", span.dropped_events_count),
        ("otel.dropped_links_count", span.dropped_links_count),
    ] {
        if count > 0 {
            put(name, json!(count));
        }
    }
    let sender = match source.origin.sender {
        Sender::Anybody(_) => "unauthenticated",
        Sender::Agent(_) => "token",
    };
    put("countersign.received_over", json!("otlp"));
    put("countersign.sender", json!(sender));
    if budget.left_out > 0 {
        put("countersign.left_out", json!(budget.left_out));
    }
    KeptJson::of(&kept).ok()
}

/// Events other than messages.
fn events(span: &Span, content: &Content<'_>, left_out: &mut u64) -> Vec<Value> {
    let others = span.events.iter().filter(|event| {
        !(content.from_events && event.name.starts_with("gen_ai.")) || event.name == DETAILS
    });
    let mut budget = Budget::new(MOST);
    let mut kept = Vec::new();
    for event in others {
        let spent = kept.len() >= LISTED;
        let list = (!spent).then(|| budget.pairs(&event.attributes, 5));
        match list {
            Some(attributes) => kept.push(json!({
                "name": cut(&event.name, 256),
                "time_unix_nano": event.time_unix_nano.to_string(),
                "attributes": attributes,
            })),
            None => *left_out += 1,
        }
    }
    *left_out += budget.left_out;
    kept
}

fn links(span: &Span, left_out: &mut u64) -> Vec<Value> {
    let mut budget = Budget::new(MOST);
    let mut kept = Vec::new();
    for link in &span.links {
        let usable = link.trace_id.len() == 16 && link.span_id.len() == 8;
        if !usable || kept.len() >= LISTED {
            *left_out += 1;
            continue;
        }
        kept.push(json!({
            "trace_id": HEXLOWER.encode(&link.trace_id),
            "span_id": HEXLOWER.encode(&link.span_id),
            "attributes": budget.pairs(&link.attributes, 5),
        }));
    }
    *left_out += budget.left_out;
    kept
}

/// Which side of a call the span describes; `internal` says nothing.
fn side(kind: i32) -> Option<&'static str> {
    match OtlpKind::try_from(kind).ok()? {
        OtlpKind::Server => Some("server"),
        OtlpKind::Client => Some("client"),
        OtlpKind::Producer => Some("producer"),
        OtlpKind::Consumer => Some("consumer"),
        OtlpKind::Unspecified | OtlpKind::Internal => None,
    }
}
