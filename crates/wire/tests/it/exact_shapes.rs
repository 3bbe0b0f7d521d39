//! Readers accept exactly the shapes of their schemas: no list for an object, no `{"word": null}` for a word.

use std::{collections::BTreeMap, fs};

use countersign_wire::{
    Anchor, Attestation, Context, Enrolment, RequestFacts, SignedEnvelope, VoteCheck, contract,
    decision_subject, parse_bypass, parse_decision, parse_heartbeat, parse_panic, parse_pause,
    parse_presence, parse_receipt, parse_request, parse_span, parse_tighten, read_hello, read_json,
    read_json_value, sign, verify_vote, vote_subject,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{REALM, STORED_AT, facts, key, log, pair, public};

/// Whether a document is read without a fault, by the reader of its kind; `whole` is what it was made from.
fn reads(kind: &str, whole: &Value, document: &Value) -> bool {
    let text = document.to_string();
    let payload = text.as_bytes();
    let subject = |word: &str| format!("countersign.v1.{word}.acme.billing-bot");
    let id = whole["request_id"].as_str().unwrap_or("r1");
    let about = |word: &str| format!("{}.{id}", subject(word));
    match kind {
        "request" => parse_request(&about("request"), payload).is_ok(),
        "decision" => parse_decision(&decision_subject(&key()), payload).is_ok(),
        "vote" => reads_vote(whole, document),
        "receipt" => parse_receipt(&about("receipt"), payload).is_ok(),
        "tighten" => parse_tighten(&about("tighten"), payload).is_ok(),
        "span" => parse_span(&subject("event"), payload).is_ok(),
        "hello" => read_hello(&subject("hello"), payload).is_ok_and(|read| read.faults.is_empty()),
        "alive" => parse_heartbeat(payload).is_ok(),
        "presence" => {
            let console = "1f0c6a52-8d3e-4b7a-9c21-5e4d3c2b1a00".parse().unwrap();
            parse_presence(&console, payload).is_ok()
        }
        "signed-envelope" => SignedEnvelope::from_bytes(payload).is_ok(),
        "anchor" => read_json::<Anchor>(payload).is_ok(),
        "agent" => {
            let same = read_json_value::<Enrolment>(document.clone()).is_ok();
            assert_eq!(read_json::<Enrolment>(payload).is_ok(), same, "{text}");
            same
        }
        "panic" => parse_panic(payload).is_ok(),
        "pause" => parse_pause(payload).is_ok(),
        "bypass" => parse_bypass(payload).is_ok(),
        "attestation" => {
            let subject = decision_subject(&key());
            let sealed = envelope(Context::Stored, &subject, payload)
                .to_bytes()
                .unwrap();
            let header = std::str::from_utf8(&sealed).unwrap();
            Attestation::open(header, &REALM, &subject, b"stored").is_ok()
        }
        other => panic!("no reader for {other}"),
    }
}

fn envelope(context: Context, subject: &str, payload: &[u8]) -> SignedEnvelope {
    SignedEnvelope::seal(&pair(1), context, &REALM, subject, payload).unwrap()
}

fn reads_vote(whole: &Value, document: &Value) -> bool {
    let payload = document.to_string();
    let subject = vote_subject(&key(), &public(1).into());
    let sig = sign(
        &pair(1),
        Context::Vote,
        &REALM,
        &subject,
        payload.as_bytes(),
    )
    .unwrap();
    let digest = |name: &str| whole[name].as_str().unwrap().parse().unwrap();
    let facts = RequestFacts {
        request_digest: digest("request_digest"),
        args_digest: Some(digest("args_digest")),
        ..facts()
    };
    let check = VoteCheck {
        request: &facts,
        stored_at: STORED_AT,
        standing: log().at(None),
    };
    verify_vote(
        check,
        public(1).as_str(),
        &subject,
        payload.as_bytes(),
        sig.as_str(),
    )
    .is_some()
}

/// A document of every kind with every object and word that it can hold, by its kind.
fn documents() -> Vec<(&'static str, Value)> {
    let example = |name: &str| -> Value {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol/examples");
        serde_json::from_slice(&fs::read(format!("{folder}/{name}.json")).unwrap()).unwrap()
    };
    let with = |name: &str, fields: Value| {
        let mut document = example(name);
        for (name, value) in fields.as_object().unwrap() {
            document[name] = value.clone();
        }
        document
    };
    let at = "2026-11-21T12:00:00.000Z";
    let vote = json!({"key": public(1), "subject": "s", "payload": "e30", "sig": "A".repeat(86)});
    vec![
        ("request", example("request")),
        ("request", example("request-question")),
        ("request", example("request-form")),
        (
            "decision",
            with(
                "decision-modify",
                json!({"scope": "once", "rule": {"id": "r", "version": 1, "name": "n"},
                    "response": {"content": {"a": 1}, "selected_key": "k"}, "votes": [vote]}),
            ),
        ),
        ("vote", with("vote", json!({"message": "m"}))),
        (
            "receipt",
            with("receipt", json!({"degraded": ["d"], "message": "m"})),
        ),
        ("tighten", example("tighten")),
        (
            "span",
            with(
                "span",
                json!({"status": "ok", "usage": {"input_tokens": 1}, "error": {"type": "t", "message": "m"}}),
            ),
        ),
        ("hello", example("hello")),
        ("alive", example("alive")),
        ("presence", example("presence")),
        ("signed-envelope", example("signed-envelope")),
        ("anchor", example("anchor")),
        (
            "agent",
            with(
                "agent",
                json!({"tls_ca": "ca.pem", "nats_creds": "bot.creds"}),
            ),
        ),
        ("panic", json!({"v": 1, "on": true, "by": "Ada", "at": at})),
        (
            "pause",
            json!({"v": 1, "state": "paused", "by": "Ada", "at": at}),
        ),
        (
            "bypass",
            json!({"v": 1, "grant": {"up_to": "low", "until": at}, "by": "Ada", "at": at}),
        ),
        (
            "attestation",
            json!({"v": 1, "payload_digest": countersign_wire::Sha256Digest::of_bytes(b"stored"),
                "stored_at": at, "epoch": Uuid::nil(), "seq": 1, "n": 1,
                "digest": countersign_wire::Sha256Digest::of_bytes(b"entry")}),
        ),
    ]
}

/// Every place of a document, as JSON pointers.
fn places(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                places(inner, format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (place, inner) in items.iter().enumerate() {
                places(inner, format!("{path}/{place}"), found);
            }
        }
        _ => {}
    }
    found.push(path);
}

/// What serde's derived readers take for this value beside it.
fn disguises(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(fields) => vec![fields.values().cloned().collect()],
        Value::String(word) => vec![json!({ word: null }), json!([word])],
        other => vec![json!([other])],
    }
}

#[test]
fn what_a_schema_refuses_no_reader_takes_in_another_shape() {
    let schemas: BTreeMap<_, _> = contract::json_schemas().into_iter().collect();
    let (mut refused, mut free) = (0, 0);
    for (kind, document) in documents() {
        let schema = schemas
            .get(kind)
            .map(|schema| jsonschema::validator_for(schema).unwrap());
        assert!(
            schema
                .as_ref()
                .is_none_or(|schema| schema.is_valid(&document)),
            "{kind}"
        );
        assert!(reads(kind, &document, &document), "{kind}: {document}");
        let mut found = Vec::new();
        places(&document, String::new(), &mut found);
        for place in found {
            let value = document.pointer(&place).unwrap();
            for disguise in disguises(value) {
                let mut other = document.clone();
                *other.pointer_mut(&place).unwrap() = disguise;
                // Without a published schema nothing in a document is free.
                if schema
                    .as_ref()
                    .is_some_and(|schema| schema.is_valid(&other))
                {
                    free += 1;
                    continue;
                }
                assert!(!reads(kind, &document, &other), "{kind}{place}: {other}");
                refused += 1;
            }
        }
    }
    assert!(refused > 200 && free > 0, "{refused} {free}");
}
