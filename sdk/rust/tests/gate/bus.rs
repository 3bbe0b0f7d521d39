//! Lost connections, poisoned hints and many questions at once.

use std::time::Duration;

use async_nats::HeaderMap;
use countersign_sdk::wire::{decided_subject, decision_subject};
use countersign_sdk::{DecisionVerdict, GateError};
use futures::future::join_all;
use tokio::time::Instant;

use crate::console::{Console, delete_invoice, quick};

#[tokio::test]
async fn a_poisoned_hint_is_ignored_and_the_stored_answer_counts() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let answer = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    let approval = console.approval(&seen);
    // Even a sound signature: it was never stored.
    let mut headers = HeaderMap::new();
    headers.insert("CS-Key", approval.key.unwrap());
    headers.insert("CS-Sig", approval.sig.unwrap());
    let decided = decided_subject(&seen.key);
    for _ in 0..20 {
        let payload = approval.payload.clone().into();
        let hint = console
            .client
            .publish_with_headers(decided.clone(), headers.clone(), payload);
        hint.await.unwrap();
        console
            .client
            .publish(decided.clone(), "+OK".into())
            .await
            .unwrap();
    }
    console.client.flush().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!answer.is_finished());
    let draft = console.decision(&seen, "deny", serde_json::json!({}));
    assert!(console.store(draft).await);
    let decision = answer.await.unwrap().unwrap();
    assert_eq!(
        (decision.verdict(), decision.fault()),
        (&DecisionVerdict::Deny, None)
    );
}

#[tokio::test]
async fn an_answer_given_while_the_agent_was_away_is_found_after_the_reconnect() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let answer = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    console.server.restart().await;
    // The hint of this one may arrive before the agent is back; the look after the reconnect counts.
    let approval = console.approval(&seen);
    let jetstream =
        async_nats::ConnectOptions::with_nkey(console.server.console_key().seed.clone())
            .connect(console.server.url())
            .await
            .unwrap();
    console.client = jetstream;
    assert!(console.store(approval).await);
    assert!(answer.await.unwrap().unwrap().allowed());
}

#[tokio::test]
async fn an_answer_whose_hint_is_lost_is_found_by_looking() {
    let mut console = Console::start().await;
    let jetstream = async_nats::jetstream::new(console.client.clone());
    let mut stream = jetstream.get_stream("CS_DECISIONS").await.unwrap();
    let mut config = stream.info().await.unwrap().config.clone();
    config.republish = None;
    jetstream.update_stream(config).await.unwrap();
    for looks in [vec![50], vec![]] {
        let mut timing = quick();
        timing.looks = looks.into_iter().map(Duration::from_millis).collect();
        timing.look_every = Duration::from_millis(100);
        let gate = console.builder().timing(timing).connect().await.unwrap();
        let answer = tokio::spawn(gate.ask(delete_invoice()));
        let seen = console.next_request().await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        console.approve(&seen).await;
        assert!(answer.await.unwrap().unwrap().allowed());
    }
}

#[tokio::test]
async fn a_question_raised_while_the_bus_is_away_is_asked_when_it_is_back() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    console.server.kill9();
    let answer = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    console.approve(&seen).await;
    assert!(answer.await.unwrap().unwrap().allowed());
}

#[tokio::test]
async fn a_question_that_the_bus_never_took_is_an_error_in_time() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    console.server.stop().await;
    let began = Instant::now();
    let outcome = gate
        .ask(delete_invoice().timeout(Duration::from_millis(500)))
        .await;
    assert_eq!(outcome.unwrap_err().code(), "not_placed");
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn an_agent_whose_login_was_taken_away_is_told_long_before_its_deadline() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let credentials = console.agent.clone();
    console.server.remove(&credentials).await;
    // The first may still leave on the old connection, the second finds it closed.
    for _ in 0..2 {
        let began = Instant::now();
        let error = gate.ask(delete_invoice()).await.unwrap_err();
        assert_eq!(error, GateError::LoginRefused);
        assert!(began.elapsed() < Duration::from_secs(15));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_questions_wait_at_once_and_each_gets_its_own_answer() {
    const MANY: usize = 1_000;
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let answers: Vec<_> = (0..MANY)
        .map(|_| tokio::spawn(gate.ask(delete_invoice())))
        .collect();
    let mut seen = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        seen.push(console.next_request().await);
    }
    // Last first, every third one denied.
    seen.reverse();
    let stores = seen.iter().enumerate().map(|(index, seen)| {
        let draft = match index % 3 {
            0 => console.decision(seen, "deny", serde_json::json!({})),
            _ => console.approval(seen),
        };
        console.store(draft)
    });
    assert!(join_all(stores).await.into_iter().all(|stored| stored));
    let mut by_subject = std::collections::HashMap::new();
    for answer in answers {
        let decision = answer.await.unwrap().unwrap();
        by_subject.insert(decision_subject(decision.request()), decision.allowed());
    }
    for (index, seen) in seen.iter().enumerate() {
        assert_eq!(by_subject[&decision_subject(&seen.key)], index % 3 != 0);
    }
}

#[tokio::test]
async fn more_than_the_limit_is_refused_at_once_and_closing_withdraws_the_rest() {
    let mut console = Console::start().await;
    let gate = console.builder().max_waiting(2).connect().await.unwrap();
    let first = tokio::spawn(gate.ask(delete_invoice()));
    let second = tokio::spawn(gate.ask(delete_invoice()));
    let seen = [console.next_request().await, console.next_request().await];
    let third = gate.ask(delete_invoice()).await;
    assert_eq!(third.unwrap_err(), GateError::TooManyWaiting { limit: 2 });
    assert!(gate.clone().close().await);
    for (answer, seen) in [first, second].into_iter().zip(&seen) {
        assert_eq!(answer.await.unwrap().unwrap_err(), GateError::Closed);
        let subject = countersign_sdk::wire::withdraw_subject(&seen.key);
        console.stored("CS_REQUESTS", &subject, 1).await;
    }
    assert_eq!(
        gate.ask(delete_invoice()).await.unwrap_err(),
        GateError::Closed
    );
}
