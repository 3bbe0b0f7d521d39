//! One request with exactly one fault for every code of section 2.

use countersign_wire::{REQUEST_MAX_BYTES, Rejection, RejectionCode as Code, parse_request};
use serde_json::{Value, json};

use crate::support::{SUBJECT, WORKED_EXAMPLE, form, key, question, request};

fn rejected(subject: &str, payload: &[u8]) -> Rejection {
    parse_request(subject, payload).expect_err("a rejection")
}

fn code(value: &Value) -> Code {
    let rejection = rejected(SUBJECT, value.to_string().as_bytes());
    assert_eq!(rejection.key, Some(key()), "the subject is valid");
    rejection.code
}

/// The worked example with `field` of the root replaced.
fn with(field: &str, to: Value) -> Value {
    let mut value = request();
    value[field] = to;
    value
}

/// The worked example with raw JSON text set in for its arguments.
fn raw_args(args: &str) -> String {
    WORKED_EXAMPLE.replace(r#"{"invoice_id":"INV-42"}"#, args)
}

fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn what_is_not_json_is_not_json() {
    let example = WORKED_EXAMPLE.as_bytes();
    let mut latin1 = example.to_vec();
    latin1[60] = 0xe9;
    let bom = [b"\xef\xbb\xbf", example].concat();
    let surrogate_bytes = raw_args("\"?\"").into_bytes();
    let at = surrogate_bytes
        .windows(3)
        .position(|w| w == b"\"?\"")
        .unwrap();
    let cesu = [
        &surrogate_bytes[..=at],
        b"\xed\xa0\x80",
        &surrogate_bytes[at + 2..],
    ]
    .concat();
    let texts = [
        String::new(),
        " ".into(),
        "{".into(),
        "nul".into(),
        format!("{WORKED_EXAMPLE}{WORKED_EXAMPLE}"),
        format!("{WORKED_EXAMPLE}x"),
        WORKED_EXAMPLE.replace("\"risk\"", "risk"),
        WORKED_EXAMPLE.replace("\"v\":1", "\"v\":01"),
        raw_args("[1,]"),
        raw_args("{\"a\":1,}"),
        raw_args("NaN"),
        raw_args("Infinity"),
        raw_args("-Infinity"),
        raw_args("+1"),
        raw_args(".5"),
        raw_args("1."),
        raw_args("'a'"),
        raw_args("\"a\tb\""),
        raw_args("\"\\x41\""),
        raw_args("\"\\u12\""),
        raw_args("/* no */ 1"),
        WORKED_EXAMPLE.replacen('}', ",\"metadata\":{\"n\":NaN}}", 9),
    ];
    let payloads = texts
        .iter()
        .map(String::as_bytes)
        .chain([&*latin1, &*bom, &*cesu]);
    for payload in payloads {
        let rejection = rejected(SUBJECT, payload);
        assert_eq!(
            rejection.code,
            Code::NotJson,
            "{}",
            String::from_utf8_lossy(payload)
        );
    }
}

#[test]
fn a_root_that_is_no_object_has_the_wrong_type() {
    for payload in ["[]", "1", "null", "\"{}\"", " [1]"] {
        assert_eq!(
            rejected(SUBJECT, payload.as_bytes()).code,
            Code::WrongType,
            "{payload}"
        );
    }
}

#[test]
fn versions_and_kinds() {
    for v in [
        json!(0),
        json!(2),
        json!("1"),
        json!(1.0),
        json!(true),
        json!(null),
        json!([1]),
    ] {
        assert_eq!(code(&with("v", v.clone())), Code::BadVersion, "{v}");
    }
    for kind in ["tool", "TOOL_CALL", "", "tool_call "] {
        assert_eq!(
            code(&with("kind", json!(kind))),
            Code::UnknownKind,
            "{kind}"
        );
    }
}

#[test]
fn every_required_field_is_required() {
    let rows = [
        (
            request(),
            "v kind request_id workspace agent risk allowed_verdicts requested_at",
        ),
        (request(), "tool args args_digest"),
        (
            question(),
            "v kind request_id workspace agent risk allowed_verdicts requested_at question",
        ),
        (
            form(),
            "v kind request_id workspace agent risk allowed_verdicts requested_at response_schema",
        ),
    ];
    for (whole, names) in rows {
        for name in names.split(' ') {
            let mut value = whole.clone();
            value
                .as_object_mut()
                .unwrap()
                .shift_remove(name)
                .expect(name);
            assert_eq!(code(&value), Code::MissingField, "{name}");
        }
    }
    assert_eq!(code(&with("agent", json!({}))), Code::MissingField);
    assert_eq!(
        code(&with("tool", json!({"effects": "read"}))),
        Code::MissingField
    );
    let mut nameless = question();
    nameless["question"] = json!({"context": "c"});
    assert_eq!(code(&nameless), Code::MissingField);
}

#[test]
fn every_field_has_its_type() {
    let strings = "request_id workspace risk kind run_id thread_id call_id args_digest args_raw \
                   reason preview title requested_at expires_at traceparent";
    for name in strings.split_whitespace() {
        for wrong in [json!(1), json!(true), json!({}), json!([])] {
            assert_eq!(
                code(&with(name, wrong.clone())),
                Code::WrongType,
                "{name}: {wrong}"
            );
        }
    }
    let objects =
        "agent tool effective native_digest confirm question skill chain group metadata native";
    for name in objects.split_whitespace() {
        for wrong in [json!(1), json!("x"), json!([]), json!(false)] {
            assert_eq!(
                code(&with(name, wrong.clone())),
                Code::WrongType,
                "{name}: {wrong}"
            );
        }
    }
    for name in ["allowed_verdicts", "history"] {
        for wrong in [
            json!(1),
            json!("deny"),
            json!({}),
            json!([1]),
            json!([null]),
        ] {
            assert_eq!(
                code(&with(name, wrong.clone())),
                Code::WrongType,
                "{name}: {wrong}"
            );
        }
    }
    for wrong in [
        json!(0),
        json!(6),
        json!(-1),
        json!(1.5),
        json!(1.0),
        json!("2"),
        json!(257),
    ] {
        assert_eq!(
            code(&with("approvals_required", wrong.clone())),
            Code::WrongType,
            "{wrong}"
        );
    }
    for wrong in [json!(1), json!("{}"), json!([])] {
        assert_eq!(
            code(&with("response_schema", wrong.clone())),
            Code::WrongType,
            "{wrong}"
        );
    }
}

#[test]
fn a_required_field_that_is_null_has_the_wrong_type() {
    for name in
        "kind request_id workspace agent risk allowed_verdicts requested_at tool args_digest"
            .split(' ')
    {
        assert_eq!(code(&with(name, Value::Null)), Code::WrongType, "{name}");
    }
    let (mut asked, mut shaped) = (question(), form());
    asked["question"] = Value::Null;
    shaped["response_schema"] = Value::Null;
    assert_eq!(code(&asked), Code::WrongType);
    assert_eq!(code(&shaped), Code::WrongType);
}

#[test]
fn fields_inside_objects_have_their_types() {
    let rows = [
        ("agent", json!({"name": 1})),
        ("agent", json!({"name": null})),
        ("agent", json!({"name": "billing-bot", "type": 1})),
        ("agent", json!({"name": "billing-bot", "instance_id": 1})),
        ("agent", json!({"name": "billing-bot", "framework": []})),
        (
            "agent",
            json!({"name": "billing-bot", "framework_version": 1.3}),
        ),
        ("agent", json!({"name": "billing-bot", "parent": {}})),
        ("tool", json!({"name": ["x"]})),
        ("tool", json!({"name": "x", "description": 1})),
        ("tool", json!({"name": "x", "namespace": 1})),
        ("tool", json!({"name": "x", "origin": 1})),
        ("tool", json!({"name": "x", "effects": ["read"]})),
        ("tool", json!({"name": "x", "args_schema": "object"})),
        ("effective", json!({"injected_names": "a"})),
        ("effective", json!({"dropped_names": [1]})),
        ("native_digest", json!({"alg": 1})),
        ("native_digest", json!({"value": 1})),
        ("confirm", json!({"setup_key": 1})),
        ("confirm", json!({"command": []})),
        ("confirm", json!({"explanation": {}})),
        ("question", json!({"text": 1})),
        ("question", json!({"text": "t", "context": 1})),
        ("question", json!({"text": "t", "allow_freeform": "yes"})),
        ("question", json!({"text": "t", "options": {}})),
        ("question", json!({"text": "t", "options": ["a"]})),
        ("question", json!({"text": "t", "options": [{"key": 1}]})),
        ("history", json!([{"role": 1}])),
        ("skill", json!({"name": 1})),
        ("skill", json!({"allowed_tools": "a"})),
        ("skill", json!({"allowed_tools": [1]})),
        ("chain", json!({"chain_id": 1})),
        ("chain", json!({"seq": "1"})),
        ("chain", json!({"max_calls": 1.5})),
        ("group", json!({"id": 1})),
        ("group", json!({"index": "0"})),
        ("group", json!({"size": -1})),
    ];
    for (name, wrong) in rows {
        assert_eq!(
            code(&with(name, wrong.clone())),
            Code::WrongType,
            "{name}: {wrong}"
        );
    }
}

#[test]
fn time_stamps_and_lifetimes() {
    for bad in [
        "",
        "now",
        "2026-11-21",
        "2026-11-21T12:00:00",
        "2026-13-01T00:00:00Z",
        "1700000000",
    ] {
        assert_eq!(
            code(&with("requested_at", json!(bad))),
            Code::BadTimestamp,
            "{bad}"
        );
        assert_eq!(
            code(&with("expires_at", json!(bad))),
            Code::BadTimestamp,
            "{bad}"
        );
    }
    let elsewhere = json!("2026-11-21T13:00:00.000+01:00");
    assert_eq!(code(&with("requested_at", elsewhere)), Code::BadTimestamp);
    for early in [
        "2026-11-21T12:00:00.000Z",
        "2026-11-21T11:59:59.999Z",
        "2026-11-21T12:30:00+01:00",
    ] {
        assert_eq!(
            code(&with("expires_at", json!(early))),
            Code::BadLifetime,
            "{early}"
        );
    }
}

#[test]
fn subjects_and_ids() {
    let payload = WORKED_EXAMPLE.as_bytes();
    for bad in [
        "countersign.v1.request.Acme.billing-bot.019aa000-0000-7000-8000-000000000001",
        "countersign.v1.request.acme.billing-bot",
        "countersign.v1.request.acme.billing-bot.-x",
        "countersign.v1.withdraw.acme.billing-bot.019aa000-0000-7000-8000-000000000001",
    ] {
        let rejection = rejected(bad, payload);
        assert_eq!(
            (rejection.code, rejection.key),
            (Code::BadSubject, None),
            "{bad}"
        );
    }
    assert_eq!(
        code(&with("request_id", json!("other"))),
        Code::SubjectMismatch
    );
    assert_eq!(
        code(&with("workspace", json!("other"))),
        Code::SubjectMismatch
    );
    assert_eq!(
        code(&with("agent", json!({"name": "other"}))),
        Code::SubjectMismatch
    );
    assert_eq!(
        code(&with("workspace", json!("ACME"))),
        Code::SubjectMismatch
    );
}

#[test]
fn digests_that_do_not_match() {
    let right = request()["args_digest"].as_str().unwrap().to_owned();
    for bad in [
        right.to_uppercase(),
        right.replace('3', "4"),
        right[7..].to_owned(),
        String::new(),
    ] {
        assert_eq!(
            code(&with("args_digest", json!(bad))),
            Code::DigestMismatch,
            "{bad}"
        );
    }
    assert_eq!(
        code(&with("args", json!({"invoice_id": "INV-43"}))),
        Code::DigestMismatch
    );
    assert_eq!(code(&with("args", Value::Null)), Code::DigestMismatch);
}

#[test]
fn what_readers_understand_differently() {
    let rows = [
        (raw_args(r#"{"a":1,"a":1}"#), Code::DuplicateKey),
        (raw_args(r#"{"a":1,"\u0061":1}"#), Code::DuplicateKey),
        (
            raw_args(r#"[[{"a":{"b":0,"c":[],"b":0}}]]"#),
            Code::DuplicateKey,
        ),
        (
            WORKED_EXAMPLE.replacen("{\"v\":1", "{\"v\":1,\"v\":1", 1),
            Code::DuplicateKey,
        ),
        (raw_args("9007199254740992"), Code::IntegerOutOfRange),
        (raw_args("-9007199254740992"), Code::IntegerOutOfRange),
        (raw_args(&"9".repeat(400)), Code::IntegerOutOfRange),
        (raw_args("1e400"), Code::NonFiniteNumber),
        (raw_args("[-1.5E+999]"), Code::NonFiniteNumber),
        (raw_args(r#""\ud800""#), Code::LoneSurrogate),
        (raw_args(r#""\udc00\ud800""#), Code::LoneSurrogate),
        (raw_args(r#"{"\uD83Dx":1}"#), Code::LoneSurrogate),
    ];
    for (payload, expected) in rows {
        assert_eq!(
            rejected(SUBJECT, payload.as_bytes()).code,
            expected,
            "{payload}"
        );
    }
    let twice = WORKED_EXAMPLE.replacen("{\"v\":1", "{\"metadata\":{},\"metadata\":{},\"v\":1", 1);
    assert_eq!(rejected(SUBJECT, twice.as_bytes()).code, Code::DuplicateKey);
    let below = WORKED_EXAMPLE.replacen("{\"v\":1", r#"{"x":{"metadata":{"a":1,"a":1}},"v":1"#, 1);
    assert_eq!(rejected(SUBJECT, below.as_bytes()).code, Code::DuplicateKey);
}

#[test]
fn depth_counts_everywhere_and_never_overflows() {
    for place in ["metadata", "native", "unknown"] {
        let deep = |depth| {
            let inside = format!("{{\"v\":1,\"{place}\":{{\"x\":{}}}", nested(depth));
            WORKED_EXAMPLE.replacen("{\"v\":1", &inside, 1)
        };
        assert_eq!(
            rejected(SUBJECT, deep(63).as_bytes()).code,
            Code::TooDeep,
            "{place}"
        );
        assert!(
            parse_request(SUBJECT, deep(62).as_bytes()).is_ok(),
            "{place}"
        );
        assert_eq!(
            rejected(SUBJECT, deep(200_000).as_bytes()).code,
            Code::TooDeep,
            "{place}"
        );
    }
    let unclosed = "[".repeat(REQUEST_MAX_BYTES);
    assert_eq!(rejected(SUBJECT, unclosed.as_bytes()).code, Code::NotJson);
}

#[test]
fn size_is_counted_in_bytes() {
    let filled = |bytes: usize| {
        let spare = bytes - WORKED_EXAMPLE.len();
        format!("{WORKED_EXAMPLE}{}", " ".repeat(spare))
    };
    assert!(parse_request(SUBJECT, filled(REQUEST_MAX_BYTES).as_bytes()).is_ok());
    let rejection = rejected(SUBJECT, filled(REQUEST_MAX_BYTES + 1).as_bytes());
    assert_eq!(
        (rejection.code, rejection.key),
        (Code::TooLarge, Some(key()))
    );
}

#[test]
fn of_several_faults_the_first_in_the_order_of_codes_is_given() {
    let mut value = with("v", json!(2));
    value["kind"] = json!("x");
    assert_eq!(code(&value), Code::BadVersion);
    value["v"] = json!(1);
    value.as_object_mut().unwrap().remove("risk");
    assert_eq!(code(&value), Code::UnknownKind);
    value["kind"] = json!("tool_call");
    value["title"] = json!(1);
    assert_eq!(code(&value), Code::MissingField);
    value["risk"] = json!("low");
    value["requested_at"] = json!("x");
    assert_eq!(code(&value), Code::WrongType);
}

#[test]
fn details_never_repeat_what_the_agent_wrote() {
    for value in [
        with("kind", json!("SECRET")),
        with("title", json!({"SECRET": 1})),
        with("requested_at", json!("SECRET")),
        with("workspace", json!("SECRET")),
        with("args_digest", json!("SECRET")),
    ] {
        let rejection = rejected(SUBJECT, value.to_string().as_bytes());
        assert!(!rejection.detail.contains("SECRET"), "{rejection}");
        assert!(rejection.detail.len() < 100, "{rejection}");
    }
}
