//! What a model reads of a call that did not run, or ran edited (integrations, section 1).

use countersign_sdk::{Ask, GateError, Verdict, edit_notice, refusal_text};
use serde_json::{Value, json};

use crate::console::{Console, digest_of, public};

async fn text_of(console: &mut Console, verdict: &str, more: Value) -> String {
    let gate = console.gate().await;
    let ask = Ask::tool("pay", json!({ "n": 1 })).allow([
        Verdict::Approve,
        Verdict::Respond,
        Verdict::Skip,
        Verdict::Escalate,
        Verdict::Terminate,
    ]);
    let asking = tokio::spawn(gate.ask(ask));
    let seen = console.next_request().await;
    let signer = match more.get("origin") {
        Some(_) => &console.auto,
        None => &console.human,
    };
    let draft = console.signed(&seen, verdict, more.clone(), signer, console.realm);
    assert!(console.store(draft).await);
    refusal_text("pay", asking.await.unwrap().as_ref())
}

#[tokio::test]
async fn the_words_of_each_verdict() {
    let mut console = Console::start().await;
    let by_console = |origin: &str, rule: Value| {
        let by = json!({ "name": "console", "key": public(&console.auto) });
        json!({ "origin": origin, "rule": rule, "decided_by": by })
    };
    let rule = json!({ "id": "r1", "version": 3, "name": "no-payments" });
    let by_rule = by_console("rule", rule.clone());
    let by_key = by_console("setup_key", rule);
    for (verdict, more, text) in [
        (
            "deny",
            json!({ "message": "wrong payee" }),
            "pay was not run, denied by Ada: wrong payee",
        ),
        (
            "terminate",
            json!({}),
            "pay was not run, denied by Ada, who ended the run",
        ),
        (
            "skip",
            json!({}),
            "pay was not run, skipped by Ada (not a refusal)",
        ),
        (
            "escalate",
            json!({}),
            "pay was not run, escalated by Ada to the next approver",
        ),
        (
            "respond",
            json!({ "response": { "content": "paid already" } }),
            "pay was not run, answered by Ada instead: paid already",
        ),
        ("nod", json!({}), "pay was not run, not allowed (nod)"),
        (
            "deny",
            by_rule,
            "pay was not run, denied by the rule no-payments",
        ),
        ("deny", by_key, "pay was not run, denied by a setup key"),
        (
            "modify",
            json!({ "edited_args": { "n": 2 }, "args_digest": digest_of(&json!({ "n": 2 })) }),
            "pay was not run: could not get approval (not_allowed): the verdict is not allowed for this request",
        ),
    ] {
        let reported = text_of(&mut console, verdict, more).await;
        assert_eq!(reported, text);
    }
}

#[test]
fn the_words_of_an_error_name_no_file_with_a_seed() {
    for (error, text) in [
        (
            GateError::Closed,
            "pay was not run: could not get approval (closed): the gate is closed",
        ),
        (
            GateError::BadEnrolment {
                why: "/home/ada/agent.json: no such file".into(),
            },
            "pay was not run: could not get approval (bad_enrolment): cannot use the enrolment",
        ),
    ] {
        assert_eq!(refusal_text("pay", Err(&error)), text);
    }
}

#[tokio::test]
async fn an_edit_is_told_with_the_arguments_in_the_order_of_the_decision() {
    let mut console = Console::start().await;
    let gate = console.gate().await;
    for edited in [
        None,
        Some(json!({ "to": "Ä", "n": [1, { "b": 2.5, "a": null }] })),
    ] {
        let ask = Ask::tool("pay", json!({ "n": 1 }))
            .framework("own", "2")
            .agent_type("researcher");
        let asking = tokio::spawn(gate.ask(ask.allow([Verdict::Approve, Verdict::Modify])));
        let seen = console.next_request().await;
        let agent = &serde_json::from_slice::<Value>(&seen.payload).unwrap()["agent"];
        assert_eq!(
            (&agent["framework"], &agent["type"]),
            (&json!("own"), &json!("researcher"))
        );
        let draft = match &edited {
            Some(args) => console.decision(
                &seen,
                "modify",
                json!({ "edited_args": args, "args_digest": digest_of(args) }),
            ),
            None => console.approval(&seen),
        };
        assert!(console.store(draft).await);
        let reported = edit_notice(&asking.await.unwrap().unwrap());
        let wanted = "A person changed this call before it ran. It ran with {\"to\": \"Ä\", \"n\": [1, {\"b\": 2.5, \"a\": null}]}.\n";
        assert_eq!(reported.as_deref(), edited.map(|_| wanted));
    }
}
