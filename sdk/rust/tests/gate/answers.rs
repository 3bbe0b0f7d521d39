//! Valid answers, and questions that end without one.

use std::time::Duration;

use countersign_sdk::wire::{
    Stage, Timestamp, decision_subject, parse_tighten, parse_withdraw, tighten_subject,
    withdraw_subject,
};
use countersign_sdk::{ApprovalRequest, Ask, DecisionVerdict, GateError, Ran};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::console::{Console, delete_invoice, digest_of};

#[tokio::test]
async fn approved_arguments_run_and_both_receipts_are_stored_in_order() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let running = tokio::spawn(async move {
        let tool = |args: Value| async move { Ok::<_, String>(args["invoice_id"].clone()) };
        gate.run(delete_invoice(), tool).await
    });
    let seen = console.next_request().await;
    console.approve(&seen).await;
    let Ran::Done(value, decision) = running.await.unwrap().unwrap() else {
        panic!("it was approved");
    };
    assert_eq!(value, json!("INV-42"));
    assert_eq!(decision.decided_by().unwrap().name, "Ada");
    assert!(decision.stored_at().is_some() && decision.sequence().is_some());
    let receipts = console.receipts(&seen, 2).await;
    let stages: Vec<_> = receipts.iter().map(|receipt| receipt.stage).collect();
    assert_eq!(stages, [Stage::Received, Stage::Executed]);
    let ran = seen.args_digest.map(|digest| digest.to_string());
    assert_eq!(receipts[1].executed_args_digest, ran);
}

#[tokio::test]
async fn a_run_that_is_dropped_while_its_receipt_is_on_its_way_is_reported_as_it_ended() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let running = tokio::spawn(async move {
        let over = Notify::new();
        let tool = async |_| {
            over.notify_one();
            Ok::<_, String>(())
        };
        tokio::select! {
            biased;
            ran = gate.run(delete_invoice(), tool) => panic!("the receipt takes longer: {ran:?}"),
            () = over.notified() => {}
        }
        gate
    });
    let seen = console.next_request().await;
    console.approve(&seen).await;
    let _open = running.await.unwrap();
    let receipts = console.receipts(&seen, 2).await;
    let executed = receipts.iter().find(|of| of.stage == Stage::Executed);
    let ran = seen.args_digest.map(|digest| digest.to_string());
    assert_eq!(executed.unwrap().executed_args_digest, ran);
}

#[tokio::test]
async fn an_approval_that_is_meant_for_always_lets_one_call_run_and_the_next_is_asked() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    for (verdict, scope) in [
        ("approve", "always"),
        ("approve", "session"),
        ("deny", "once"),
    ] {
        let running = gate.clone();
        let running = tokio::spawn(async move {
            let tool = |_| async { Ok::<_, String>(()) };
            running.run(delete_invoice(), tool).await
        });
        let seen = console.next_request().await;
        let mut more = json!({ "scope": scope });
        if verdict == "approve" {
            more["args_digest"] = json!(seen.args_digest);
        }
        assert!(console.store(console.decision(&seen, verdict, more)).await);
        let ran = running.await.unwrap().unwrap();
        assert_eq!(
            matches!(ran, Ran::Done(..)),
            verdict == "approve",
            "{scope}"
        );
    }
}

#[tokio::test]
async fn edited_arguments_run_instead_of_those_that_were_asked() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let running = tokio::spawn(async move {
        gate.run(delete_invoice(), |args| async move {
            Err::<(), _>(args.to_string())
        })
        .await
    });
    let seen = console.next_request().await;
    let edited = json!({ "invoice_id": "INV-43" });
    let more = json!({ "args_digest": digest_of(&edited), "edited_args": edited });
    assert!(console.store(console.decision(&seen, "modify", more)).await);
    let Ran::Failed(ran, decision) = running.await.unwrap().unwrap() else {
        panic!("the tool fails");
    };
    assert_eq!(ran, edited.to_string());
    assert_eq!(decision.args_digest(), Some(digest_of(&edited)));
    let signed = decision.signed().unwrap();
    assert_eq!(signed.request_digest, seen.digest);
    assert_eq!(signed.edited_args.as_ref(), decision.args());
    let failed = console.receipts(&seen, 2).await.remove(1);
    assert_eq!(
        (failed.stage, failed.message.as_deref()),
        (Stage::Failed, Some(ran.as_str()))
    );
}

#[tokio::test]
async fn answers_that_do_not_run_the_call_stay_distinct_and_carry_their_message() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    for (verdict, more) in [
        ("deny", json!({})),
        ("skip", json!({})),
        ("terminate", json!({})),
        (
            "respond",
            json!({ "response": { "content": "use a credit note" } }),
        ),
    ] {
        let running = gate.clone();
        let running = tokio::spawn(async move {
            let tool = |_| async { panic!("nobody allowed this") };
            running
                .run::<(), String, _, _>(delete_invoice(), tool)
                .await
        });
        let seen = console.next_request().await;
        let mut more = more;
        more["message"] = json!("under audit");
        assert!(console.store(console.decision(&seen, verdict, more)).await);
        let Ran::Not(decision) = running.await.unwrap().unwrap() else {
            panic!("{verdict} does not run");
        };
        assert_eq!(decision.verdict().as_str(), verdict);
        assert_eq!(decision.message(), Some("under audit"));
        assert_eq!(decision.response().is_some(), verdict == "respond");
        assert_eq!(console.receipts(&seen, 1).await[0].stage, Stage::Received);
    }
}

#[tokio::test]
async fn a_question_is_answered_with_the_chosen_option() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let ask = Ask::question("Which region?")
        .option("eu", "Europe")
        .option("us", "America");
    let answer = tokio::spawn(gate.ask(ask));
    let seen = console.next_request().await;
    let response = json!({ "response": { "content": "Europe", "selected_key": "eu" } });
    assert!(
        console
            .store(console.decision(&seen, "respond", response))
            .await
    );
    let decision = answer.await.unwrap().unwrap();
    assert_eq!(
        decision.response().unwrap().selected_key.as_deref(),
        Some("eu")
    );
    assert!(!decision.allowed());
}

#[tokio::test]
async fn silence_is_expired_and_not_denied() {
    let console = Console::start().await;
    let gate = console.gate().await;
    let began = Instant::now();
    let decision = gate
        .ask(delete_invoice().timeout(Duration::from_millis(200)))
        .await
        .unwrap();
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert_eq!(
        (decision.verdict(), decision.fault()),
        (&DecisionVerdict::Expired, None)
    );
    assert!(decision.signed().is_none());
    assert!(!decision.allowed());
    assert_eq!(
        decision.executed(&json!({})).await,
        Err(GateError::NoDecision)
    );
}

#[tokio::test]
async fn what_the_console_decides_just_after_the_timer_is_reported_and_does_not_run() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    for (approves, stage, message) in [
        (true, Stage::Refused, Some("late")),
        (false, Stage::Received, None),
    ] {
        let ask = delete_invoice().timeout(Duration::from_millis(50));
        let decision = gate.ask(ask).await.unwrap();
        assert_eq!(*decision.verdict(), DecisionVerdict::Expired);
        let seen = console.next_request().await;
        let more = json!({ "origin": "timeout" });
        let draft = match approves {
            true => console.approval(&seen),
            false => console.signed(&seen, "expired", more, &console.auto, console.realm),
        };
        assert!(console.store(draft).await);
        let receipt = &console.receipts(&seen, 1).await[0];
        assert_eq!(
            (receipt.stage, receipt.message.as_deref()),
            (stage, message)
        );
    }
}

#[tokio::test]
async fn the_consoles_own_expired_is_taken_before_the_timer_ends() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let answer = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    let more = json!({ "origin": "timeout" });
    let draft = console.signed(&seen, "expired", more, &console.auto, console.realm);
    assert!(console.store(draft).await);
    let decision = answer.await.unwrap().unwrap();
    assert_eq!(
        (decision.verdict(), decision.fault()),
        (&DecisionVerdict::Expired, None)
    );
}

#[tokio::test]
async fn dropping_a_question_withdraws_it() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let answer = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    answer.abort();
    console
        .stored("CS_REQUESTS", &withdraw_subject(&seen.key), 1)
        .await;
}

#[tokio::test]
async fn a_question_that_was_never_awaited_sends_nothing() {
    let console = Console::start().await;
    let gate = console.gate().await;
    drop(gate.ask(delete_invoice()));
    assert!(gate.close().await);
    let mut stream = async_nats::jetstream::new(console.client.clone())
        .get_stream("CS_REQUESTS")
        .await
        .unwrap();
    assert_eq!(stream.info().await.unwrap().state.messages, 0);
}

#[tokio::test]
async fn a_cancelled_question_never_runs_whatever_arrives() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let asking = gate.ask(delete_invoice());
    let handle = asking.handle();
    let answer = tokio::spawn(asking);
    let seen = console.next_request().await;
    handle.cancel("the user closed the tab");
    console.approve(&seen).await;
    let decision = answer.await.unwrap().unwrap();
    assert_eq!(*decision.verdict(), DecisionVerdict::Withdrawn);
    assert!(!decision.allowed());
    let withdraw = console
        .stored("CS_REQUESTS", &withdraw_subject(&seen.key), 1)
        .await;
    assert_eq!(
        parse_withdraw(&withdraw[0]).reason.as_deref(),
        Some("the user closed the tab")
    );
}

#[tokio::test]
async fn an_approval_of_what_was_taken_back_is_refused() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    for dropped in [true, false] {
        let asking = gate.ask(delete_invoice());
        let handle = asking.handle();
        let answer = tokio::spawn(asking);
        let seen = console.next_request().await;
        if dropped {
            answer.abort();
        } else {
            handle.cancel("");
        }
        console
            .stored("CS_REQUESTS", &withdraw_subject(&seen.key), 1)
            .await;
        console.approve(&seen).await;
        let receipt = &console.receipts(&seen, 1).await[0];
        assert_eq!(
            (receipt.stage, receipt.message.as_deref()),
            (Stage::Refused, Some("withdrawn"))
        );
    }
}

#[tokio::test]
async fn an_approval_that_nobody_read_before_the_gate_was_closed_is_refused() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let ask = delete_invoice().timeout(Duration::from_millis(50));
    assert!(!gate.ask(ask).await.unwrap().allowed());
    let seen = console.next_request().await;
    console.approve(&seen).await;
    assert!(gate.close().await);
    let receipt = &console.receipts(&seen, 1).await[0];
    assert_eq!(receipt.message.as_deref(), Some("late"));
}

#[tokio::test]
async fn a_tightened_question_expires_earlier_and_tells_the_console() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let asking = gate.ask(delete_invoice());
    let handle = asking.handle();
    let began = Instant::now();
    let answer = tokio::spawn(asking);
    let seen = console.next_request().await;
    handle.tighten(Duration::from_millis(200));
    let decision = answer.await.unwrap().unwrap();
    assert_eq!(*decision.verdict(), DecisionVerdict::Expired);
    assert!(began.elapsed() < Duration::from_secs(10));
    console
        .stored("CS_REQUESTS", &tighten_subject(&seen.key), 1)
        .await;
}

/// As after a restart of the agent: its timer begins anew, the request's does not.
#[tokio::test]
async fn a_tightened_question_of_an_earlier_life_ends_when_it_says() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let first = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    first.abort();
    let _ = first.await;
    let mut body: Value = serde_json::from_slice(&seen.payload).unwrap();
    let now: Timestamp = serde_json::from_value(body["requested_at"].clone()).unwrap();
    let asked_at = now.get() - time::Duration::seconds(100);
    body["request_id"] = json!("older");
    body["requested_at"] = json!(Timestamp::new(asked_at));
    body["expires_at"] = json!(Timestamp::new(asked_at + time::Duration::seconds(600)));
    let older: ApprovalRequest = serde_json::from_value(body).unwrap();
    let first = tokio::spawn(gate.ask(older.clone()));
    let seen = console.next_request().await;
    first.abort();
    let _ = first.await;
    let asking = gate.ask(older);
    asking.handle().tighten(Duration::from_secs(60));
    let waiting = tokio::spawn(asking);
    let subject = tighten_subject(&seen.key);
    let stored = console.stored("CS_REQUESTS", &subject, 1).await;
    let tighten = parse_tighten(&subject, &stored[0]).unwrap();
    let lifetime = (tighten.expires_at.get() - asked_at).as_seconds_f64();
    assert!((159.0..162.0).contains(&lifetime), "{lifetime}");
    waiting.abort();
}

#[tokio::test]
async fn a_decision_that_stood_before_the_agent_asked_again_is_found() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    let first = tokio::spawn(gate.ask(delete_invoice()));
    let seen = console.next_request().await;
    console.approve(&seen).await;
    assert!(first.await.unwrap().unwrap().allowed());
    let again: countersign_sdk::ApprovalRequest = serde_json::from_slice(&seen.payload).unwrap();
    assert!(gate.ask(again).await.unwrap().allowed());
    assert!(
        !console.store(console.approval(&seen)).await,
        "{}",
        decision_subject(&seen.key)
    );
}
