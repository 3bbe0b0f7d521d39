//! The worked example of the protocol (section 9) and keys to sign with.

use std::{fs, path::PathBuf, sync::LazyLock};

use countersign_wire::{
    ApprovalDecision, Context, PublicKey, Rejection, RequestFacts, RequestKey, Sha256Digest,
    Verdict, VerdictSet, decision_subject, parse_request,
    realm::{Entry, Realm, Word},
    sign,
};
use nkeys::KeyPair;
use serde_json::{Value, json};
use time::{OffsetDateTime, macros::datetime};
use uuid::{Uuid, uuid};

use crate::realm_model::{entry, key as realm_key, text};

pub(crate) const REALM: Uuid = uuid!("6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f0");
pub(crate) const STORED_AT: OffsetDateTime = datetime!(2026-11-21 12:00:00.250 UTC);
pub(crate) const SUBJECT: &str =
    "countersign.v1.request.acme.billing-bot.019aa000-0000-7000-8000-000000000001";

pub(crate) const WORKED_EXAMPLE: &str = r#"{"v":1,"request_id":"019aa000-0000-7000-8000-000000000001","kind":"tool_call","workspace":"acme",
 "agent":{"name":"billing-bot","framework":"selectools","framework_version":"1.3.0"},
 "run_id":"r1","call_id":"call_93","tool":{"name":"delete_invoice","origin":"local","effects":"irreversible"},
 "args":{"invoice_id":"INV-42"},
 "args_digest":"sha256:30e64fe16d9c35d7dea1689837b3dd7e4c4a95c90b71eefec776582e94f00d95","risk":"high",
 "allowed_verdicts":["approve","modify","deny"],
 "requested_at":"2026-11-21T12:00:00.000Z","expires_at":"2026-11-21T12:01:00.000Z"}"#;

/// The worked example as a value, to be changed.
pub(crate) fn request() -> Value {
    serde_json::from_str(WORKED_EXAMPLE).unwrap()
}

/// A question of the same agent.
pub(crate) fn question() -> Value {
    let mut value = request();
    let fields = value.as_object_mut().unwrap();
    for name in ["tool", "args", "args_digest"] {
        fields.remove(name);
    }
    value["kind"] = json!("question");
    value["question"] = json!({"text": "Which invoice?"});
    value["allowed_verdicts"] = json!(["respond"]);
    value
}

/// A form of the same agent.
pub(crate) fn form() -> Value {
    let mut value = question();
    value.as_object_mut().unwrap().remove("question");
    value["kind"] = json!("form");
    value["response_schema"] = json!({"type": "object"});
    value
}

pub(crate) fn key() -> RequestKey {
    "acme/billing-bot/019aa000-0000-7000-8000-000000000001"
        .parse()
        .unwrap()
}

/// A pair whose secret is 32 times this byte.
pub(crate) fn pair(byte: u8) -> KeyPair {
    KeyPair::new_from_raw(nkeys::KeyPairType::User, [byte; 32]).unwrap()
}

pub(crate) fn public(byte: u8) -> PublicKey {
    PublicKey::of(&pair(byte)).unwrap()
}

/// An operator with one desk key.
pub(crate) fn newcomer(byte: u8) -> Value {
    json!({"id": text(byte), "name": "op", "keys": [realm_key(byte, "human", &text(byte))]})
}

/// A realm log of one entry for each change, signed by the pair of that byte, in slots and sequences from 1.
pub(crate) fn log_of(changes: &[(u8, Value)]) -> Realm {
    let (mut prev, mut log) = (None, None);
    for ((by, change), n) in changes.iter().zip(1..) {
        let message = entry(*by, n, prev, change);
        let digest = Entry::read(&message).unwrap().digest;
        prev = Some(digest);
        let log = log.get_or_insert_with(|| Realm::new(REALM, digest));
        assert_eq!(log.apply(n, n, &message), Word::Ok, "{change}");
    }
    log.unwrap()
}

/// Keys 1 to 9 are operators', 10 to 19 are those of the first one's consoles; others are unknown.
pub(crate) fn log() -> &'static Realm {
    static LOG: LazyLock<Realm> = LazyLock::new(|| {
        let mut first = newcomer(1);
        first["admin"] = json!(true);
        let keys = first["keys"].as_array_mut().unwrap();
        keys.extend((10..20).map(|console| realm_key(console, "auto", &text(1))));
        let others = (2..10).map(newcomer);
        let operators: Vec<Value> = std::iter::once(first).chain(others).collect();
        log_of(&[(1, json!({"operators": operators}))])
    });
    &LOG
}

pub(crate) fn facts() -> RequestFacts {
    let parsed = parse_request(SUBJECT, WORKED_EXAMPLE.as_bytes()).unwrap();
    RequestFacts {
        allowed: Verdict::ALL.iter().copied().collect::<VerdictSet>(),
        ..RequestFacts::of(&parsed, parsed.request.deadline(STORED_AT))
    }
}

/// A decision of operator 1 on the worked example.
pub(crate) fn decision(verdict: &str) -> Value {
    let facts = facts();
    let mut value = json!({
        "v": 1,
        "decision_id": "019aa000-0001-7000-8000-000000000001",
        "request_id": facts.key.request_id,
        "request_digest": facts.request_digest,
        "verdict": verdict,
        "origin": "operator",
        "decided_by": {"name": "Ada", "key": public(1)},
        "decided_at": "2026-11-21T12:00:20.000Z",
    });
    match verdict {
        "approve" => value["args_digest"] = json!(facts.args_digest),
        "modify" => {
            let edited = json!({"invoice_id": "INV-43"});
            value["args_digest"] = json!(countersign_wire::args_digest(&edited).unwrap());
            value["edited_args"] = edited;
        }
        "respond" => value["response"] = json!({"content": "INV-42 is paid; leave it"}),
        "expired" | "withdrawn" | "rejected" => {
            let origin = match verdict {
                "expired" => "timeout",
                "withdrawn" => "agent",
                _ => "system",
            };
            value["origin"] = json!(origin);
            value["decided_by"] = json!({"name": "desk", "key": public(10)});
        }
        _ => {}
    }
    value
}

/// A decision as stored: payload, key and signature.
pub(crate) struct Signed {
    pub(crate) payload: Vec<u8>,
    pub(crate) key: String,
    pub(crate) sig: String,
}

/// Signs a decision with the pair of this byte.
pub(crate) fn signed(decision: &Value, byte: u8) -> Signed {
    let payload = serde_json::to_vec(decision).unwrap();
    let subject = decision_subject(&key());
    let sig = sign(&pair(byte), Context::Decision, &REALM, &subject, &payload).unwrap();
    Signed {
        payload,
        key: public(byte).to_string(),
        sig: sig.to_string(),
    }
}

pub(crate) fn typed(decision: Value) -> ApprovalDecision {
    serde_json::from_value(decision).unwrap()
}

pub(crate) fn digest_of(text: &str) -> Sha256Digest {
    Sha256Digest::of_bytes(text.as_bytes())
}

/// The rejection of a request that must be rejected.
pub(crate) fn rejected(subject: &str, payload: &[u8]) -> Rejection {
    parse_request(subject, payload).expect_err("a rejection")
}

/// The bytes of a file of `docs/protocol`.
pub(crate) fn published(name: &str) -> Vec<u8> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/protocol", name]
        .iter()
        .collect();
    fs::read(path).unwrap()
}
