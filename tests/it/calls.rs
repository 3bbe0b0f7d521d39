//! What is known of a call beyond itself, and how far an approval is meant.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk};

fn codes(shown: &Value) -> Vec<&str> {
    let warnings = shown["warnings"].as_array().unwrap();
    warnings
        .iter()
        .map(|warning| warning["code"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn how_far_an_approval_is_meant_is_recorded_and_the_next_call_is_asked_all_the_same() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for (id, scope) in [
        ("r-once", "once"),
        ("r-session", "session"),
        ("r-always", "always"),
    ] {
        agent.ask(&agent.request(id)).await;
        let shown = desk.show_in_state(id, "pending");
        assert_eq!(shown["repeats"].is_object(), id != "r-once", "{shown}");
        desk.run(&["approve", id, "--scope", scope]).success();
        assert_eq!(agent.decision(id).await.unwrap()["scope"], scope);
        assert_eq!(
            desk.show_in_state(id, "decided")["decision"]["scope"],
            scope
        );
        let shown = desk.run(&["show", id]).success().out;
        assert_eq!(
            shown.contains(&format!("meant for: {scope}")),
            scope != "once",
            "{shown}"
        );
    }
    let again = desk.json(&["show", "r-always", "--json"]);
    let repeats = &again["repeats"];
    assert_eq!(
        (&repeats["request_id"], &repeats["verdict"], &repeats["by"]),
        (
            &json!("r-session"),
            &json!("approve"),
            &json!("Test Operator")
        )
    );
    assert_eq!(codes(&again), ["re_ask"]);
    let listed = desk.run(&["history", "--json"]).success().out;
    let exported = desk.run(&["export", "--format", "jsonl"]).success().out;
    for text in [listed, exported] {
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        let of = |id: &str| lines.iter().find(|line| line["request_id"] == id).unwrap();
        assert_eq!(of("r-always")["repeats"], *repeats);
        assert_eq!(of("r-once")["repeats"], Value::Null);
    }
    let words = again["warnings"][0]["message"].as_str().unwrap();
    assert!(
        words.starts_with("Same call as ")
            && words.contains("/r-session (approved by Test Operator, "),
        "{words}"
    );
}

#[tokio::test]
async fn a_call_that_a_person_denied_says_who_and_why_when_it_is_asked_again() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r-first")).await;
    desk.show_in_state("r-first", "pending");
    desk.run(&["deny", "r-first", "--message", "wrong account\u{202e}"])
        .success();
    desk.show_in_state("r-first", "decided");
    agent.ask(&agent.request("r-again")).await;
    let again = desk.show_in_state("r-again", "pending");
    assert_eq!(codes(&again), ["denied_before"]);
    let warning = &again["warnings"][0];
    assert_eq!(warning["by"], "Test Operator");
    assert_eq!(warning["reason"], "wrong account⟨U+202E⟩");
    let words = warning["message"].as_str().unwrap();
    assert!(
        words.starts_with("Test Operator denied this exact call ")
            && words.contains(" ago: wrong account"),
        "{words}"
    );
    let text = desk.run(&["show", "r-again"]).success().out;
    assert!(
        text.contains("Test Operator denied this exact call "),
        "{text}"
    );
}

#[tokio::test]
async fn a_call_outside_the_active_skill_is_flagged_with_its_words_escaped() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let skill = json!({"name": "invoi\u{202e}cing", "allowed_tools": ["read_mail"]});
    agent
        .ask(&agent.request("outside").set("skill", skill))
        .await;
    let skill = json!({"name": "mailing", "allowed_tools": ["send_mail"]});
    let inside = agent.request("inside").set("skill", skill);
    agent
        .ask(&inside.args(json!({"to": "someone@example.org"})))
        .await;
    let shown = desk.show_in_state("outside", "pending");
    let flagged = &shown["warnings"][0];
    assert_eq!(
        (&flagged["code"], &flagged["skill"], &flagged["tool"]),
        (
            &json!("outside_skill"),
            &json!("invoi⟨U+202E⟩cing"),
            &json!("send_mail")
        )
    );
    let shown = desk.run(&["show", "outside"]).success().out;
    assert!(
        shown.contains("The active skill does not list send_mail"),
        "{shown}"
    );
    assert_eq!(
        codes(&desk.show_in_state("inside", "pending")),
        Vec::<&str>::new()
    );
}

#[tokio::test]
async fn an_earlier_deadline_that_cannot_be_read_changes_nothing_and_is_told() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for (id, to) in [("garbled", "a"), ("longer", "b")] {
        let request = agent.request(id).args(json!({ "to": to }));
        agent.ask(&request).await;
    }
    let before = desk.show_in_state("garbled", "pending");
    let never = "{\"v\":1,\"expires_at\":\"2999-01-01T00:00:00.000Z\"}";
    agent.publish("tighten", "longer", never).await;
    agent.publish("tighten", "garbled", "{\"v\":1}").await;
    let shown = desk.show_when("garbled", |shown| shown["warnings"] != json!([]));
    assert_eq!(codes(&shown), ["tighten_unreadable"]);
    assert_eq!(shown["deadline_at"], before["deadline_at"]);
    let text = desk.run(&["show", "garbled"]).success().out;
    assert!(text.contains("The deadline stays as it was"), "{text}");
    let longer = desk.json(&["show", "longer", "--json"]);
    assert_eq!(codes(&longer), Vec::<&str>::new());
}
