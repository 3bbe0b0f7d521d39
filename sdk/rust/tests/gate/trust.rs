//! New and retired operators.

use countersign_sdk::DecisionFault;
use countersign_sdk::wire::KeyRole;
use nkeys::KeyPair;
use serde_json::json;

use crate::console::{Console, Seen, delete_invoice};

async fn asked(console: &mut Console, gate: &countersign_sdk::Gate) -> (Seen, Answer) {
    let answer = tokio::spawn(gate.ask(delete_invoice()));
    (console.next_request().await, answer)
}

type Answer =
    tokio::task::JoinHandle<Result<countersign_sdk::Decision, countersign_sdk::GateError>>;

fn copy(pair: &KeyPair) -> KeyPair {
    KeyPair::from_seed(&pair.seed().unwrap()).unwrap()
}

#[tokio::test]
async fn a_new_operator_counts_once_a_trusted_person_signed_the_list() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let (human, auto) = (copy(&console.human), copy(&console.auto));
    let new = KeyPair::new_user();
    let listed = [
        (&human, KeyRole::Human),
        (&auto, KeyRole::Auto),
        (&new, KeyRole::Human),
    ];
    for (what, signer, counts) in [
        ("signed by itself", &new, false),
        ("signed by an automatic key", &auto, false),
        ("signed by a person", &human, true),
    ] {
        let (seen, answer) = asked(&mut console, &gate).await;
        console.list_operators(signer, &listed).await;
        let more = json!({ "args_digest": seen.args_digest });
        let draft = console.signed(&seen, "approve", more, &new, console.realm);
        assert!(console.store(draft).await);
        let decision = answer.await.unwrap().unwrap();
        assert_eq!(decision.allowed(), counts, "{what}");
        assert_eq!(
            decision.fault(),
            (!counts).then_some(DecisionFault::UnknownKey),
            "{what}"
        );
    }
}

#[tokio::test]
async fn an_operator_whom_the_list_leaves_out_counts_no_longer() {
    let mut console = Console::start().await;
    let (human, auto) = (copy(&console.human), copy(&console.auto));
    let other = KeyPair::new_user();
    console
        .list_operators(&human, &[(&other, KeyRole::Human), (&auto, KeyRole::Auto)])
        .await;
    let gate = console.gate().await;
    let (seen, answer) = asked(&mut console, &gate).await;
    console.approve(&seen).await;
    assert_eq!(
        answer.await.unwrap().unwrap().fault(),
        Some(DecisionFault::UnknownKey)
    );
}

#[tokio::test]
async fn a_list_that_is_signed_while_the_answer_waits_is_in_time() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let human = copy(&console.human);
    let new = KeyPair::new_user();
    let (seen, answer) = asked(&mut console, &gate).await;
    let more = json!({ "args_digest": seen.args_digest });
    assert!(
        console
            .store(console.signed(&seen, "approve", more, &new, console.realm))
            .await
    );
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    console
        .list_operators(&human, &[(&human, KeyRole::Human), (&new, KeyRole::Human)])
        .await;
    assert!(answer.await.unwrap().unwrap().allowed());
}
