//! One request with exactly one fault for every code that its bytes can give.

use countersign_wire::{REQUEST_MAX_BYTES, RejectionCode as Code, parse_request};

use crate::support::{SUBJECT, WORKED_EXAMPLE, key, rejected};

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
