//! Whom the gateway believes: the realm log, from the entry of its agent.json on.

use countersign_sdk::wire::realm::Realm;
use countersign_sdk::wire::{Context, Sha256Digest, realm_subject, verify};
use serde_json::{Value, json};

use crate::console::{Console, copy};
use crate::phone::Phone;
use crate::process::{Desk, deploy};

/// The log as a client folds it that has a login of its own.
async fn folded(console: &Console) -> Realm {
    let jetstream = async_nats::jetstream::new(console.client.clone());
    let stream = jetstream.get_stream("CS_DECISIONS").await.unwrap();
    let mut log = Realm::new(console.realm, console.head.root);
    for slot in 1..console.free {
        let subject = realm_subject(slot);
        let entry = stream.get_last_raw_message_by_subject(&subject);
        let entry = entry.await.unwrap();
        log.apply(slot, entry.sequence, &entry.payload);
    }
    log
}

/// Asks for a call of this risk; its id and what the console saw.
async fn asked(desk: &mut Desk, key: &str, risk: &str) -> (String, crate::console::Seen) {
    let mut body = deploy();
    body["risk"] = json!(risk);
    let id = desk.ask(key, body).await.body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    (id, desk.console.next_request().await)
}

fn of(proof: &Value, name: &str) -> String {
    proof[name].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn whom_the_log_lets_in_later_counts_and_proof_is_verified_by_the_log_alone() {
    let mut desk = Desk::start().await;
    let enrolled = desk.console.head.n;
    let grace = desk.console.let_in(json!({})).await;
    assert!(
        desk.console.head.n > enrolled,
        "agent.json does not name her"
    );
    let (id, seen) = asked(&mut desk, "k", "high").await;
    let more = json!({ "args_digest": seen.args_digest });
    let console = &desk.console;
    let draft = console.signed(&seen, "approve", more, &grace, console.realm);
    assert!(console.store(draft).await);
    desk.left(&id).await;
    let claim = desk.claim(&id).await;
    assert_eq!((claim.status, &claim.body["run"]), (200, &json!(true)));
    let proof = &claim.body["proof"];
    let [subject, payload, key, sig] =
        ["subject", "payload", "key", "sig"].map(|name| of(proof, name));
    let realm = &desk.console.realm;
    let holds = |payload: &str| {
        verify(
            &key,
            Context::Decision,
            realm,
            &subject,
            payload.as_bytes(),
            &sig,
        )
        .is_ok()
    };
    assert!(holds(&payload) && !holds(&payload.replace("approve", "modify!")));
    let log = folded(&desk.console).await;
    assert!(log.term(&key, None).is_some(), "she is in force");
    let decision: Value = serde_json::from_str(&payload).unwrap();
    assert_eq!(decision["args_digest"], claim.body["args_digest"]);
    assert_eq!(decision["request_id"], claim.body["id"]);
    desk.console.end(&grace).await;
    let log = folded(&desk.console).await;
    assert!(log.term(&key, None).is_none(), "she has left");
}

#[tokio::test]
async fn who_left_before_the_gateway_looked_approves_nothing() {
    let mut desk = Desk::start().await;
    let grace = desk.console.let_in(json!({})).await;
    let (id, seen) = asked(&mut desk, "k", "high").await;
    desk.kill().await;
    let more = json!({ "args_digest": seen.args_digest });
    let console = &mut desk.console;
    let draft = console.signed(&seen, "approve", more, &grace, console.realm);
    assert!(console.store(draft).await);
    console.end(&grace).await;
    desk.start_again().await;
    assert_eq!(desk.left(&id).await["state"], "answered");
    let claim = desk.claim(&id).await;
    assert_eq!(
        (claim.status, &claim.body["fault"]),
        (403, &json!("unknown_key"))
    );
}

#[tokio::test]
async fn a_phone_approves_within_its_limits() {
    let mut desk = Desk::start().await;
    let phone = Phone::new();
    phone.add(&mut desk.console, "medium").await;
    let (id, seen) = asked(&mut desk, "k", "medium").await;
    assert!(
        desk.console
            .store(phone.approval(&desk.console, &seen))
            .await
    );
    desk.left(&id).await;
    let claim = desk.claim(&id).await;
    assert_eq!(
        (claim.status, &claim.body["run"]),
        (200, &json!(true)),
        "{claim:?}"
    );
    assert_eq!(claim.body["proof"]["key"], json!(phone.key()));
    assert_eq!(claim.body["decided_by"]["key"], json!(phone.key()));
}

#[tokio::test]
async fn a_login_whose_entry_the_bus_does_not_have_lets_nothing_run() {
    let console = Console::start().await;
    let mut enrolment = console.enrolment();
    let head = enrolment.log.as_mut().unwrap();
    (head.n, head.digest) = (2, Sha256Digest::of_bytes(b"another"));
    let mut desk = Desk::of(console, &enrolment, "").await;
    let mut body = deploy();
    body["timeout"] = json!(4);
    let id = desk.ask("k", body).await.body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let seen = desk.console.next_request().await;
    let human = copy(&desk.console.human);
    let more = json!({ "args_digest": seen.args_digest });
    let draft = desk
        .console
        .signed(&seen, "approve", more, &human, desk.console.realm);
    assert!(desk.console.store(draft).await);
    assert_eq!(desk.left(&id).await["state"], "expired");
    assert_eq!(desk.claim(&id).await.status, 403);
}
