//! One request with exactly one fault for every code that its bytes can give.

use countersign_wire::{
    Context, REQUEST_MAX_BYTES, RejectionCode as Code, SignedEnvelope, json_value, parse_decision,
    parse_request, parse_span, parse_withdraw, read_hello, request_fields,
};

use crate::support::{REALM, SUBJECT, WORKED_EXAMPLE, key, pair, rejected};

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

/// Text that serde_json would read as JSON of far more levels than are written.
fn bomb() -> String {
    let level = |inside: String| {
        let nested = format!("{}{inside}{}", "[".repeat(100), "]".repeat(100));
        serde_json::json!({ "$serde_json::private::RawValue": nested }).to_string()
    };
    (0..12).fold("1".to_owned(), |inside, _| level(inside))
}

#[test]
fn a_key_that_is_the_readers_own_is_no_key_and_is_never_followed() {
    let bomb = bomb();
    for key in [
        "$serde_json::private::RawValue",
        "$serde_json::private::Number",
    ] {
        let args = format!(r#"[{{"a":{{"{key}":"12"}}}}]"#);
        assert_eq!(
            rejected(SUBJECT, raw_args(&args).as_bytes()).code,
            Code::NotJson
        );
        assert!(json_value(args.as_bytes()).is_none(), "{args}");
    }
    assert_eq!(
        rejected(SUBJECT, raw_args(&bomb).as_bytes()).code,
        Code::NotJson
    );
    let escaped = raw_args(&bomb.replacen("$serde", r"\u0024serde", 1));
    assert_eq!(rejected(SUBJECT, escaped.as_bytes()).code, Code::NotJson);
    // Where nothing is interpreted it stays, as text.
    for place in ["metadata", "native"] {
        let kept = WORKED_EXAMPLE.replacen("{\"v\":1", &format!("{{\"{place}\":{bomb},\"v\":1"), 1);
        let request = parse_request(SUBJECT, kept.as_bytes()).unwrap().request;
        let kept_there = request.metadata.or(request.native).unwrap();
        assert_eq!(
            (kept_there.text(), kept_there.value()),
            (bomb.as_str(), None)
        );
        assert_eq!(request_fields(kept.as_bytes()).unwrap()[place], bomb);
    }
    // Values of the other messages, and bytes that nobody has looked at.
    assert!(json_value(bomb.as_bytes()).is_none());
    assert_eq!(
        parse_withdraw(format!(r#"{{"reason":"r","x":{bomb}}}"#).as_bytes()).reason,
        None
    );
    let hello = format!(r#"{{"v":1,"agent":{{"name":"billing-bot"}},"setup_schema":{bomb}}}"#);
    assert!(read_hello("countersign.v1.hello.acme.billing-bot", hello.as_bytes()).is_err());
    let span = |rest: &str| {
        let span = format!(
            r#"{{"v":1,"type":"span","trace_id":"t","span_id":"s","name":"n","kind":"tool",
            "started_at":"2026-11-21T12:00:00.000Z",{rest}}}"#
        );
        parse_span("countersign.v1.event.acme.billing-bot", span.as_bytes())
    };
    assert!(span(&format!(r#""error":{{"code":{bomb}}}"#)).is_err());
    assert_eq!(
        span(&format!(r#""input":{bomb}"#))
            .unwrap()
            .input
            .unwrap()
            .value(),
        None
    );
    let decision = format!(r#"{{"edited_args":{bomb}}}"#);
    let refused = parse_decision(&SUBJECT.replace("request", "decision"), decision.as_bytes());
    assert_eq!(refused.unwrap_err().code, Code::NotJson);
    let policy =
        SignedEnvelope::seal(&pair(1), Context::Policy, &REALM, "s", bomb.as_bytes()).unwrap();
    assert!(policy.open(Context::Policy, &REALM, "s").is_err());
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
