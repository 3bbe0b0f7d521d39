//! A finding that stops a call is obeyed by every console of the realm.

use std::collections::BTreeSet;

use countersign_testkit::TempData;
use countersign_wire::{Verdict, args_digest};
use serde_json::{Value, json};

use crate::agent::{Agent, Desk, colleague, in_state, line_when, listed, until, verdict};
use crate::policy::{acme, apply};

/// Approves every mail, whatever it says.
const MAILS: &str = r#"
schema = 1
[[rule]]
id = "mails"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["send_mail"]
"#;
const KNOWN: &str = "ben@nordwind-logistik.example";
const NEAR: &str = "anna@nordwind-logistlk.example";
/// Of so many requests each console is the first to answer some.
const CALLS: usize = 24;

fn mail(agent: &Agent, id: &str, to: &str) -> Value {
    let args = json!({ "to": to, "subject": "Invoice" });
    let mut request = agent.request(id);
    request["tool"]["name"] = json!("send_mail");
    request["args_digest"] = json!(args_digest(&args).unwrap().to_string());
    request["args"] = args;
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_consoles_with_a_rule_neither_approves_a_call_with_a_stop() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    until("both consoles are there", async || {
        desk.app.consoles().await.len() == 2
    })
    .await;
    let known = agent.ask(&mail(&agent, "known", KNOWN)).await;
    listed(&desk.app, "known").await;
    let approve = verdict(&known, Verdict::Approve);
    desk.app.decide(approve).await.unwrap();
    in_state(&second, "known", "decided").await;
    apply(&desk.app, MAILS).await;
    until("the other one has the rule", async || {
        second.rules(&acme()).await.unwrap().rules.len() == 1
    })
    .await;
    for number in 0..CALLS {
        let near = mail(&agent, &format!("near{number}"), NEAR);
        agent.ask(&near).await;
    }
    for number in 0..CALLS {
        let good = mail(&agent, &format!("good{number}"), KNOWN);
        agent.ask(&good).await;
    }
    // Each console was the first to answer some of what came after.
    let mut by = BTreeSet::new();
    for number in 0..CALLS {
        let decision = agent.decision(&format!("good{number}")).await;
        assert_eq!(decision["origin"], "rule");
        by.insert(decision["decided_by"]["key"].as_str().unwrap().to_owned());
    }
    assert_eq!(by.len(), 2);
    for app in [&desk.app, &second] {
        for number in 0..CALLS {
            let id = format!("near{number}");
            let row = line_when(app, &id, |row| row.findings.is_some()).await;
            let found: Value = serde_json::from_str(row.findings.as_deref().unwrap()).unwrap();
            assert_eq!(
                (&found[0]["code"], &found[0]["weight"], row.state.as_str()),
                (&json!("near_miss"), &json!("stop"), "pending"),
                "{id}"
            );
        }
    }
    second.shutdown().await;
    desk.app.shutdown().await;
}
