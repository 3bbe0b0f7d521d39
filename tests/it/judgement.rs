//! Findings: made when a call arrives, again when a person decides on its tool, and kept with the decision.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, Request};

fn mail(agent: &Agent, id: &str, to: &str) -> Request {
    let args = json!({ "to": to, "subject": "Invoice" });
    agent.request(id).args(args)
}

fn codes(shown: &Value) -> Vec<(&str, &str, &str)> {
    let list = shown["findings"].as_array().into_iter().flatten();
    list.map(|of| {
        let text = |field: &str| of[field].as_str().unwrap_or_default();
        (text("code"), text("weight"), text("at"))
    })
    .collect()
}

#[tokio::test]
async fn what_waits_is_looked_at_again_when_a_person_decides() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let near = "anna@nordwind-logistlk.example";
    agent.ask(&mail(&agent, "m1", near)).await;
    let shown = desk.show_in_state("m1", "pending");
    assert_eq!(shown["findings"], json!([]), "nothing was approved yet");
    assert_eq!(
        shown["effect"],
        "Sends 1 mail to 1 address at nordwind-logistlk.example"
    );
    agent
        .ask(&mail(&agent, "m2", "ben@nordwind-logistik.example"))
        .await;
    desk.show_in_state("m2", "pending");
    desk.json(&["approve", "m2", "--json"]);
    let shown = desk.show_when("m1", |shown| shown["findings"] != json!([]));
    assert_eq!(codes(&shown), [("near_miss", "stop", "/to")]);
    assert_eq!(shown["compared"]["request_id"], "m2");
    assert_eq!(
        shown["compared"]["differs"],
        json!([{ "at": "/to", "was": "ben@nordwind-logistik.example", "is": near }])
    );
    // A call that comes now is looked at with the same past.
    agent.ask(&mail(&agent, "m3", near)).await;
    let shown = desk.show_in_state("m3", "pending");
    assert_eq!(codes(&shown), [("near_miss", "stop", "/to")]);
    // The decision keeps them, whatever is approved later.
    desk.json(&["approve", "m1", "--json"]);
    let after = desk.show_when("m3", |shown| shown["findings"] == json!([]));
    assert_eq!(codes(&after), []);
    let kept = desk.show_in_state("m1", "decided");
    assert_eq!(codes(&kept), [("near_miss", "stop", "/to")]);
    let text = desk.run(&["show", "m1"]).success().out;
    assert!(text.contains("near_miss /to: "), "{text}");
}

#[tokio::test]
async fn habits_are_what_people_approved_as_it_ran_and_are_learned_anew_from_history() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let near = "anna@nordwind-logistlk.example";
    let known = "ben@nordwind-logistik.example";
    // The run of what was approved failed: it is not a yardstick.
    agent.ask(&mail(&agent, "f1", known)).await;
    desk.show_in_state("f1", "pending");
    desk.json(&["approve", "f1", "--json"]);
    agent.ask(&mail(&agent, "w1", near)).await;
    desk.show_when("w1", |shown| shown["findings"] != json!([]));
    let decided = desk.show_in_state("f1", "decided");
    let receipt = json!({
        "v": 1, "request_id": "f1", "decision_id": decided["decision"]["decision_id"],
        "stage": "failed", "at": decided["decided_at"],
    });
    agent.publish("receipt", "f1", receipt.to_string()).await;
    desk.show_when("w1", |shown| shown["findings"] == json!([]));
    // Arguments count as they ran.
    agent.ask(&mail(&agent, "e1", "eva@somebody.example")).await;
    desk.show_in_state("e1", "pending");
    let edited = json!({ "to": known, "subject": "Invoice" }).to_string();
    desk.json(&["approve", "e1", "--args", &edited, "--json"]);
    let shown = desk.show_when("w1", |shown| shown["findings"] != json!([]));
    assert_eq!(codes(&shown), [("near_miss", "stop", "/to")]);
    // The same from history, beside the running console.
    let learned = desk.json(&["maintenance", "habits", "--json"]);
    assert_eq!(learned, json!({ "tools": 1, "calls": 1 }));
    agent.ask(&mail(&agent, "w2", near)).await;
    let shown = desk.show_in_state("w2", "pending");
    assert_eq!(codes(&shown), [("near_miss", "stop", "/to")]);
}
