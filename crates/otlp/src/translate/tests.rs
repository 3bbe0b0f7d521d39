#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod conventions;
mod corpus;
mod frameworks;
pub(crate) mod hostile;

use countersign_wire::{Span, event_subject, parse_span};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;
use serde_json::Value;

use super::*;

const START: u64 = 1_800_000_000_000_000_000;

fn text(text: &str) -> AnyValue {
    AnyValue {
        value: Some(Any::StringValue(text.to_owned())),
    }
}

fn pair(key: &str, value: AnyValue) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(value),
        ..KeyValue::default()
    }
}

/// A span of one second with these texts as attributes.
fn span(attributes: &[(&str, &str)]) -> OtlpSpan {
    OtlpSpan {
        trace_id: vec![0xab; 16],
        span_id: vec![0xcd; 8],
        name: "a span".into(),
        start_time_unix_nano: START,
        end_time_unix_nano: START + 1_000_000_000,
        attributes: attributes
            .iter()
            .map(|(key, value)| pair(key, text(value)))
            .collect(),
        ..OtlpSpan::default()
    }
}

fn request(service: &str, spans: Vec<OtlpSpan>) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![pair("service.name", text(service))],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

fn anybody() -> Sender {
    Sender::Anybody("default".parse().unwrap())
}

/// The events, each read as strictly as every console reads it.
fn read(done: &Translated) -> Vec<Span> {
    let events = done.events.iter();
    events
        .map(|event| {
            let read = parse_span(&event_subject(&event.agent), &event.payload).unwrap();
            for id in [&read.parent_span_id, &read.call_id, &read.request_id] {
                assert!(id.as_ref().is_none_or(|id| id.len() <= 200));
            }
            read
        })
        .collect()
}

fn one(span: OtlpSpan) -> Span {
    let done = translate(&request("bot", vec![span]), &anybody());
    assert_eq!((done.refused, done.why), (0, None));
    read(&done).remove(0)
}

fn attributes(span: &Span) -> Value {
    span.attributes.as_ref().unwrap().value().unwrap()
}
