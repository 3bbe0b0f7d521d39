//! Requests that look like faults and must be accepted.

use countersign_wire::{
    Effects, MAX_LIFETIME, ParsedRequest, RequestKind, Risk, Verdict, args_digest, parse_request,
    readable_request, request_fields,
};
use serde_json::{Value, json};
use time::{Duration, macros::datetime};

use crate::support::{STORED_AT, SUBJECT, WORKED_EXAMPLE, form, key, question, request};

fn accepted(payload: &str) -> ParsedRequest {
    parse_request(SUBJECT, payload.as_bytes()).unwrap_or_else(|error| panic!("{error}: {payload}"))
}

fn with(field: &str, to: Value) -> ParsedRequest {
    let mut value = request();
    value[field] = to;
    accepted(&value.to_string())
}

/// The worked example with other arguments and their right digest.
fn with_args(args: &str) -> ParsedRequest {
    let digest = args_digest(&serde_json::from_str(args).unwrap())
        .unwrap()
        .to_string();
    let old = request()["args_digest"].as_str().unwrap().to_owned();
    let payload = WORKED_EXAMPLE
        .replace(r#"{"invoice_id":"INV-42"}"#, args)
        .replace(&old, &digest);
    accepted(&payload)
}

#[test]
fn the_worked_example_is_read_whole() {
    let parsed = accepted(WORKED_EXAMPLE);
    assert_eq!(parsed.key, key());
    assert_eq!(parsed.request.kind, RequestKind::ToolCall);
    assert_eq!(parsed.request.effective_risk(), Risk::High);
    assert_eq!(parsed.request.effects(), Effects::Irreversible);
    assert_eq!(parsed.request.args, Some(json!({"invoice_id": "INV-42"})));
    assert_eq!(parsed.request.lifetime(), Duration::minutes(1));
    assert_eq!(
        parsed.request.deadline(STORED_AT),
        datetime!(2026-11-21 12:01:00.250 UTC)
    );
    let allowed: Vec<_> = parsed.request.allowed().iter().collect();
    assert_eq!(allowed, [Verdict::Approve, Verdict::Modify, Verdict::Deny]);
}

#[test]
fn questions_and_forms_are_read() {
    assert_eq!(
        accepted(&question().to_string()).request.kind,
        RequestKind::Question
    );
    assert_eq!(
        accepted(&form().to_string()).request.kind,
        RequestKind::Form
    );
    let mut open = form();
    open["response_schema"] = json!(true);
    accepted(&open.to_string());
}

#[test]
fn blanks_around_and_key_order_do_not_matter() {
    accepted(&format!(" \r\n\t{WORKED_EXAMPLE}\n"));
    let parsed = with_args(r#"{"z":1,"a":2}"#);
    let keys: Vec<_> = parsed
        .request
        .args
        .as_ref()
        .unwrap()
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(keys, ["z", "a"]);
}

#[test]
fn any_json_can_be_arguments_null_too() {
    for args in [
        "null", "[]", "\"x\"", "0", "-0", "true", "{}", "[[]]", "1e308", "5e-324", "1e-400",
    ] {
        let parsed = with_args(args);
        assert!(
            parsed.request.args.is_some() && parsed.args_digest.is_some(),
            "{args}"
        );
    }
}

#[test]
fn numbers_and_strings_at_the_border_are_good() {
    for args in [
        "9007199254740991",
        "-9007199254740991",
        "9007199254740993.0",
        "1e300",
        "1.0e3",
        "1.7976931348623157e308",
        r#""\ud83d\ude00""#,
        r#""\u0000""#,
        r#""\\ud800""#,
        r#"{"a":1,"A":2,"\u00e9":3,"e\u0301":4}"#,
        r#"[{"a":1},{"a":1}]"#,
        r#"{"a":{"a":{"a":1}}}"#,
    ] {
        with_args(args);
    }
}

#[test]
fn metadata_and_native_are_kept_as_they_came() {
    let odd = r#"{"a":1,"a":2,"n":1e400,"i":123456789012345678901234567890,"s":"\ud800"}"#;
    for name in ["metadata", "native", "\\u006detadata"] {
        let payload =
            WORKED_EXAMPLE.replacen("{\"v\":1", &format!("{{\"{name}\":{odd},\"v\":1"), 1);
        let request = accepted(&payload).request;
        let kept = request
            .metadata
            .as_ref()
            .or(request.native.as_ref())
            .unwrap();
        assert_eq!(kept.text(), odd);
        assert!(serde_json::to_string(&request).unwrap().contains(odd));
    }
}

#[test]
fn what_nobody_interprets_keeps_no_reader_from_the_rest() {
    let odd = r#"{"n":1e400,"s":"\ud800"}"#;
    let payload = WORKED_EXAMPLE.replacen(
        "{\"v\":1",
        &format!("{{\"metadata\":{odd},\"native\":{{\"a\":1.50}},\"v\":1"),
        1,
    );
    assert!(serde_json::from_str::<Value>(&payload).is_err());
    let readable = readable_request(payload.as_bytes()).unwrap();
    assert!(
        readable.text().contains(r#""native":{"a":1.50}"#),
        "the rest is as it came"
    );
    let mut expected = request();
    expected["metadata"] = json!(odd);
    expected["native"] = json!({"a": 1.5});
    assert_eq!(readable.value(), Some(expected));
    assert_eq!(request_fields(payload.as_bytes()), readable.value());
    // What is interpreted, and what is not an object, is not made up.
    for other in [
        WORKED_EXAMPLE.replace("INV-42", r"\ud800"),
        "[1e400]".into(),
        "{".into(),
        String::new(),
    ] {
        assert!(readable_request(other.as_bytes()).is_none(), "{other}");
        assert!(request_fields(other.as_bytes()).is_none(), "{other}");
    }
}

#[test]
fn unknown_fields_and_words_are_kept() {
    assert_eq!(with("x-new", json!([1])).request.extra["x-new"], json!([1]));
    let parsed = with(
        "allowed_verdicts",
        json!(["approve", "teleport", "expired", "approve"]),
    );
    assert!(
        parsed
            .request
            .allowed()
            .iter()
            .eq([Verdict::Approve, Verdict::Deny])
    );
    assert!(
        with("allowed_verdicts", json!([]))
            .request
            .allowed()
            .iter()
            .eq([Verdict::Deny])
    );
    let odd_tool = with(
        "tool",
        json!({"name": "x", "origin": "moon", "effects": "odd", "new": 1}),
    );
    assert_eq!(odd_tool.request.effects(), Effects::Irreversible);
    assert_eq!(
        with("tool", json!({"name": "x"})).request.effects(),
        Effects::Unknown
    );
    for (word, risk) in [
        ("safe", Risk::Safe),
        ("HIGH", Risk::Critical),
        ("", Risk::Critical),
    ] {
        let request = with("risk", json!(word)).request;
        assert_eq!(
            (request.effective_risk(), request.risk.as_str()),
            (risk, word)
        );
    }
}

#[test]
fn null_stands_for_absent_where_a_field_is_optional() {
    let names = "run_id thread_id call_id args_raw effective native_digest confirm reason preview \
                 title question response_schema history skill chain approvals_required verifies group \
                 expires_at traceparent metadata native";
    for name in names.split_whitespace() {
        with(name, Value::Null);
    }
    with(
        "agent",
        json!({"name": "billing-bot", "type": null, "parent": null}),
    );
    let mut asked = question();
    for name in ["tool", "args_digest"] {
        asked[name] = Value::Null;
    }
    accepted(&asked.to_string());
}

#[test]
fn lifetimes_are_distances_and_end_at_thirty_days() {
    assert_eq!(
        with("expires_at", Value::Null).request.lifetime(),
        MAX_LIFETIME
    );
    let far = with("expires_at", json!("2030-01-01T00:00:00Z")).request;
    assert_eq!(far.lifetime(), MAX_LIFETIME);
    let near = with("expires_at", json!("2026-11-21T13:00:00.001+01:00")).request;
    assert_eq!(near.lifetime(), Duration::MILLISECOND);
    for utc in [
        "12:00:00Z",
        "12:00:00.1234567890123Z",
        "12:00:00.123+00:00",
        "12:00:00-00:00",
    ] {
        with("requested_at", json!(format!("2026-11-21T{utc}")));
    }
    with("requested_at", json!("2026-11-21t12:00:00z"));
}

#[test]
fn approvals_are_one_to_five() {
    for count in 1..=5 {
        assert_eq!(
            with("approvals_required", json!(count))
                .request
                .approvals_required(),
            count
        );
    }
    assert_eq!(accepted(WORKED_EXAMPLE).request.approvals_required(), 1);
}

#[test]
fn trace_contexts_that_are_malformed_are_only_text() {
    let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let span = with("traceparent", json!(good))
        .request
        .trace_context()
        .unwrap();
    assert_eq!(span.span_id, "b7ad6b7169203331");
    for bad in [
        "",
        "00-0-0-0",
        &good.replace("0af", "0AF"),
        &format!("{good}-x"),
        &good.replace("00-", "ff-"),
    ] {
        assert_eq!(
            with("traceparent", json!(bad)).request.trace_context(),
            None,
            "{bad}"
        );
    }
}
