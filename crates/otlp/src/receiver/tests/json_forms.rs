//! What the JSON mapping of proto3 lets a sender write, and what it does not.

use countersign_wire::{Span as Event, event_subject, parse_span};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::decode::Body;
use super::super::json::read;
use crate::translate::tests::hostile::any_request;
use crate::translate::{Refusal, Sender, translate};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn span() -> Value {
    json!({
        "traceId": TRACE, "spanId": "00f067aa0ba902b7", "name": "pay", "kind": 3,
        "startTimeUnixNano": "1795600000000000000", "endTimeUnixNano": "1795600001000000000",
        "attributes": [{"key": "k", "value": {"stringValue": "v"}}],
        "events": [{"name": "retried", "timeUnixNano": "1795600000500000000", "attributes": []}],
        "links": [{"traceId": TRACE, "spanId": "00f067aa0ba902b8"}],
        "status": {"code": 0},
    })
}

fn batch(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "bot"}}]},
        "scopeSpans": [{"scope": {"name": "lib"}, "spans": spans}],
    }]})
}

/// The base span with these fields in the place of its own.
fn with(fields: Value) -> Value {
    let mut span = span();
    let Value::Object(fields) = fields else {
        panic!("no object")
    };
    span.as_object_mut().unwrap().extend(fields);
    span
}

fn with_value(value: Value) -> Value {
    with(json!({"attributes": [{"key": "k", "value": value}]}))
}

/// What becomes of a text: the events, how many spans are refused, and why the first of them is.
fn events(text: &str) -> (Vec<Event>, usize, Option<Refusal>) {
    let Body {
        request,
        refused,
        why,
    } = read(text.as_bytes()).unwrap();
    let done = translate(&request, &Sender::Anybody("default".parse().unwrap()));
    let read = |event: &crate::translate::Event| {
        parse_span(&event_subject(&event.agent), &event.payload).unwrap()
    };
    (
        done.events.iter().map(read).collect(),
        refused + done.refused,
        why.or(done.why),
    )
}

fn one(span: Value) -> Event {
    let (mut events, refused, why) = events(&batch(std::slice::from_ref(&span)).to_string());
    assert_eq!((events.len(), refused, why), (1, 0, None), "{span}");
    events.remove(0)
}

fn attributes(event: &Event) -> Value {
    event.attributes.as_ref().unwrap().value().unwrap()
}

#[test]
fn null_is_the_default_of_every_field_at_every_level() {
    for field in [
        "traceState",
        "parentSpanId",
        "flags",
        "name",
        "kind",
        "endTimeUnixNano",
        "attributes",
        "droppedAttributesCount",
        "events",
        "droppedEventsCount",
        "links",
        "droppedLinksCount",
        "status",
    ] {
        one(with(json!({ field: null })));
    }
    for fields in [
        json!({"status": {"code": null, "message": null}}),
        json!({"attributes": [{"key": null, "value": null}, {"key": "a"}, {}]}),
        json!({"events": [{"name": null, "timeUnixNano": null, "attributes": null, "droppedAttributesCount": null}]}),
        json!({"links": [{"traceId": TRACE, "spanId": "00f067aa0ba902b8", "traceState": null, "attributes": null}]}),
        json!({"links": [{"traceId": null, "spanId": null}]}),
    ] {
        one(with(fields));
    }
    for kind in [
        "stringValue",
        "boolValue",
        "intValue",
        "doubleValue",
        "bytesValue",
        "arrayValue",
        "kvlistValue",
    ] {
        let reported = attributes(&one(with_value(json!({ kind: null }))));
        assert_eq!(reported["k"], Value::Null, "{kind}");
    }
    for (value, expected) in [
        (json!({"arrayValue": {"values": null}}), json!([])),
        (json!({"kvlistValue": {"values": null}}), json!({})),
        (
            json!({"arrayValue": {"values": [null, {}]}}),
            json!([null, null]),
        ),
        (json!({"stringValue": "v", "intValue": null}), json!("v")),
    ] {
        assert_eq!(attributes(&one(with_value(value)))["k"], expected);
    }
    for (pointer, left) in [
        ("/resourceSpans/0/resource", 1),
        ("/resourceSpans/0/resource/attributes", 1),
        ("/resourceSpans/0/scopeSpans/0/scope", 1),
        ("/resourceSpans/0/scopeSpans/0/scope/name", 1),
        ("/resourceSpans/0/scopeSpans/0/spans", 0),
        ("/resourceSpans/0/scopeSpans", 0),
        ("/resourceSpans", 0),
    ] {
        let mut batch = batch(&[span()]);
        *batch.pointer_mut(pointer).unwrap() = Value::Null;
        let (events, refused, _) = events(&batch.to_string());
        assert_eq!((events.len(), refused), (left, 0), "{pointer}");
    }
}

#[test]
fn numbers_may_be_numbers_or_texts_of_any_notation() {
    for (value, expected) in [
        (json!({"doubleValue": "NaN"}), json!("NaN")),
        (json!({"doubleValue": "Infinity"}), json!("inf")),
        (json!({"doubleValue": "-Infinity"}), json!("-inf")),
        (json!({"doubleValue": "1.5"}), json!(1.5)),
        (json!({"doubleValue": "25e-1"}), json!(2.5)),
        (json!({"doubleValue": 2}), json!(2.0)),
        (json!({"doubleValue": -0.25}), json!(-0.25)),
        (json!({"intValue": "150"}), json!(150)),
        (json!({"intValue": 150}), json!(150)),
        (json!({"intValue": -7}), json!(-7)),
        (json!({"intValue": "1e2"}), json!(100)),
        (json!({"intValue": 1e2}), json!(100)),
        (json!({"intValue": 3.0}), json!(3)),
        (json!({"intValue": i64::MAX}), json!("9223372036854775807")),
        (
            json!({"intValue": "-9223372036854775808"}),
            json!("-9223372036854775808"),
        ),
        (json!({"boolValue": true}), json!(true)),
    ] {
        let reported = attributes(&one(with_value(value.clone())));
        assert_eq!(reported["k"], expected, "{value}");
    }
    for start in [
        json!("1795600000000000000"),
        json!(1_795_600_000_000_000_000_u64),
        json!(1.7956e18),
        json!("1.7956e18"),
    ] {
        let read = one(with(json!({"startTimeUnixNano": start})));
        assert_eq!(read.started_at.unix_millis(), 1_795_600_000_000, "{start}");
    }
    let reported = one(with(
        json!({"droppedAttributesCount": "4", "droppedLinksCount": 2.0, "flags": 257}),
    ));
    let reported = attributes(&reported);
    assert_eq!(reported["otel.dropped_attributes_count"], 4);
    assert_eq!(reported["otel.dropped_links_count"], 2);
}

#[test]
fn enumerations_may_be_words_or_numbers() {
    for (kind, side) in [
        (json!("SPAN_KIND_CLIENT"), json!("client")),
        (json!("SPAN_KIND_SERVER"), json!("server")),
        (json!("SPAN_KIND_INTERNAL"), Value::Null),
        (json!("SPAN_KIND_UNSPECIFIED"), Value::Null),
        (json!(5), json!("consumer")),
        (json!(77), Value::Null),
    ] {
        let reported = attributes(&one(with(json!({"kind": kind}))));
        assert_eq!(reported["otel.span.kind"], side, "{kind}");
    }
    for (code, status) in [
        (json!("STATUS_CODE_ERROR"), "error"),
        (json!("STATUS_CODE_OK"), "ok"),
        (json!("STATUS_CODE_UNSET"), "ok"),
        (json!(2), "error"),
        (json!(0), "ok"),
    ] {
        let read = one(with(json!({"status": {"code": code, "message": "m"}})));
        assert_eq!(json!(read.status), status, "{code}");
    }
}

#[test]
fn names_may_be_those_of_the_schema_and_unknown_ones_are_passed_over() {
    let snake = json!({"resource_spans": [{"resource": {"attributes": []}, "scope_spans": [{"spans": [{
        "trace_id": TRACE, "span_id": "00f067aa0ba902b7", "parent_span_id": "00f067aa0ba902b6", "name": "x",
        "start_time_unix_nano": "1795600000000000000", "end_time_unix_nano": 1_795_600_001_000_000_000_u64,
        "dropped_attributes_count": 3,
        "attributes": [
            {"key": "s", "value": {"string_value": "v"}}, {"key": "i", "value": {"int_value": "1"}},
            {"key": "b", "value": {"bool_value": true}}, {"key": "d", "value": {"double_value": 0.5}},
            {"key": "y", "value": {"bytes_value": "AQI="}},
            {"key": "a", "value": {"array_value": {"values": [{"int_value": 2}]}}},
            {"key": "o", "value": {"kvlist_value": {"values": [{"key": "n", "value": {"string_value": "w"}}]}}},
        ],
    }]}]}]});
    let (read, refused, _) = events(&snake.to_string());
    assert_eq!((read.len(), refused), (1, 0));
    assert_eq!(read[0].parent_span_id.as_deref(), Some("00f067aa0ba902b6"));
    let reported = attributes(&read[0]);
    for (name, value) in [
        ("s", json!("v")),
        ("i", json!(1)),
        ("b", json!(true)),
        ("d", json!(0.5)),
        ("y", json!("AQI=")),
        ("a", json!([2])),
        ("o", json!({"n": "w"})),
        ("otel.dropped_attributes_count", json!(3)),
    ] {
        assert_eq!(reported[name], value, "{name}");
    }
    let unknown = json!({"a": [1, {"$serde_json": null}]});
    for pointer in [
        "",
        "/resourceSpans/0",
        "/resourceSpans/0/resource",
        "/resourceSpans/0/scopeSpans/0",
        "/resourceSpans/0/scopeSpans/0/scope",
        "/resourceSpans/0/scopeSpans/0/spans/0",
        "/resourceSpans/0/scopeSpans/0/spans/0/attributes/0",
        "/resourceSpans/0/scopeSpans/0/spans/0/attributes/0/value",
        "/resourceSpans/0/scopeSpans/0/spans/0/events/0",
        "/resourceSpans/0/scopeSpans/0/spans/0/links/0",
        "/resourceSpans/0/scopeSpans/0/spans/0/status",
    ] {
        let mut batch = batch(&[span()]);
        batch.pointer_mut(pointer).unwrap()["futureField"] = unknown.clone();
        let (read, refused, _) = events(&batch.to_string());
        assert_eq!((read.len(), refused), (1, 0), "{pointer}");
        assert_eq!(attributes(&read[0])["k"], "v", "{pointer}");
    }
    // What OTLP wrote before 0.15, and some senders still do.
    let old = json!({"resourceSpans": [{"instrumentationLibrarySpans": [
        {"instrumentationLibrary": {"name": "old"}, "spans": [span()]},
    ]}]});
    let (read, ..) = events(&old.to_string());
    assert_eq!(attributes(&read[0])["otel.scope.name"], "old");
}

#[test]
fn ids_are_hexadecimal_of_either_case_and_bytes_are_base64_of_either_alphabet() {
    let upper = with(json!({"traceId": TRACE.to_uppercase(), "spanId": "00F067AA0BA902B7"}));
    assert_eq!(one(upper).trace_id, TRACE);
    for parent in [json!(""), json!("0000000000000000"), Value::Null] {
        let read = one(with(json!({"parentSpanId": parent})));
        assert_eq!(read.parent_span_id, None);
    }
    for text in ["-_8=", "-_8", "+/8=", "+/8"] {
        let reported = attributes(&one(with_value(json!({"bytesValue": text}))));
        assert_eq!(reported["k"], "+/8=", "{text}");
    }
    let body = format!("\u{feff}{}", batch(&[span()]));
    assert_eq!(events(&body).0.len(), 1);
    assert_eq!(events("{}").0.len(), 0);
}

#[test]
fn a_span_that_cannot_be_read_is_counted_and_the_others_are_taken() {
    let deep = (0..60).fold(
        json!({"intValue": 1}),
        |inner, _| json!({"arrayValue": {"values": [inner]}}),
    );
    let field = |name| Some(Refusal::Unreadable(name));
    for (bad, why) in [
        (
            with(json!({"traceId": "z".repeat(32)})),
            Some(Refusal::TraceId),
        ),
        (with(json!({"traceId": "abc123"})), Some(Refusal::TraceId)),
        (
            with(json!({"traceId": "CvdlGRbNQ92ESOshHIAxnA=="})),
            Some(Refusal::TraceId),
        ),
        (with(json!({"traceId": null})), Some(Refusal::TraceId)),
        (with(json!({"spanId": "span0001"})), Some(Refusal::SpanId)),
        (
            with(json!({"spanId": [0, 240, 103]})),
            Some(Refusal::SpanId),
        ),
        (
            with(json!({"parentSpanId": "zzzzzzzz"})),
            Some(Refusal::ParentSpanId),
        ),
        (
            with(json!({"startTimeUnixNano": null, "endTimeUnixNano": null})),
            Some(Refusal::StartTime),
        ),
        (
            with(json!({"startTimeUnixNano": "2026-11-25T09:00:00Z"})),
            field("startTimeUnixNano"),
        ),
        (
            with(json!({"endTimeUnixNano": -1})),
            field("endTimeUnixNano"),
        ),
        (with(json!({"name": 5})), field("name")),
        (with(json!({"kind": "CLIENT"})), field("kind")),
        (with(json!({"status": "ERROR"})), field("status")),
        (with(json!({"status": {"code": "FAILED"}})), field("code")),
        (with(json!({"attributes": {"k": "v"}})), field("attributes")),
        (with(json!({"attributes": ["k"]})), field("attributes")),
        (
            with(json!({"droppedEventsCount": 4_294_967_296_u64})),
            field("droppedEventsCount"),
        ),
        (with_value(json!("v")), field("value")),
        (
            with_value(json!({"intValue": "99999999999999999999"})),
            field("intValue"),
        ),
        (with_value(json!({"intValue": 1.5})), field("intValue")),
        (
            with_value(json!({"doubleValue": "much"})),
            field("doubleValue"),
        ),
        (with_value(json!({"boolValue": "true"})), field("boolValue")),
        (with_value(json!({"stringValue": 1})), field("stringValue")),
        (with_value(json!({"bytesValue": "*"})), field("bytesValue")),
        (with_value(deep), field("span")),
        (json!(5), field("span")),
        (Value::Null, Some(Refusal::TraceId)),
    ] {
        let (read, refused, reported) = events(&batch(&[bad.clone(), span()]).to_string());
        assert_eq!((read.len(), refused, reported), (1, 1, why), "{bad}");
    }
    let surrogate = batch(&[with(json!({"name": "HALF"})), span()]).to_string();
    let (read, refused, why) = events(&surrogate.replace("HALF", "a\\ud800b"));
    assert_eq!((read.len(), refused, why), (1, 1, field("span")));
    // Whose a span is has to be known.
    let mut two = batch(&[span(), span()]);
    let good = two["resourceSpans"][0].clone();
    two["resourceSpans"][0]["resource"] = json!({"attributes": "bot"});
    two["resourceSpans"].as_array_mut().unwrap().push(good);
    let (read, refused, why) = events(&two.to_string());
    assert_eq!((read.len(), refused, why), (2, 2, field("attributes")));
    // A link without ids costs the link only.
    let reported = one(with(
        json!({"links": [{"traceId": [10, 247], "spanId": "x"}]}),
    ));
    assert_eq!(attributes(&reported)["countersign.left_out"], 1);
}

#[test]
fn what_is_no_json_or_no_request_is_refused_whole() {
    for text in [
        "",
        "[]",
        "null",
        "{\"resourceSpans\": 3}",
        "{\"resourceSpans\": [{\"scopeSpans\": {}}]}",
        "{\"resourceSpans\": []} {}",
        "{\"resourceSpans\": [{\"scopeSpans\": [{\"spans\": [{\"name\": NaN}]}]}]}",
    ] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn a_request_says_the_same_in_json_as_in_protobuf(request in any_request()) {
        let body = read(&serde_json::to_vec(&request).unwrap()).unwrap();
        prop_assert_eq!(body.refused, 0);
        let sender = Sender::Anybody("default".parse().unwrap());
        prop_assert_eq!(translate(&body.request, &sender), translate(&request, &sender));
    }
}
