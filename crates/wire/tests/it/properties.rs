//! Promises for every input.

use countersign_wire::{
    RejectionCode, Segment, Sha256Digest, Subject, Timestamp, Tool, canonical_json, escape,
    escape_lines, is_hostile, json_ascii_safe, parse_decision, parse_hello, parse_receipt,
    parse_request, parse_span, parse_withdraw, read_plain, warnings,
};
use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

use crate::support::{SUBJECT, WORKED_EXAMPLE, form, question, request};

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-(1_i64 << 53) + 1..1 << 53).prop_map(Value::from),
        any::<f64>()
            .prop_filter("an integer when written again", |n| n.is_finite()
                && !written_as_large_integer(*n))
            .prop_map(Value::from),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// RFC 8785 writes doubles of this size without point and exponent.
fn written_as_large_integer(number: f64) -> bool {
    (9e15..1e21).contains(&number.abs())
}

/// JSON-like soup: more likely to pass the first bytes of a parser than noise.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\""),
        Just("\\"),
        Just("\"v\":1"),
        Just("1e999"),
        Just("-"),
        Just("0"),
        Just("."),
        Just("\\ud800"),
        Just("null"),
        Just("\"metadata\":"),
        Just(" "),
        Just("\u{feff}"),
        Just("é"),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

fn read_everything(payload: &[u8]) {
    let _ = parse_request(SUBJECT, payload);
    let _ = parse_decision("countersign.v1.decision.a.b.c", payload);
    let _ = parse_receipt("countersign.v1.receipt.a.b.c", payload);
    let _ = parse_span("countersign.v1.event.a.b", payload);
    let _ = parse_hello("countersign.v1.hello.a.b", payload);
    let _ = parse_withdraw(payload);
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(noise in vec(any::<u8>(), 0..300), soup in soup()) {
        read_everything(&noise);
        read_everything(&soup);
    }

    #[test]
    fn the_scan_and_the_reader_agree_on_what_json_is(soup in soup()) {
        let code = parse_request(SUBJECT, &soup).err().map(|rejection| rejection.code);
        let raw = std::str::from_utf8(&soup).ok()
            .and_then(|text| serde_json::from_str::<&serde_json::value::RawValue>(text).ok());
        prop_assert_eq!(code == Some(RejectionCode::NotJson), raw.is_none());
    }

    #[test]
    fn a_damaged_request_is_read_or_rejected_never_half(at in 0..WORKED_EXAMPLE.len(), byte: u8) {
        let mut payload = WORKED_EXAMPLE.as_bytes().to_vec();
        payload[at] = byte;
        read_everything(&payload);
        if let Ok(parsed) = parse_request(SUBJECT, &payload) {
            prop_assert_eq!(parsed.args_digest, parsed.request.args_digest);
        }
    }

    #[test]
    fn a_request_with_any_arguments_reads_back(args in json(), extra in json()) {
        let mut value = request();
        value["args_digest"] = countersign_wire::args_digest(&args).unwrap().to_string().into();
        value["args"] = args.clone();
        value["x-extra"] = extra.clone();
        let parsed = parse_request(SUBJECT, value.to_string().as_bytes()).unwrap();
        prop_assert_eq!(parsed.request.args.as_ref(), Some(&args));
        let again = serde_json::to_vec(&parsed.request).unwrap();
        prop_assert_eq!(parse_request(SUBJECT, &again).unwrap().request, parsed.request);
    }

    #[test]
    fn the_digest_of_a_tool_is_that_of_its_canonical_definition(
        name in any::<String>(), words in any::<[Option<String>; 3]>(), schema in proptest::option::of(json()),
    ) {
        let [description, namespace, origin] = words;
        let reported = schema.is_some() || description.is_some() || namespace.is_some() || origin.is_some();
        let definition = json!({
            "name": name, "namespace": namespace, "origin": origin, "description": description, "args_schema": schema,
        });
        let tool = Tool { description, namespace, origin, args_schema: schema, ..Tool::named(name) };
        let canonical = canonical_json(&definition).unwrap();
        let digest = reported.then(|| Sha256Digest::of_bytes(canonical.as_bytes()));
        prop_assert_eq!(tool.definition_digest(), digest);
    }

    #[test]
    fn any_field_of_any_type_is_answered(
        which in 0..3_usize, field in "[a-z_]{1,12}|v|tool|args|agent|question|metadata|group", to in json(),
    ) {
        let mut value = [request(), question(), form()][which].clone();
        value[field] = to;
        let _ = parse_request(SUBJECT, value.to_string().as_bytes());
    }

    #[test]
    fn canonical_json_is_stable(value in json()) {
        let once = canonical_json(&value).unwrap();
        let read: Value = serde_json::from_str(&once).unwrap();
        prop_assert_eq!(canonical_json(&read).unwrap(), once);
    }

    #[test]
    fn escaping_loses_nothing_and_leaves_nothing_hostile(text: String) {
        for shown in [escape(&text), escape_lines(&text)] {
            prop_assert_eq!(shown.original(), Some(text.clone()));
            for segment in &shown.0 {
                if let Segment::Text { text } = segment {
                    prop_assert!(!text.is_empty());
                    prop_assert!(text.chars().all(|c| c == '\n' || !is_hostile(c)));
                }
            }
        }
        let plain = escape(&text).plain();
        prop_assert!(plain.chars().all(|c| c == '⟨' || !is_hostile(c)));
        prop_assert_eq!(read_plain(&plain), escape(&text));
        let safe = |segment: &Segment| match segment {
            Segment::Text { text } => !text.chars().any(is_hostile),
            Segment::Mark { .. } => true,
        };
        prop_assert!(read_plain(&text).0.iter().all(safe));
        let _ = warnings(&text);
    }

    #[test]
    fn json_for_terminals_reads_back(value in json()) {
        let safe = json_ascii_safe(&value);
        prop_assert!(safe.chars().all(|c| c == '⟨' || !is_hostile(c)));
        prop_assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
    }

    #[test]
    fn small_types_read_back(bytes: [u8; 32], millis in -62_000_000_000_000_i64..253_000_000_000_000) {
        let digest = Sha256Digest::from(bytes);
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
        let at = Timestamp::from_unix_millis(millis).unwrap();
        prop_assert_eq!(at.unix_millis(), millis);
        prop_assert_eq!(at.to_string().parse(), Ok(at));
    }

    #[test]
    fn subjects_are_read_only_as_they_are_written(text in "countersign\\.v1\\.[a-z]{3,8}(\\.[a-zA-Z0-9_*>-]{0,5}){0,5}") {
        if let Some(subject) = Subject::parse(&text) {
            prop_assert_eq!(subject.to_string(), text);
        }
    }
}
