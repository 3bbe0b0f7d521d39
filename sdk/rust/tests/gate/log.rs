//! The realm log: who counts, and what somebody tries at it.

use std::time::Duration;

use async_nats::HeaderMap;
use countersign_sdk::wire::realm_subject;
use countersign_sdk::{DecisionFault, DecisionVerdict, Gate, LogFault};
use countersign_testkit::AgentCredentials;
use nkeys::KeyPair;
use serde_json::json;
use tokio::time::timeout;

use crate::console::{Console, Seen, copy, delete_invoice, public, quick};

type Answer =
    tokio::task::JoinHandle<Result<countersign_sdk::Decision, countersign_sdk::GateError>>;

async fn asked(console: &mut Console, gate: &Gate) -> (Seen, Answer) {
    let answer = tokio::spawn(gate.ask(delete_invoice()));
    (console.next_request().await, answer)
}

async fn decide(console: &Console, seen: &Seen, verdict: &str, pair: &KeyPair) {
    let more = match verdict {
        "approve" => json!({ "args_digest": seen.args_digest }),
        _ => json!({}),
    };
    let draft = console.signed(seen, verdict, more, pair, console.realm);
    assert!(console.store(draft).await);
}

/// Why this key's approval of a call of risk high does not count; none where it runs.
async fn outcome(console: &mut Console, gate: &Gate, pair: &KeyPair) -> Option<DecisionFault> {
    let (seen, answer) = asked(console, gate).await;
    decide(console, &seen, "approve", pair).await;
    let decision = answer.await.unwrap().unwrap();
    assert_eq!(decision.allowed(), decision.fault().is_none());
    decision.fault()
}

/// The founder's approval runs, for an agent that is there and for one that starts.
async fn honest(console: &mut Console, gate: &Gate) {
    let human = copy(&console.human);
    assert_eq!(outcome(console, gate, &human).await, None);
    let fresh = console.gate().await;
    assert_eq!(outcome(console, &fresh, &human).await, None);
}

const UNKNOWN: Option<DecisionFault> = Some(DecisionFault::UnknownKey);
const LIMIT: Option<DecisionFault> = Some(DecisionFault::BeyondLimit);

#[tokio::test]
async fn whom_the_log_lets_in_counts_until_it_ends_and_within_its_limits() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    assert_eq!(
        outcome(&mut console, &gate, &KeyPair::new_user()).await,
        UNKNOWN
    );
    let grace = console.let_in(json!({})).await;
    assert_eq!(outcome(&mut console, &gate, &grace).await, None);
    for (limits, fault) in [
        (json!({ "max_risk": "high" }), None),
        (json!({ "max_risk": "medium" }), LIMIT),
        (json!({ "workspaces": ["other"] }), LIMIT),
        (json!({ "workspaces": ["acme"] }), None),
        (json!({ "of": "tomorrow" }), LIMIT),
    ] {
        let record = console.record(&grace, json!({ "limits": limits }));
        console.change(&[record]).await;
        assert_eq!(outcome(&mut console, &gate, &grace).await, fault);
        let (seen, answer) = asked(&mut console, &gate).await;
        decide(&console, &seen, "deny", &grace).await;
        let denied = answer.await.unwrap().unwrap();
        assert_eq!(
            (denied.verdict(), denied.fault()),
            (&DecisionVerdict::Deny, None)
        );
    }
    console.end(&grace).await;
    assert_eq!(outcome(&mut console, &gate, &grace).await, UNKNOWN);
    let again = console.record(&grace, json!({}));
    console.change(&[again]).await;
    assert_eq!(outcome(&mut console, &gate, &grace).await, UNKNOWN);
    honest(&mut console, &gate).await;
}

#[tokio::test]
async fn who_is_let_in_while_the_answer_waits_is_in_time() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let new = KeyPair::new_user();
    let record = console.record(&new, json!({}));
    let entry = console.entry(&copy(&console.human), json!({ "operators": [record] }));
    // A decision by a key that is let in afterwards is void: the entry comes first, and this agent reads it late.
    console.fill(entry, HeaderMap::new()).await;
    let (seen, answer) = asked(&mut console, &gate).await;
    decide(&console, &seen, "approve", &new).await;
    assert!(answer.await.unwrap().unwrap().allowed());
}

#[tokio::test]
async fn an_approval_of_somebody_who_left_before_the_agent_looked_does_not_run() {
    let mut console = Console::start().await;
    let grace = console.let_in(json!({})).await;
    let gate = console.gate().await;
    // Held back by a busy program: it is polled again only after she left.
    let mut answer = Box::pin(gate.ask(delete_invoice()));
    let first = timeout(Duration::from_millis(300), &mut answer).await;
    assert!(first.is_err());
    let seen = console.next_request().await;
    decide(&console, &seen, "approve", &grace).await;
    let leaving = json!({ "operators": [{ "id": public(&grace), "keys": [] }] });
    console.write(&grace, leaving).await;
    assert_eq!(answer.await.unwrap().fault(), UNKNOWN);
    honest(&mut console, &gate).await;
}

fn lies() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("Status", "404"),
        ("Nats-Sequence", "1"),
        ("Nats-Subject", "countersign.v1.realm.1"),
        ("Nats-Stream", "ELSEWHERE"),
        ("Nats-Time-Stamp", "2020-01-01T00:00:00Z"),
    ] {
        headers.insert(name, value);
    }
    headers
}

#[tokio::test]
async fn junk_and_headers_that_speak_as_the_server_does_hide_no_end() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let grace = console.let_in(json!({})).await;
    for junk in [&b""[..], b"\xff\x00", b"{}", b"null", &[b'x'; 100_000]] {
        console.fill(junk.to_vec(), HeaderMap::new()).await;
        console.fill(junk.to_vec(), lies()).await;
    }
    for n in 0..150 {
        console.fill(vec![n], HeaderMap::new()).await;
    }
    assert_eq!(outcome(&mut console, &gate, &grace).await, None);
    console.end(&grace).await;
    assert_eq!(outcome(&mut console, &gate, &grace).await, UNKNOWN);
    honest(&mut console, &gate).await;
}

#[tokio::test]
async fn a_slot_with_header_lines_that_nobody_can_parse_is_passed_or_nothing_runs() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let broken = b"NATS/1.0\r\nno header at all\r\n\xff\xfe: \xfd\r\n\r\n";
    // A console's login on a bare connection.
    let login = AgentCredentials {
        url: console.server.url(),
        workspace: "x".into(),
        agent: "y".into(),
        key: console.server.console_key().clone(),
    };
    let mut bare = login.connect_raw().await;
    let slot = realm_subject(console.free);
    bare.store(slot.as_bytes(), broken, b"junk").await;
    console.free += 1;
    let (seen, answer) = asked(&mut console, &gate).await;
    console.approve(&seen).await;
    // The library ends the connection that slots are read on, and no other: other answers still come.
    match timeout(Duration::from_secs(4), answer).await {
        Ok(answered) => assert!(answered.unwrap().unwrap().allowed()),
        Err(_) => assert!(gate.reachable().is_ok()),
    }
}

#[tokio::test]
async fn an_agent_whose_entry_the_bus_does_not_have_lets_nothing_run() {
    let mut console = Console::start().await;
    for (n, fault) in [(1, LogFault::Differs), (2, LogFault::Short)] {
        let mut enrolment = console.enrolment();
        let head = enrolment.log.as_mut().unwrap();
        head.n = n;
        head.digest = countersign_sdk::wire::Sha256Digest::of_bytes(b"another");
        let gate = Gate::builder(enrolment).timing(quick()).connect();
        let gate = gate.await.unwrap();
        let answer = tokio::spawn(gate.ask(delete_invoice().timeout(Duration::from_secs(2))));
        let seen = console.next_request().await;
        console.approve(&seen).await;
        let decision = answer.await.unwrap().unwrap();
        assert_eq!(*decision.verdict(), DecisionVerdict::Expired);
        assert!(!decision.allowed());
        assert_eq!(
            decision.unread().map(|why| why.code()),
            Some(fault.as_str())
        );
    }
}

#[tokio::test]
async fn a_stream_refilled_without_the_end_of_a_key_is_believed_by_nobody_until_it_is_put_back() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let grace = console.let_in(json!({})).await;
    console.end(&grace).await;
    assert_eq!(outcome(&mut console, &gate, &grace).await, UNKNOWN);
    let jetstream = async_nats::jetstream::new(console.client.clone());
    let mut stream = jetstream.get_stream("CS_DECISIONS").await.unwrap();
    let mut slots = Vec::new();
    for slot in 1..console.free {
        let kept = stream.get_last_raw_message_by_subject(&realm_subject(slot));
        slots.push(kept.await.unwrap().payload);
    }
    let config = stream.info().await.unwrap().config.clone();
    jetstream.delete_stream("CS_DECISIONS").await.unwrap();
    jetstream.create_stream(config).await.unwrap();
    let client = console.client.clone();
    for (slot, message) in (1..).zip(&slots[..2]) {
        let stored = client.request(realm_subject(slot), message.clone());
        stored.await.unwrap();
    }
    let stolen = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    decide(&console, &seen, "approve", &grace).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!stolen.is_finished());
    let put_back = client.request(realm_subject(3), slots[2].clone());
    put_back.await.unwrap();
    let decision = stolen.await.unwrap().unwrap();
    assert_eq!(decision.fault(), UNKNOWN);
    honest(&mut console, &gate).await;
}
