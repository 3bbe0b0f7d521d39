//! Decisions that must not let the call run.

use std::time::Duration;

use countersign_sdk::wire::{Context, KeyRole, Stage, sign};
use countersign_sdk::{DecisionFault, DecisionVerdict, Verdict};
use nkeys::KeyPair;
use serde_json::json;
use uuid::Uuid;

use crate::console::{Console, Draft, Seen, delete_invoice, digest_of};

type Spoil = fn(&Console, &Seen) -> Draft;

/// What is stored, and why it does not count.
const CASES: &[(&str, Spoil, DecisionFault)] = &[
    (
        "unsigned",
        |console, seen| Draft {
            sig: None,
            ..console.approval(seen)
        },
        DecisionFault::Unsigned,
    ),
    (
        "without its key",
        |console, seen| Draft {
            key: None,
            ..console.approval(seen)
        },
        DecisionFault::Unsigned,
    ),
    (
        "signed by a stranger",
        |console, seen| {
            let more = json!({ "args_digest": seen.args_digest });
            console.signed(seen, "approve", more, &KeyPair::new_user(), console.realm)
        },
        DecisionFault::UnknownKey,
    ),
    (
        "signed for another realm",
        |console, seen| {
            let more = json!({ "args_digest": seen.args_digest });
            console.signed(seen, "approve", more, &console.human, Uuid::new_v4())
        },
        DecisionFault::BadSignature,
    ),
    (
        "replayed from the subject of another request",
        |console, seen| {
            let mut other = seen.key.clone();
            other.request_id = "another".parse().unwrap();
            let other = Seen {
                key: other,
                payload: Vec::new(),
                ..*seen
            };
            Draft {
                subject: console.approval(seen).subject,
                ..console.approval(&other)
            }
        },
        DecisionFault::BadSignature,
    ),
    (
        "about another request",
        |console, seen| {
            console.decision(
                seen,
                "approve",
                json!({ "args_digest": seen.args_digest, "request_id": "another" }),
            )
        },
        DecisionFault::WrongRequest,
    ),
    (
        "about other bytes of the request",
        |console, seen| {
            let other = digest_of(&json!(0));
            console.decision(
                seen,
                "approve",
                json!({ "args_digest": seen.args_digest, "request_digest": other }),
            )
        },
        DecisionFault::WrongRequestDigest,
    ),
    (
        "altered after signing",
        |console, seen| {
            let mut draft =
                console.decision(seen, "deny", json!({ "args_digest": seen.args_digest }));
            let altered = String::from_utf8(draft.payload)
                .unwrap()
                .replace("\"deny\"", "\"approve\"");
            draft.payload = altered.into_bytes();
            draft
        },
        DecisionFault::BadSignature,
    ),
    (
        "an operator's verdict signed by the automatic key",
        |console, seen| {
            let more = json!({ "args_digest": seen.args_digest });
            console.signed(seen, "approve", more, &console.auto, console.realm)
        },
        DecisionFault::WrongRole,
    ),
    (
        "a rule's verdict signed by a person",
        |console, seen| {
            console.decision(
                seen,
                "approve",
                json!({ "args_digest": seen.args_digest, "origin": "rule" }),
            )
        },
        DecisionFault::WrongRole,
    ),
    (
        "silence that approves",
        |console, seen| {
            let more = json!({ "args_digest": seen.args_digest, "origin": "timeout" });
            console.signed(seen, "approve", more, &console.auto, console.realm)
        },
        DecisionFault::WrongRole,
    ),
    (
        "an approval of other arguments",
        |console, seen| {
            console.decision(
                seen,
                "approve",
                json!({ "args_digest": digest_of(&json!({ "invoice_id": "INV-43" })) }),
            )
        },
        DecisionFault::WrongArgsDigest,
    ),
    (
        "an approval without a digest",
        |console, seen| console.decision(seen, "approve", json!({})),
        DecisionFault::WrongArgsDigest,
    ),
    (
        "edited arguments under the digest of the old ones",
        |console, seen| {
            let edited = json!({ "invoice_id": "INV-43" });
            console.decision(
                seen,
                "modify",
                json!({ "args_digest": seen.args_digest, "edited_args": edited }),
            )
        },
        DecisionFault::WrongArgsDigest,
    ),
    (
        "a verdict that the agent cannot honour",
        |console, seen| console.decision(seen, "escalate", json!({})),
        DecisionFault::NotAllowed,
    ),
    (
        "unreadable",
        |console, seen| {
            let mut draft = console.approval(seen);
            draft.payload = b"{".to_vec();
            let sig = sign(
                &console.human,
                Context::Decision,
                &console.realm,
                &draft.subject,
                b"{",
            );
            draft.sig = Some(sig.unwrap().to_string());
            draft
        },
        DecisionFault::Malformed,
    ),
];

#[tokio::test]
async fn a_stored_decision_that_does_not_verify_denies_and_is_reported() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    for (what, spoil, fault) in CASES {
        let answer = tokio::spawn(gate.ask(delete_invoice()));
        let seen = console.next_request().await;
        assert!(console.store(spoil(&console, &seen)).await, "{what}");
        let decision = answer.await.unwrap().unwrap();
        assert_eq!(decision.fault(), Some(*fault), "{what}");
        assert_eq!(*decision.verdict(), DecisionVerdict::Deny, "{what}");
        assert!(!decision.allowed() && decision.args().is_none(), "{what}");
        let receipt = &console.receipts(&seen, 1).await[0];
        assert_eq!(receipt.stage, Stage::Refused, "{what}");
        assert_eq!(receipt.message.as_deref(), Some(fault.as_str()), "{what}");
        assert_eq!(
            Some(receipt.decision_id.as_str()),
            decision.decision_id(),
            "{what}"
        );
    }
}

#[tokio::test]
async fn an_unknown_verdict_denies() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let answer = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    let draft = console.decision(
        &seen,
        "approve_all",
        json!({ "args_digest": seen.args_digest }),
    );
    assert!(console.store(draft).await);
    let decision = answer.await.unwrap().unwrap();
    assert_eq!(
        (decision.verdict(), decision.fault()),
        (&DecisionVerdict::Deny, None)
    );
    assert!(!decision.allowed());
}

#[tokio::test]
async fn two_operators_must_agree_where_the_request_asks_for_two() {
    let mut console = Console::start().await;
    let second = console.let_in(json!({})).await;
    let gate = console.gate().await;
    let stranger = KeyPair::new_user();
    let human = KeyPair::from_seed(&console.human.seed().unwrap()).unwrap();
    for (what, voters, fault) in [
        ("nobody", vec![], Some(DecisionFault::TooFewVotes)),
        ("one", vec![&human], Some(DecisionFault::TooFewVotes)),
        (
            "one, twice",
            vec![&human, &human],
            Some(DecisionFault::TooFewVotes),
        ),
        (
            "one and a stranger",
            vec![&human, &stranger],
            Some(DecisionFault::TooFewVotes),
        ),
        ("two", vec![&human, &second], None),
    ] {
        let answer = tokio::spawn(gate.ask(delete_invoice().approvals_required(2)));
        let seen = console.next_request().await;
        let votes: Vec<_> = voters
            .iter()
            .map(|pair| console.vote(&seen, pair))
            .collect();
        let more = json!({ "args_digest": seen.args_digest, "votes": votes });
        assert!(
            console
                .store(console.decision(&seen, "approve", more))
                .await
        );
        let decision = answer.await.unwrap().unwrap();
        assert_eq!(decision.fault(), fault, "{what}");
        assert_eq!(decision.allowed(), fault.is_none(), "{what}");
    }
}

#[tokio::test]
async fn an_approval_after_the_deadline_reads_as_expired_and_is_reported() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let ask = delete_invoice().timeout(Duration::from_millis(200));
    let answer = gate.ask(ask);
    let hold = gate.ask(delete_invoice());
    drop(hold);
    // Held back by a busy program: it is polled again only after the deadline.
    let mut answer = Box::pin(answer);
    let first = tokio::time::timeout(Duration::from_millis(100), &mut answer).await;
    assert!(first.is_err());
    let seen = console.next_request().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    console.approve(&seen).await;
    let decision = answer.await.unwrap();
    assert_eq!(decision.fault(), Some(DecisionFault::Late));
    assert_eq!(*decision.verdict(), DecisionVerdict::Expired);
    assert!(!decision.allowed());
    let receipt = &console.receipts(&seen, 1).await[0];
    assert_eq!(
        (receipt.stage, receipt.message.as_deref()),
        (Stage::Refused, Some("late"))
    );
}

#[tokio::test]
async fn without_leave_to_modify_edited_arguments_are_refused() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let answer = tokio::spawn(gate.ask(delete_invoice().allow([Verdict::Approve])));
    let seen = console.next_request().await;
    let edited = json!({ "invoice_id": "INV-43" });
    let more = json!({ "args_digest": digest_of(&edited), "edited_args": edited });
    assert!(console.store(console.decision(&seen, "modify", more)).await);
    let decision = answer.await.unwrap().unwrap();
    assert_eq!(decision.fault(), Some(DecisionFault::NotAllowed));
    assert!(!decision.allowed());
}

#[tokio::test]
async fn a_question_that_a_full_bus_does_not_take_says_what_the_bus_said() {
    let console = Console::start().await;
    let bus = console.server.console().await;
    bus.limit_requests(1).await.unwrap();
    let gate = console.gate().await;
    let ask = delete_invoice().timeout(Duration::from_secs(2));
    let error = gate.ask(ask).await.unwrap_err();
    assert_eq!(error.code(), "not_placed");
    let reported = error.to_string();
    assert!(
        reported.contains("maximum bytes exceeded (10077)"),
        "{reported}"
    );
    assert!(!reported.contains("running?"), "{reported}");
}
