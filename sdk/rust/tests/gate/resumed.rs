//! An agent that starts again and sends the bytes of its earlier life, whose deadline has passed.

use std::time::Duration;

use async_nats::jetstream::stream::Config;
use countersign_sdk::{Ask, DecisionFault, Gate};
use serde_json::json;

use crate::console::{Console, delete_invoice, quick};

/// Asked an hour ago for one minute, and approved then; the bus holds both.
async fn approved_an_hour_ago(console: &mut Console, gate: &Gate) -> Ask {
    let asking = tokio::spawn(gate.ask(delete_invoice().timeout(Duration::from_secs(60))));
    let template = console.next_request().await;
    asking.abort();
    let mut request: serde_json::Value = serde_json::from_slice(&template.payload).unwrap();
    let hours = |at: &serde_json::Value| {
        let at: countersign_sdk::wire::Timestamp = at.as_str().unwrap().parse().unwrap();
        let hour = time::Duration::hours(1);
        json!(countersign_sdk::wire::Timestamp::new(at.get() - hour))
    };
    request["request_id"] = json!("earlier");
    request["requested_at"] = hours(&request["requested_at"]);
    request["expires_at"] = hours(&request["expires_at"]);
    let request: countersign_sdk::ApprovalRequest = serde_json::from_value(request).unwrap();
    let earlier = tokio::spawn(gate.ask(request.clone()));
    let seen = console.next_request().await;
    console.approve(&seen).await;
    // In that life it was in time: the bus has the request since just now.
    assert!(earlier.await.unwrap().unwrap().allowed());
    Ask::raw(request)
}

async fn change(console: &Console, change: impl FnOnce(&mut Config)) {
    let jetstream = async_nats::jetstream::new(console.client.clone());
    let mut stream = jetstream.get_stream("CS_REQUESTS").await.unwrap();
    let mut config = stream.info().await.unwrap().config.clone();
    change(&mut config);
    jetstream.update_stream(config).await.unwrap();
}

/// Asks again, while the bus leaves the first attempt without an answer.
async fn asks_again(looks: Vec<Duration>) {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let again = approved_an_hour_ago(&mut console, &gate).await;
    let mut timing = quick();
    timing.exchange = Duration::from_millis(500);
    timing.looks = looks;
    let later = console.builder().timing(timing).connect().await.unwrap();
    let mut subjects = Vec::new();
    change(&console, |config| {
        subjects = std::mem::replace(&mut config.subjects, vec!["elsewhere.>".into()]);
    })
    .await;
    let asking = tokio::spawn(later.ask(again));
    // Nobody stores this one.
    console.next_request().await;
    change(&console, |config| config.subjects = subjects).await;
    let decision = asking.await.unwrap().unwrap();
    assert_eq!(decision.fault(), Some(DecisionFault::Late));
    assert!(!decision.allowed() && decision.args().is_none());
}

#[tokio::test]
async fn an_old_approval_is_late_although_the_first_attempt_to_ask_again_got_no_answer() {
    asks_again(vec![Duration::from_secs(60)]).await;
}

#[tokio::test]
async fn an_old_approval_is_late_although_it_was_there_to_read_before_the_bus_took_the_request() {
    asks_again(vec![Duration::ZERO, Duration::from_secs(60)]).await;
}
