//! New and retired operators.

use countersign_sdk::wire::{KeyRole, OperatorEntry, Risk, Timestamp, TrustedKey};
use countersign_sdk::{DecisionFault, Gate};
use nkeys::KeyPair;
use serde_json::json;

use crate::console::{Console, Seen, delete_invoice, public, quick};

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

/// The request has risk high. What is written after the gate was opened and before the decision was
/// stored counts, although no key of it is new to the agent.
#[tokio::test]
async fn an_approval_beyond_its_operators_limits_or_after_his_end_is_void_and_a_denial_is_not() {
    let mut console = Console::start().await;
    let human = copy(&console.human);
    // A limited operator lifts nobody's limits: another one signs.
    let boss = KeyPair::new_user();
    let mut enrolment = console.enrolment();
    enrolment.trusted_keys.push(TrustedKey {
        key: public(&boss),
        name: "Boss".into(),
        role: KeyRole::Human,
    });
    let gate = Gate::builder(enrolment).timing(quick()).connect().await;
    let gate = gate.unwrap();
    let from: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
    let free = OperatorEntry::new(public(&human), "Ada".into(), KeyRole::Human, from);
    let chief = OperatorEntry::new(public(&boss), "Boss".into(), KeyRole::Human, from);
    let within = |max_risk, ws: &str| OperatorEntry {
        max_risk: Some(max_risk),
        workspaces: Some(vec![ws.parse().unwrap()]),
        ..free.clone()
    };
    let limit = Some(DecisionFault::BeyondLimit);
    let ended = OperatorEntry {
        until: Some(from),
        ..free.clone()
    };
    for (what, term, fault) in [
        ("without limits", free.clone(), None),
        ("up to high", within(Risk::High, "acme"), None),
        ("up to medium", within(Risk::Medium, "acme"), limit),
        ("elsewhere", within(Risk::Critical, "other"), limit),
    ] {
        let (seen, answer) = asked(&mut console, &gate).await;
        console.list_terms(&boss, vec![chief.clone(), term]).await;
        console.approve(&seen).await;
        let decision = answer.await.unwrap().unwrap();
        assert_eq!(decision.fault(), fault, "{what}");
        assert_eq!(decision.allowed(), fault.is_none(), "{what}");
    }
    let (seen, answer) = asked(&mut console, &gate).await;
    let narrow = within(Risk::Safe, "other");
    console.list_terms(&boss, vec![chief.clone(), narrow]).await;
    let no = console.signed(&seen, "deny", json!({}), &human, console.realm);
    assert!(console.store(no).await);
    assert_eq!(answer.await.unwrap().unwrap().fault(), None);
    let (seen, answer) = asked(&mut console, &gate).await;
    console.list_terms(&boss, vec![chief.clone(), free]).await;
    console.approve(&seen).await;
    let freed = answer.await.unwrap().unwrap();
    assert!(freed.allowed(), "the agent still had the narrow list");
    let (seen, answer) = asked(&mut console, &gate).await;
    console.list_terms(&boss, vec![chief, ended]).await;
    console.approve(&seen).await;
    let retired = Some(DecisionFault::UnknownKey);
    assert_eq!(answer.await.unwrap().unwrap().fault(), retired);
}
