//! One request with exactly one fault for every code that its fields can give.

use countersign_wire::RejectionCode as Code;
use serde_json::{Value, json};

use crate::support::{SUBJECT, WORKED_EXAMPLE, form, key, question, rejected, request};

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
        ("verifies", json!("webauthn")),
        ("verifies", json!([1])),
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
        "2026-11-21 12:00:00Z",
        "2026-11-21_12:00:00Z",
        "2026-11-21\u{e9}12:00:00Z",
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
