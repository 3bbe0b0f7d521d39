//! What nobody should send.

use opentelemetry_proto::tonic::common::v1::{ArrayValue, InstrumentationScope, KeyValueList};
use opentelemetry_proto::tonic::trace::v1::span::{Event as OtlpEvent, Link};
use opentelemetry_proto::tonic::trace::v1::{Span as OtlpSpan, Status};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message as _;

use super::*;

#[test]
fn a_span_without_usable_ids_or_times_is_refused_and_counted() {
    let bad = |change: fn(&mut OtlpSpan)| {
        let mut span = span(&[]);
        change(&mut span);
        span
    };
    for (span, why) in [
        (bad(|span| span.trace_id.clear()), Refusal::TraceId),
        (bad(|span| span.trace_id = vec![0; 16]), Refusal::TraceId),
        (bad(|span| span.trace_id = vec![1; 17]), Refusal::TraceId),
        (bad(|span| span.span_id = vec![0; 8]), Refusal::SpanId),
        (bad(|span| span.span_id = vec![7; 9]), Refusal::SpanId),
        (
            bad(|span| span.parent_span_id = vec![1; 3]),
            Refusal::ParentSpanId,
        ),
        (
            bad(|span| (span.start_time_unix_nano, span.end_time_unix_nano) = (0, 0)),
            Refusal::StartTime,
        ),
    ] {
        let good = super::span(&[]);
        let done = translate(&request("bot", vec![span, good]), &anybody());
        assert_eq!((done.refused, done.why), (1, Some(why)));
        assert_eq!(done.events.len(), 1);
    }
}

#[test]
fn more_spans_than_one_request_may_hold_are_counted_and_not_read() {
    let done = translate(&request("bot", vec![span(&[]); SPANS_MAX + 3]), &anybody());
    assert_eq!(done.events.len(), SPANS_MAX);
    assert_eq!((done.refused, done.why), (3, Some(Refusal::TooMany)));
}

#[test]
fn text_that_unfolds_without_end_stays_text() {
    let bomb = (0..10).fold("1".to_owned(), |inside, _| {
        let nested = format!("{}{inside}{}", "[".repeat(100), "]".repeat(100));
        serde_json::json!({ "$serde_json::private::RawValue": nested }).to_string()
    });
    let read = one(span(&[
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.call.arguments", &bomb),
    ]));
    assert_eq!(read.input.unwrap().value(), Some(bomb.into()));
}

#[test]
fn nobody_can_claim_a_request_an_approval_or_a_mark_of_ours() {
    let read = one(span(&[
        ("countersign.request.id", "r1"),
        ("countersign.sender", "token"),
        ("countersign.received_over", "nats"),
        ("request_id", "r1"),
        ("gen_ai.operation.name", "approval"),
        ("openinference.span.kind", "approval"),
        ("error.type", "denied"),
    ]));
    assert_eq!(read.request_id, None);
    assert_ne!(read.kind, countersign_wire::SpanKind::Approval);
    assert_eq!(read.status, Some(countersign_wire::SpanStatus::Error));
    let kept = attributes(&read);
    assert_eq!(kept["countersign.sender"], "unauthenticated");
    assert_eq!(kept["countersign.received_over"], "otlp");
    assert_eq!(kept["countersign.left_out"], 3);
    assert_eq!(kept.get("countersign.request.id"), None);
}

#[test]
fn a_clock_that_runs_backwards_is_told_as_it_is() {
    let read = one(OtlpSpan {
        end_time_unix_nano: 1,
        ..span(&[])
    });
    assert!(read.ended_at.unwrap() < read.started_at);
    one(OtlpSpan {
        start_time_unix_nano: u64::MAX,
        end_time_unix_nano: u64::MAX,
        ..span(&[])
    });
}

#[test]
fn a_span_of_any_size_fits_and_says_what_was_cut() {
    let huge = "\u{1}\"x".repeat(1 << 18);
    let mut given = span(&[
        ("gen_ai.tool.name", &huge),
        ("gen_ai.tool.call.id", &huge),
        ("gen_ai.tool.call.arguments", &huge),
        (
            "gen_ai.tool.call.result",
            &format!("[\"{}\"]", "é".repeat(1 << 18)),
        ),
        ("error.type", &huge),
        (&huge, "a long name"),
        ("a", &huge),
        ("b", &huge),
        ("last", "still here"),
    ]);
    given.name.clone_from(&huge);
    given.status = Some(Status {
        code: 2,
        message: huge.clone(),
    });
    given.events = vec![
        OtlpEvent {
            name: huge.clone(),
            attributes: vec![pair("x", text(&huge))],
            ..OtlpEvent::default()
        };
        500
    ];
    given.links = vec![
        Link {
            trace_id: vec![1; 16],
            span_id: vec![1; 8],
            attributes: vec![pair("x", text(&huge))],
            ..Link::default()
        };
        500
    ];
    let read = one(given);
    let kept = attributes(&read);
    assert!(
        kept["a"]
            .as_str()
            .unwrap()
            .starts_with("[truncated from 786432 bytes] ")
    );
    assert_eq!(kept["last"], "still here");
    assert_eq!(read.call_id, None);
    assert!(kept["countersign.left_out"].as_u64().unwrap() > 700);
    assert_eq!(kept["otel.events"].as_array().unwrap().len(), 128);
    let input = read.input.unwrap().value().unwrap();
    assert!(input.as_str().unwrap().starts_with("[truncated from "));
}

#[test]
fn nesting_is_cut_where_readers_would_refuse_it() {
    let mut deep = text("bottom");
    for level in 0..90 {
        let value = if level % 2 == 0 {
            Any::ArrayValue(ArrayValue { values: vec![deep] })
        } else {
            Any::KvlistValue(KeyValueList {
                values: vec![pair("k", deep)],
            })
        };
        deep = AnyValue { value: Some(value) };
    }
    let mut given = span(&[("gen_ai.tool.call.arguments", &"[".repeat(100_000))]);
    given.attributes.push(pair("deep", deep.clone()));
    given
        .attributes
        .push(pair("gen_ai.tool.call.result", deep.clone()));
    given.events = vec![OtlpEvent {
        name: "e".into(),
        attributes: vec![pair("deep", deep)],
        ..OtlpEvent::default()
    }];
    let read = one(given);
    assert!(read.attributes.unwrap().text().contains("nested too deep"));
    let json = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    one(span(&[("gen_ai.input.messages", &json)]));
}

fn any_value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        Just(None),
        any::<String>().prop_map(|text| Some(Any::StringValue(text))),
        prop_oneof![
            Just(r#"{"a":[1,{"b":1e400}],"a":null}"#),
            Just(r#"[{"role":"x","parts":[{"type":"text","content":"c"},7,{"type":5}]}]"#),
            Just("[\"\\ud800\"]"),
            Just("{"),
        ]
        .prop_map(|text| Some(Any::StringValue(text.to_owned()))),
        any::<bool>().prop_map(|word| Some(Any::BoolValue(word))),
        any::<i64>().prop_map(|number| Some(Any::IntValue(number))),
        any::<f64>().prop_map(|number| Some(Any::DoubleValue(number))),
        vec(any::<u8>(), 0..40).prop_map(|bytes| Some(Any::BytesValue(bytes))),
        any::<i32>().prop_map(|at| Some(Any::StringValueStrindex(at))),
    ]
    .prop_map(|value| AnyValue { value });
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(|values| Any::ArrayValue(ArrayValue { values })),
            vec(key_value(inner), 0..5)
                .prop_map(|values| Any::KvlistValue(KeyValueList { values })),
        ]
        .prop_map(|value| AnyValue { value: Some(value) })
    })
}

fn key_value(value: impl Strategy<Value = AnyValue>) -> impl Strategy<Value = KeyValue> {
    let key = prop_oneof![
        prop::sample::select(vec![
            "gen_ai.operation.name",
            "gen_ai.tool.name",
            "gen_ai.tool.call.id",
            "gen_ai.tool.call.arguments",
            "gen_ai.tool.call.result",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.cost",
            "gen_ai.conversation.id",
            "error.type",
            "http.status_code",
            "service.name",
            "countersign.sender",
            "openinference.span.kind",
            "gen_ai.prompt.0.content",
            "gen_ai.prompt.0.content.1.text",
            "llm.output_messages.7.message.content",
            "ai.operationId",
            "ai.response.text",
            "langfuse.observation.type",
            "langfuse.observation.usage_details",
            "logfire.msg",
            "events",
            "content",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    (key, prop::option::of(value)).prop_map(|(key, value)| KeyValue {
        key,
        value,
        ..KeyValue::default()
    })
}

fn bytes(length: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => vec(any::<u8>(), length),
        1 => vec(any::<u8>(), 0..20),
        1 => Just(vec![0; length]),
    ]
}

prop_compose! {
    fn any_event()(
        name in prop_oneof![
            Just("gen_ai.user.message".to_owned()),
            Just("gen_ai.client.inference.operation.details".to_owned()), Just("gen_ai.choice".to_owned()),
            Just("exception".to_owned()), any::<String>(),
        ],
        attributes in vec(key_value(any_value()), 0..4),
        time_unix_nano: u64,
    ) -> OtlpEvent {
        OtlpEvent { name, attributes, time_unix_nano, dropped_attributes_count: 0 }
    }
}

prop_compose! {
    fn any_span()(
        (trace_id, span_id, parent_span_id) in (bytes(16), bytes(8), bytes(8)),
        (name, trace_state, kind) in (any::<String>(), any::<String>(), any::<i32>()),
        (start_time_unix_nano, end_time_unix_nano) in (any::<u64>(), any::<u64>()),
        attributes in vec(key_value(any_value()), 0..8),
        events in vec(any_event(), 0..4),
        links in vec((bytes(16), bytes(8), vec(key_value(any_value()), 0..2)), 0..3),
        status in prop::option::of((any::<i32>(), any::<String>())),
    ) -> OtlpSpan {
        OtlpSpan {
            trace_id, span_id, parent_span_id, name, trace_state, kind, start_time_unix_nano, end_time_unix_nano,
            attributes, events,
            links: links.into_iter()
                .map(|(trace_id, span_id, attributes)| Link { trace_id, span_id, attributes, ..Link::default() })
                .collect(),
            status: status.map(|(code, message)| Status { code, message }),
            ..OtlpSpan::default()
        }
    }
}

prop_compose! {
    pub(crate) fn any_request()(
        groups in vec((
            prop::option::of(vec(key_value(any_value()), 0..3)),
            vec((any::<String>(), vec(any_span(), 0..4)), 0..3),
        ), 0..3),
    ) -> ExportTraceServiceRequest {
        let resource_spans = groups.into_iter().map(|(resource, scopes)| ResourceSpans {
            resource: resource.map(|attributes| Resource { attributes, ..Resource::default() }),
            scope_spans: scopes.into_iter().map(|(name, spans)| ScopeSpans {
                scope: Some(InstrumentationScope { name, ..InstrumentationScope::default() }),
                spans,
                ..ScopeSpans::default()
            }).collect(),
            ..ResourceSpans::default()
        }).collect();
        ExportTraceServiceRequest { resource_spans }
    }
}

proptest! {
    #[test]
    fn every_span_of_any_request_is_read_by_every_console_or_counted(request in any_request()) {
        let spans: usize = request.resource_spans.iter().flat_map(|group| &group.scope_spans)
            .map(|scope| scope.spans.len()).sum();
        for sender in [anybody(), Sender::Agent("a/b".parse().unwrap())] {
            let done = translate(&request, &sender);
            prop_assert_eq!(done.events.len() + done.refused, spans);
            prop_assert_eq!(done.refused > 0, done.why.is_some());
            for span in read(&done) {
                prop_assert_eq!(span.request_id.as_deref(), None);
                let kept = attributes(&span);
                prop_assert_eq!(kept["countersign.received_over"].as_str(), Some("otlp"));
            }
            prop_assert_eq!(translate(&request, &sender), done);
        }
    }

    #[test]
    fn no_bytes_make_the_translation_panic(noise in vec(any::<u8>(), 0..400)) {
        if let Ok(request) = ExportTraceServiceRequest::decode(noise.as_slice()) {
            read(&translate(&request, &anybody()));
        }
    }
}
