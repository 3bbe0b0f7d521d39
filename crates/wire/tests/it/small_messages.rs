//! Receipts, spans, hellos, heartbeats, withdrawals and earlier deadlines.

use countersign_wire::{
    RejectionCode, Stage, parse_heartbeat, parse_hello, parse_receipt, parse_span, parse_tighten,
    parse_withdraw,
};
use serde_json::json;
use time::{Duration, macros::datetime};

const RECEIPT: &str = "countersign.v1.receipt.acme.bot.r1";
const EVENT: &str = "countersign.v1.event.acme.bot";
const HELLO: &str = "countersign.v1.hello.acme.bot";
const TIGHTEN: &str = "countersign.v1.tighten.acme.bot.r1";

#[test]
fn receipts_name_a_stage() {
    for stage in Stage::ALL {
        let payload =
            json!({"v": 1, "decision_id": "d", "stage": stage, "at": "2026-11-21T12:00:00Z"});
        let receipt = parse_receipt(RECEIPT, payload.to_string().as_bytes()).unwrap();
        assert_eq!(receipt.stage, stage);
    }
    // Any text names what ran, so that a difference from what was decided is seen; nothing else does.
    let ran = |digest: serde_json::Value| {
        let receipt = json!({"v": 1, "decision_id": "d", "stage": "executed", "at": "2026-11-21T12:00:00Z",
            "executed_args_digest": digest});
        parse_receipt(RECEIPT, receipt.to_string().as_bytes())
    };
    for odd in ["44136fa355b3678a", "SHA256:00", ""] {
        assert_eq!(ran(json!(odd)).unwrap().executed_args_digest.unwrap(), odd);
    }
    assert!(ran(json!(5)).is_err());
    for bad in [
        json!({"v": 1, "decision_id": "d", "stage": "eaten", "at": "2026-11-21T12:00:00Z"}),
        json!({"v": 2, "decision_id": "d", "stage": "received", "at": "2026-11-21T12:00:00Z"}),
        json!({"v": 1, "stage": "received", "at": "2026-11-21T12:00:00Z"}),
        json!({"v": 1, "decision_id": "d", "stage": "received"}),
        json!([]),
    ] {
        assert!(
            parse_receipt(RECEIPT, bad.to_string().as_bytes()).is_err(),
            "{bad}"
        );
    }
    let error = parse_receipt(HELLO, b"{}").unwrap_err();
    assert_eq!(error.code, RejectionCode::BadSubject);
}

#[test]
fn spans_keep_what_went_in_and_out_as_it_came() {
    let odd = r#"{"a":1,"a":1e400,"s":"\ud800"}"#;
    let payload = format!(
        r#"{{"v":1,"type":"span","trace_id":"t","span_id":"s","name":"n","kind":"tool",
            "started_at":"2026-11-21T12:00:00.000Z","input":{odd},"new":1}}"#
    );
    let span = parse_span(EVENT, payload.as_bytes()).unwrap();
    assert_eq!(span.input.unwrap().text(), odd);
    // A span stays although its digest is a framework's own.
    let own = payload.replacen("{\"v\":1", r#"{"args_digest":"44136fa355b3678a","v":1"#, 1);
    let span = parse_span(EVENT, own.as_bytes()).unwrap();
    assert_eq!(span.args_digest.unwrap(), "44136fa355b3678a");
    for (from, to) in [
        ("\"span\"", "\"log\""),
        ("\"tool\"", "\"ghost\""),
        ("\"t\"", "1"),
        ("{\"v\":1", "{\"v\":3"),
    ] {
        assert!(
            parse_span(EVENT, payload.replacen(from, to, 1).as_bytes()).is_err(),
            "{to}"
        );
    }
}

#[test]
fn a_hello_has_the_name_of_its_subject() {
    let hello = json!({"v": 1, "agent": {"name": "bot"}, "tools": [{"name": "x", "risk": "odd"}],
        "setup_schema": [{"bs_name": "k"}]});
    assert_eq!(
        parse_hello(HELLO, hello.to_string().as_bytes())
            .unwrap()
            .tools
            .unwrap()
            .len(),
        1
    );
    let other = hello.to_string().replace("\"bot\"", "\"other\"");
    let error = parse_hello(HELLO, other.as_bytes()).unwrap_err();
    assert_eq!(error.code, RejectionCode::SubjectMismatch);
}

#[test]
fn signs_of_life_are_small() {
    assert_eq!(
        parse_heartbeat(br#"{"v":1,"instance_id":"i"}"#)
            .unwrap()
            .instance_id
            .unwrap(),
        "i"
    );
    assert!(parse_heartbeat(b"").is_err());
    assert!(
        parse_heartbeat(format!(r#"{{"v":1,"x":"{}"}}"#, "x".repeat(5000)).as_bytes()).is_err()
    );
}

#[test]
fn a_withdrawal_counts_whatever_its_body_says() {
    assert_eq!(
        parse_withdraw(br#"{"v":1,"reason":"done"}"#)
            .reason
            .unwrap(),
        "done"
    );
    for odd in [&b""[..], b"\xff", b"[]", br#"{"v":9}"#, br#"{"reason":1}"#] {
        assert_eq!(parse_withdraw(odd).reason, None);
    }
}

#[test]
fn an_earlier_deadline_only_ever_shortens() {
    let stored_at = datetime!(2026-11-21 12:00:05 UTC);
    let requested_at = datetime!(2026-11-21 12:00:00 UTC).into();
    let deadline = stored_at + Duration::seconds(60);
    let rows = [
        ("2026-11-21T12:00:30Z", stored_at + Duration::seconds(30)),
        ("2026-11-21T12:05:00Z", deadline),
        ("2026-11-21T11:00:00Z", stored_at),
    ];
    for (expires_at, expected) in rows {
        let payload = json!({"v": 1, "expires_at": expires_at}).to_string();
        let tighten = parse_tighten(TIGHTEN, payload.as_bytes()).unwrap();
        assert_eq!(
            tighten.deadline(stored_at, requested_at, deadline),
            expected,
            "{expires_at}"
        );
    }
    assert!(parse_tighten(TIGHTEN, br#"{"v":1}"#).is_err());
    assert!(parse_tighten(TIGHTEN, br#"{"v":1,"expires_at":"soon"}"#).is_err());
}
