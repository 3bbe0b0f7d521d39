//! Opening a gate, and what fails before anything is sent.

use std::time::Duration;

use countersign_sdk::wire::{Stage, hello_subject, parse_hello};
use countersign_sdk::{Ask, Gate, Timing};
use futures::StreamExt;
use nkeys::KeyPair;
use serde_json::json;

use crate::console::{Console, LIMIT, delete_invoice, quick};

fn hurried() -> Timing {
    let mut timing = quick();
    timing.connect = Duration::from_millis(300);
    timing
}

#[tokio::test]
async fn an_enrolment_without_a_log_opens_only_when_told_insecure() {
    let mut console = Console::start().await;
    let mut enrolment = console.enrolment();
    enrolment.log = None;
    let refused = Gate::connect(enrolment.clone()).await;
    assert_eq!(refused.err().unwrap().code(), "no_log");
    let gate = Gate::builder(enrolment)
        .insecure(true)
        .connect()
        .await
        .unwrap();
    let answer = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    console.approve(&seen).await;
    assert!(answer.await.unwrap().unwrap().allowed());
}

#[tokio::test]
async fn what_cannot_work_has_its_own_code_and_no_secret() {
    let console = Console::start().await;
    let sound = console.enrolment();
    let stranger = KeyPair::new_user();
    let mut unknown = sound.clone();
    unknown.nkey_seed = countersign_sdk::wire::NkeySeed::new(stranger.seed().unwrap());
    let mut prefix = sound.clone();
    prefix.inbox_prefix = "_INBOX".into();
    let mut away = sound.clone();
    away.nats_url = "nats://127.0.0.1:1".into();
    unknown.inbox_prefix = format!("_INBOX_{}", stranger.public_key());
    for (enrolment, code) in [
        (unknown, "bus_login_refused"),
        (prefix, "bad_enrolment"),
        (away, "bus_unreachable"),
    ] {
        let seed = enrolment.nkey_seed.reveal().to_owned();
        let error = Gate::builder(enrolment)
            .timing(hurried())
            .connect()
            .await
            .err()
            .unwrap();
        assert_eq!(error.code(), code);
        assert!(!error.to_string().contains(&seed));
    }
    let file = tempfile();
    std::fs::write(&file, br#"{"nkey_seed":"SUSECRET"}"#).unwrap();
    let error = Gate::connect(file.clone()).await.err().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(error.code(), "bad_enrolment");
    assert!(!error.to_string().contains("SUSECRET"));
}

#[tokio::test]
async fn it_opens_from_a_file_says_hello_and_shows_that_it_lives() {
    let console = Console::start().await;
    let file = tempfile();
    std::fs::write(&file, serde_json::to_vec(&console.enrolment()).unwrap()).unwrap();
    let mut alive = console
        .client
        .subscribe("countersign.v1.alive.acme.billing-bot")
        .await
        .unwrap();
    console.client.flush().await.unwrap();
    let gate = Gate::builder(file.clone())
        .framework("none", "1")
        .connect()
        .await
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    let subject = hello_subject(gate.agent());
    let stored = console.stored("CS_AGENTS", &subject, 1).await;
    let hello = parse_hello(&subject, &stored[0]).unwrap();
    assert_eq!(hello.agent.framework.as_deref(), Some("none"));
    assert!(hello.instance_id.is_some());
    tokio::time::timeout(LIMIT, alive.next())
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn what_a_console_would_reject_is_not_sent() {
    let console = Console::start().await;
    let gate = console.gate().await;
    let deep = (0..70).fold(json!(0), |inner, _| json!([inner]));
    for (ask, code) in [
        (
            Ask::tool("t", json!({ "n": 9_007_199_254_740_993_i64 })),
            "not_json",
        ),
        (Ask::tool("t", deep), "not_json"),
        (
            Ask::tool("t", json!({ "s": "x".repeat(600 * 1024) })),
            "too_large",
        ),
        (delete_invoice().timeout(Duration::ZERO), "bad_lifetime"),
        (delete_invoice().approvals_required(9), "wrong_type"),
    ] {
        let error = gate.ask(ask).await.unwrap_err();
        assert!(
            matches!(&error, countersign_sdk::GateError::InvalidRequest { code: found, .. } if *found == code),
            "{error:?}"
        );
    }
    assert!(gate.close().await);
}

#[tokio::test]
async fn one_id_waits_once() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let ask = || delete_invoice().request_id("r1".parse().unwrap());
    let first = tokio::spawn(gate.ask(ask()));
    console.next_request().await;
    assert_eq!(gate.ask(ask()).await.unwrap_err().code(), "already_waiting");
    first.abort();
}

#[tokio::test]
async fn what_another_instance_asked_is_neither_answered_nor_taken_back() {
    let mut console = Console::start().await;
    let (first, second) = (console.gate().await, console.gate().await);
    let ask = || delete_invoice().request_id("r1".parse().unwrap());
    let waiting = tokio::spawn({
        let first = first.clone();
        async move { first.ask(ask()).await }
    });
    let seen = console.next_request().await;
    // Where it waits, and where it is answered.
    for answered in [false, true] {
        if answered {
            console.approve(&seen).await;
        }
        let error = second.ask(ask()).await.unwrap_err();
        assert_eq!(error.code(), "already_asked");
    }
    let decision = waiting.await.unwrap().unwrap();
    assert!(decision.allowed());
    decision.executed(decision.args().unwrap()).await.unwrap();
    assert!(second.close().await && first.close().await);
    let receipts = console.receipts(&seen, 2).await;
    let stages: Vec<_> = receipts.iter().map(|receipt| receipt.stage).collect();
    assert_eq!(stages, [Stage::Received, Stage::Executed]);
    let mut requests = async_nats::jetstream::new(console.client.clone())
        .get_stream("CS_REQUESTS")
        .await
        .unwrap();
    assert_eq!(requests.info().await.unwrap().state.messages, 1);
}

fn tempfile() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("countersign-{}.json", uuid::Uuid::new_v4()))
}
