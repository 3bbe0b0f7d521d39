//! What `docs/protocol` publishes, against schemas, types and signatures.

use std::{collections::BTreeMap, fs, path::PathBuf};

use countersign_wire::{
    Anchor, ApprovalDecision, ApprovalRequest, Context, DecisionCheck, Enrolment, RejectionCode,
    RequestFacts, SignedEnvelope, Subject, Vote, contract, parse_heartbeat, parse_hello,
    parse_presence, parse_receipt, parse_request, parse_span, parse_tighten, parse_withdraw,
    realm::{Entry, SigningKey},
    request_subject, verify, verify_decision,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use time::Duration;

use crate::support::{REALM, STORED_AT, WORKED_EXAMPLE, log, pair};

fn published(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../docs/protocol", name]
        .iter()
        .collect()
}

/// Every example by its name without `.json`.
fn examples() -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(published("examples")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    paths
        .map(|path| {
            (
                path.file_stem().unwrap().to_str().unwrap().to_owned(),
                fs::read(path).unwrap(),
            )
        })
        .filter(|(name, _)| name != "signatures")
        .collect()
}

/// The schema whose name the example's begins with.
fn schema_of(example: &str) -> Value {
    let known = |name: &str| example == name || example.starts_with(&format!("{name}-"));
    let (_, schema) = contract::json_schemas()
        .into_iter()
        .find(|(name, _)| known(name))
        .expect(example);
    schema
}

fn assert_valid(schema: &Value, value: &Value, what: &str) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(value)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{what}: {errors:?}");
}

#[test]
fn every_schema_has_an_example_and_every_example_a_schema_that_takes_it() {
    let examples = examples();
    for (name, payload) in &examples {
        assert_valid(
            &schema_of(name),
            &serde_json::from_slice(payload).unwrap(),
            name,
        );
    }
    for (name, schema) in contract::json_schemas() {
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        assert!(
            examples.keys().any(|example| example.starts_with(name)),
            "{name}"
        );
    }
}

#[test]
fn the_worked_example_is_the_one_of_the_protocol() {
    assert_eq!(
        examples()["request"],
        format!("{WORKED_EXAMPLE}\n").as_bytes()
    );
}

/// What is read is what is written again.
fn assert_reads<T: Serialize + DeserializeOwned>(name: &str, payload: &[u8]) {
    let read: T = serde_json::from_slice(payload).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut given: Value = serde_json::from_slice(payload).unwrap();
    if let Some(fields) = given.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    assert_eq!(serde_json::to_value(&read).unwrap(), given, "{name}");
}

#[test]
fn every_example_is_read_and_written_as_its_type() {
    for (name, payload) in examples() {
        match name.split('-').next().unwrap() {
            "request" => assert_reads::<ApprovalRequest>(&name, &payload),
            "decision" => assert_reads::<ApprovalDecision>(&name, &payload),
            "vote" => assert_reads::<Vote>(&name, &payload),
            "signed" => assert_reads::<SignedEnvelope>(&name, &payload),
            "anchor" => assert_reads::<Anchor>(&name, &payload),
            "agent" => assert_reads::<Enrolment>(&name, &payload),
            "alive" => assert!(parse_heartbeat(&payload).is_ok()),
            "hello" => {
                assert!(parse_hello("countersign.v1.hello.acme.billing-bot", &payload).is_ok());
            }
            "receipt" => {
                assert!(
                    parse_receipt("countersign.v1.receipt.acme.billing-bot.r", &payload).is_ok()
                );
            }
            "span" => {
                assert!(parse_span("countersign.v1.event.acme.billing-bot", &payload).is_ok())
            }
            "presence" => {
                let console = "1f0c6a52-8d3e-4b7a-9c21-5e4d3c2b1a00".parse().unwrap();
                assert!(parse_presence(&console, &payload).is_ok());
                let other = "another".parse().unwrap();
                assert!(parse_presence(&other, &payload).is_err());
            }
            "realm" => {
                let entry =
                    Entry::seal(&pair(1), &REALM, &serde_json::from_slice(&payload).unwrap());
                assert!(Entry::read(&entry.unwrap()).unwrap().is_signed(&REALM));
            }
            // Its signature is a vector of devices.
            "ask" => assert!(
                SigningKey::read(&serde_json::from_slice::<Value>(&payload).unwrap()["key"])
                    .is_some()
            ),
            "tighten" => {
                assert!(
                    parse_tighten("countersign.v1.tighten.acme.billing-bot.r", &payload).is_ok()
                );
            }
            "withdraw" => assert!(parse_withdraw(&payload).reason.is_some()),
            other => panic!("no type for {other}"),
        }
    }
}

#[test]
fn every_signature_holds_and_every_signed_example_has_one() {
    let examples = examples();
    let signatures: Value =
        serde_json::from_slice(&fs::read(published("examples/signatures.json")).unwrap()).unwrap();
    let mut signed = Vec::new();
    for row in signatures.as_array().unwrap() {
        let text = |name: &str| row[name].as_str().unwrap();
        let contexts = [
            Context::Decision,
            Context::Vote,
            Context::Policy,
            Context::Audit,
        ];
        let context = contexts
            .into_iter()
            .find(|context| context.as_str() == text("context"))
            .unwrap();
        let name = text("file").trim_end_matches(".json");
        assert_eq!(text("realm"), REALM.to_string());
        verify(
            text("key"),
            context,
            &REALM,
            text("subject"),
            &examples[name],
            text("sig"),
        )
        .expect(name);
        signed.push(name);
    }
    for name in examples
        .keys()
        .filter(|name| name.starts_with("decision") || name.starts_with("vote"))
    {
        assert!(signed.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn every_published_decision_stands() {
    let examples = examples();
    let requests: Vec<_> = examples
        .iter()
        .filter(|(name, _)| name.starts_with("request"))
        .map(|(_, payload)| {
            let request: ApprovalRequest = serde_json::from_slice(payload).unwrap();
            parse_request(&request_subject(&request.key()), payload).unwrap()
        })
        .collect();
    let signatures: Value =
        serde_json::from_slice(&fs::read(published("examples/signatures.json")).unwrap()).unwrap();
    let mut judged = 0;
    for row in signatures
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["context"] == "decision")
    {
        let text = |name: &str| row[name].as_str().unwrap();
        let Some(Subject::Decision(key)) = Subject::parse(text("subject")) else {
            panic!("{row}")
        };
        let parsed = requests.iter().find(|parsed| parsed.key == key).unwrap();
        let facts = RequestFacts::of(parsed, parsed.request.deadline(STORED_AT));
        let current = verify_decision(&DecisionCheck {
            subject: text("subject"),
            payload: &examples[text("file").trim_end_matches(".json")],
            key_header: row["key"].as_str(),
            sig_header: row["sig"].as_str(),
            stored_at: STORED_AT + Duration::seconds(20),
            standing: log().at(None),
            request: &facts,
        });
        assert!(current.is_ok(), "{}: {current:?}", text("file"));
        judged += 1;
    }
    assert!(judged > 10);
}

#[test]
fn the_examples_in_the_text_are_true() {
    let text = fs::read_to_string(published("README.md")).unwrap();
    let mut found = 0;
    for block in text.split("```json ").skip(1) {
        let (name, rest) = block.split_once('\n').unwrap();
        let (body, _) = rest.split_once("```").unwrap();
        assert_valid(&schema_of(name), &serde_json::from_str(body).unwrap(), name);
        match name {
            "request" => {
                let subject = "countersign.v1.request.acme.billing-bot.r-1";
                parse_request(subject, body.as_bytes()).unwrap();
            }
            "decision" => assert!(serde_json::from_str::<ApprovalDecision>(body).is_ok()),
            "receipt" => {
                assert!(
                    parse_receipt("countersign.v1.receipt.acme.bot.r", body.as_bytes()).is_ok()
                );
            }
            "tighten" => {
                assert!(
                    parse_tighten("countersign.v1.tighten.acme.bot.r", body.as_bytes()).is_ok()
                );
            }
            other => panic!("no check for {other}"),
        }
        found += 1;
    }
    assert_eq!(found, 4);
}

#[test]
fn the_page_tells_every_code_of_a_rejected_request_in_the_order_of_precedence() {
    let page = fs::read_to_string(published("v1.md")).unwrap();
    let (_, table) = page
        .split_once("| Code | What is wrong |\n|---|---|\n")
        .unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let reported: Vec<_> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    assert_eq!(reported, RejectionCode::ALL.map(RejectionCode::as_str));
}

#[test]
fn a_schema_refuses_what_the_reader_refuses() {
    let schema = schema_of("request");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let whole: Value = serde_json::from_str(WORKED_EXAMPLE).unwrap();
    for (field, to) in [
        ("v", json!(2)),
        ("kind", json!("x")),
        ("risk", json!(1)),
        ("agent", json!({})),
        ("tool", json!(null)),
        ("args_digest", json!("x")),
        ("approvals_required", json!(6)),
        ("metadata", json!([])),
        ("allowed_verdicts", json!("deny")),
        ("workspace", json!("A")),
    ] {
        let mut value = whole.clone();
        value[field] = to;
        assert!(!validator.is_valid(&value), "{field}");
    }
    for field in [
        "v",
        "kind",
        "tool",
        "args",
        "args_digest",
        "risk",
        "requested_at",
    ] {
        let mut value = whole.clone();
        value.as_object_mut().unwrap().remove(field);
        assert!(!validator.is_valid(&value), "{field}");
    }
}

#[test]
fn of_reports_the_schema_refuses_no_text_that_the_reader_takes_for_a_digest_and_takes_no_empty_id()
{
    for (name, field, to, taken) in [
        ("receipt", "executed_args_digest", json!("x"), true),
        ("receipt", "executed_args_digest", json!(null), true),
        ("receipt", "executed_args_digest", json!(1), false),
        ("span", "args_digest", json!("x"), true),
        ("span", "args_digest", json!(1), false),
        ("span", "trace_id", json!(""), false),
        ("span", "span_id", json!(""), false),
    ] {
        let mut value: Value = serde_json::from_slice(&examples()[name]).unwrap();
        value[field] = to;
        let validator = jsonschema::validator_for(&schema_of(name)).unwrap();
        assert_eq!(validator.is_valid(&value), taken, "{name}: {value}");
    }
}
