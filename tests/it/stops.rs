//! Nothing automatic approves a call with a finding that weighs `stop`, but a rule that names its place.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, Request};
use crate::rules::file;

/// Approves every mail, whatever it says.
const EVERY_MAIL: &str = r#"
schema = 1
[[rule]]
id = "mails"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["send_mail"]
"#;

const APPLY: [&str; 5] = [
    "rules",
    "apply",
    "--json",
    "--accept-waiting",
    "--accept-flips",
];

const NEAR: &str = "anna@nordwind-logistlk.example";
const KNOWN: &str = "ben@nordwind-logistik.example";

fn mail(agent: &Agent, id: &str, to: &str) -> Request {
    let args = json!({ "to": to, "subject": "Invoice" });
    agent.request(id).args(args)
}

fn codes(shown: &Value) -> Vec<&str> {
    let list = shown["findings"].as_array().into_iter().flatten();
    list.filter_map(|of| of["code"].as_str()).collect()
}

/// Whether it waits although everything else that came before was decided.
async fn waits_behind(desk: &Desk, agent: &Agent, id: &str, marker: &str) -> Value {
    agent.ask(&mail(agent, marker, KNOWN)).await;
    desk.show_in_state(marker, "decided");
    desk.show_in_state(id, "pending")
}

#[tokio::test]
async fn a_stop_is_left_to_people_but_for_a_rule_that_names_its_place() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&mail(&agent, "known", KNOWN)).await;
    desk.show_in_state("known", "pending");
    desk.json(&["approve", "known", "--json"]);
    // A waiting call that a rule would decide which is applied now.
    agent.ask(&mail(&agent, "waits", NEAR)).await;
    agent.ask(&mail(&agent, "good", KNOWN)).await;
    desk.show_in_state("good", "pending");
    let rules = file(&desk, "rules.toml", EVERY_MAIL);
    desk.json(&[&APPLY[..], &[&rules]].concat());
    assert_eq!(desk.show_in_state("good", "decided")["origin"], "rule");
    let shown = waits_behind(&desk, &agent, "waits", "m1").await;
    assert_eq!(codes(&shown), ["near_miss"]);
    let why = &shown["why"];
    assert_eq!(why["outcome"], "ask");
    assert_eq!(why["near_misses"][0]["matcher"], "stop");
    let held = why["held"].as_str().unwrap();
    assert!(
        held.contains("a finding at /to stops it (near_miss)"),
        "{held}"
    );
    // A call that comes now.
    agent.ask(&mail(&agent, "comes", NEAR)).await;
    waits_behind(&desk, &agent, "comes", "m2").await;
    // A bypass covers it no more than the rule does.
    desk.run(&[
        "bypass",
        "default/local",
        "--for",
        "1h",
        "--up-to",
        "medium",
    ]);
    agent.ask(&mail(&agent, "bypassed", NEAR)).await;
    waits_behind(&desk, &agent, "bypassed", "m3").await;
    // On a cold start.
    console.stop(Signal::SIGTERM);
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    waits_behind(&desk, &agent, "comes", "m4").await;
    // A rule that names the place.
    let named =
        format!("{EVERY_MAIL}args.\"/to\" = {{ glob = \"*@nordwind-logistlk.example\" }}\n")
            .replace("mails", "named");
    let rules = file(&desk, "rules.toml", &named);
    desk.json(&[&APPLY[..], &[&rules]].concat());
    for id in ["waits", "comes"] {
        let shown = desk.show_in_state(id, "decided");
        assert_eq!(
            (&shown["origin"], &shown["rule"]),
            (&json!("rule"), &json!("named"))
        );
        assert_eq!(shown["looked"], json!(null));
    }
}

#[tokio::test]
async fn what_was_denied_before_is_approved_by_no_rule() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&mail(&agent, "bad", NEAR)).await;
    desk.show_in_state("bad", "pending");
    desk.run(&["deny", "bad", "--message", "wrong address"])
        .success();
    let named = format!("{EVERY_MAIL}args.\"/to\" = {{ glob = \"*\" }}\n");
    let rules = file(&desk, "rules.toml", &named);
    desk.json(&[&APPLY[..], &[&rules]].concat());
    agent.ask(&mail(&agent, "again", NEAR)).await;
    let shown = waits_behind(&desk, &agent, "again", "m1").await;
    assert_eq!(codes(&shown), ["denied_before"]);
    let held = shown["why"]["held"].as_str().unwrap();
    assert!(held.contains("no rule approves it"), "{held}");
    // A person may, and is shown the stop; the audit row keeps what was found.
    let approved = desk.run(&["approve", "again"]).success();
    assert!(
        approved.err.contains("denied_before /to: "),
        "{}",
        approved.err
    );
    let shown = desk.show_in_state("again", "decided");
    let found = json!([{ "code": "denied_before", "weight": "stop", "at": "/to" }]);
    assert_eq!(
        shown["looked"],
        json!({ "via": "cli", "front_ms": null, "to_end": null, "shown": found })
    );
    let lines = desk.lines(&["history", "--json"]);
    let line = lines
        .iter()
        .find(|line| line["request_id"] == "again")
        .unwrap();
    assert_eq!(line["findings"], json!(["denied_before"]));
    let row = desk
        .lines(&["audit", "export"])
        .into_iter()
        .find(|row| row["action"] == "decide" && row["subject"] == "default/local/again");
    let detail: Value = serde_json::from_str(row.unwrap()["detail"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&detail["findings"], &detail["looked"]["shown"]),
        (&found, &found)
    );
    // The approval ends it.
    agent.ask(&mail(&agent, "third", NEAR)).await;
    assert_eq!(
        desk.show_in_state("third", "decided")["findings"],
        json!([])
    );
}
