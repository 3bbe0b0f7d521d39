//! Stored decisions that do not count: each word of the protocol that can reach a gateway.
//!
//! `wrong_subject` cannot: it reads the subject of its own request. Nor can `device_unsupported`: it says that it
//! verifies devices.

use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::console::{Console, Draft, Seen};
use crate::phone::Phone;
use crate::process::{Desk, deploy};

const OTHER: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Whom the log names.
struct People {
    junior: KeyPair,
    phone: Phone,
}

type Spoil = fn(&Console, &Seen, &People) -> Draft;

fn with(console: &Console, seen: &Seen, more: Value) -> Draft {
    let mut all = json!({ "args_digest": seen.args_digest });
    all.as_object_mut()
        .unwrap()
        .extend(more.as_object().cloned().unwrap());
    console.decision(seen, "approve", all)
}

fn signed(console: &Console, seen: &Seen, pair: &KeyPair) -> Draft {
    let more = json!({ "args_digest": seen.args_digest });
    console.signed(seen, "approve", more, pair, console.realm)
}

const CASES: [(&str, Spoil); 15] = [
    ("unsigned", |console, seen, _| Draft {
        sig: None,
        ..console.approval(seen)
    }),
    ("unsigned", |console, seen, _| Draft {
        key: None,
        ..console.approval(seen)
    }),
    ("unknown_key", |console, seen, _| {
        signed(console, seen, &KeyPair::new_user())
    }),
    ("unknown_key", |console, seen, _| {
        Phone::new().approval(console, seen)
    }),
    ("bad_signature", |console, seen, _| {
        let mut draft = console.approval(seen);
        draft.payload[20] ^= 1;
        draft
    }),
    ("bad_signature", |console, seen, people| {
        let mut draft = people.phone.approval(console, seen);
        draft.sig = draft.sig.map(|sig| sig.replacen('.', ".e30.", 1));
        draft
    }),
    ("malformed", |console, seen, _| {
        with(console, seen, json!({ "v": 2 }))
    }),
    ("wrong_request", |console, seen, _| {
        with(console, seen, json!({ "request_id": "another" }))
    }),
    ("wrong_request_digest", |console, seen, _| {
        with(console, seen, json!({ "request_digest": OTHER }))
    }),
    ("wrong_role", |console, seen, _| {
        signed(console, seen, &console.auto)
    }),
    ("not_allowed", |console, seen, _| {
        console.decision(seen, "escalate", json!({}))
    }),
    ("wrong_args_digest", |console, seen, _| {
        with(console, seen, json!({ "args_digest": OTHER }))
    }),
    ("too_few_votes", |console, seen, _| {
        with(
            console,
            seen,
            json!({ "votes": [console.vote(seen, &console.human)] }),
        )
    }),
    ("beyond_limit", |console, seen, people| {
        signed(console, seen, &people.junior)
    }),
    ("device_limit", |console, seen, people| {
        people.phone.approval(console, seen)
    }),
];

#[tokio::test]
async fn what_does_not_count_is_void_says_why_and_runs_nothing() {
    let mut desk = Desk::start().await;
    let people = People {
        junior: desk
            .console
            .let_in(json!({ "limits": { "max_risk": "medium" } }))
            .await,
        phone: Phone::new(),
    };
    people.phone.add(&mut desk.console, "medium").await;
    for (number, (fault, spoil)) in CASES.iter().enumerate() {
        let mut body = deploy();
        if *fault == "too_few_votes" {
            body["approvals_required"] = json!(2);
        }
        let asked = desk.ask(&format!("k{number}"), body).await;
        let id = asked.body["id"].as_str().unwrap();
        let seen = desk.console.next_request().await;
        let draft = spoil(&desk.console, &seen, &people);
        assert!(desk.console.store(draft).await, "{fault}");
        assert_eq!(desk.left(id).await["state"], "answered", "{fault}");
        for _ in 0..2 {
            let claim = desk.claim(id).await;
            let found = (claim.status, &claim.body["fault"], &claim.body["verdict"]);
            assert_eq!(found, (403, &json!(fault), &json!("deny")), "{claim:?}");
            assert_eq!(claim.body["run"], false);
            assert!(claim.body.get("args").is_none() && claim.body.get("proof").is_none());
        }
    }
}
