//! Who may decide: listing, accepting, limiting and retiring keys.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, eventually};

/// A console that joins another one's bus with that one's login.
fn beside(console: &Console, first: &Desk) -> Desk {
    let login = first.path().join("keys/login.nk");
    Desk::new()
        .with("COUNTERSIGN_NATS_URL", console.url())
        .with("COUNTERSIGN_NATS_NKEY", login.to_str().unwrap())
        .with("COUNTERSIGN_OPERATOR", "Second Operator")
}

fn key_of(console: &Console) -> String {
    console.ready["operator_key"].as_str().unwrap().to_owned()
}

fn state_of(desk: &Desk, key: &str) -> Option<Value> {
    let lines = desk.lines(&["operators", "list", "--json"]);
    lines.into_iter().rfind(|line| line["key"] == key)
}

fn reaches(desk: &Desk, key: &str, state: &str) -> Value {
    eventually(|| {
        let line = state_of(desk, key);
        line.clone()
            .filter(|line| line["state"] == state)
            .ok_or(line)
    })
}

#[tokio::test]
async fn the_list_names_every_key_its_role_and_whose_it_is() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let lines = desk.lines(&["operators", "list", "--json"]);
    assert_eq!(lines.len(), 2);
    for (line, role) in lines.iter().zip(["human", "auto"]) {
        assert_eq!((&line["role"], &line["mine"]), (&json!(role), &json!(true)));
        assert_eq!(
            (&line["state"], &line["until"]),
            (&json!("in_force"), &json!(null))
        );
        assert!(line["from"].as_str().unwrap().ends_with('Z'));
    }
    assert_eq!(
        (&lines[0]["key"], &lines[0]["name"]),
        (&json!(key_of(&console)), &json!("Test Operator"))
    );
    let shown = desk.run(&["operators", "list"]).success();
    assert!(shown.out.contains("(yours)") && shown.out.contains(&key_of(&console)));
    assert_eq!(
        desk.json(&["operators", "approval", "--json"]),
        json!({ "operator_approval": false })
    );
    let unknown = nkeys::KeyPair::new_user().public_key();
    for (command, exit, code) in [
        (
            vec!["operators", "retire", "--json", "nonsense"],
            2,
            "usage",
        ),
        (
            vec!["operators", "retire", "--json", &unknown],
            3,
            "not_found",
        ),
        (
            vec!["operators", "add", "--json", &unknown],
            6,
            "invalid_args",
        ),
        (
            vec![
                "operators",
                "retire",
                "--json",
                lines[0]["key"].as_str().unwrap(),
            ],
            6,
            "invalid_args",
        ),
    ] {
        let ended = desk.run(&command);
        let (ended, reported, _) = ended.error();
        assert_eq!((ended, reported.as_str()), (exit, code), "{command:?}");
    }
}

#[test]
fn a_console_whose_own_key_another_retired_says_that_it_denies_nothing() {
    let first = Desk::new();
    let console = Console::start(&first);
    let second = beside(&console, &first);
    let other = Console::start(&second);
    reaches(&first, &key_of(&other), "in_force");
    let own = second
        .lines(&["operators", "list", "--json"])
        .into_iter()
        .find(|line| line["mine"] == true && line["role"] == "auto")
        .unwrap();
    let own = own["key"].as_str().unwrap();
    let check = |name: &str| {
        let found = second.run(&["doctor", "--json"]).lines();
        found
            .into_iter()
            .find(|line| line["check"] == name)
            .unwrap()
    };
    assert_eq!(check("keys")["verdict"], "ok");
    assert_eq!(
        second.json(&["status", "--json"])["not_by_itself"],
        Value::Null
    );
    reaches(&first, own, "in_force");
    first.run(&["operators", "retire", own]).success();
    reaches(&second, own, "retired");
    let keys = check("keys");
    assert_eq!(keys["verdict"], "failed", "{keys}");
    assert!(keys["detail"].as_str().unwrap().contains(own), "{keys}");
    let runs = check("console");
    assert_eq!(runs["verdict"], "ok", "its silence is not a fault: {runs}");
    assert!(second.json(&["status", "--json"])["not_by_itself"].is_string());
    let reported = second.run(&["status"]).success().out;
    assert!(reported.contains("by itself"), "{reported}");
    let stop = second.run(&["stop", "acme/bot"]).success();
    assert!(stop.err.contains("only other consoles"), "{stop:?}");
    drop(other);
}

#[tokio::test]
async fn a_key_waits_is_accepted_with_limits_and_retired_from_the_command_line() {
    let first = Desk::new();
    let console = Console::start(&first);
    first.run(&["operators", "approval", "on"]).success();
    let second = beside(&console, &first);
    let other = Console::start(&second);
    let key = key_of(&other);
    let agent = Agent::connect(console.agent_json()).await;
    for id in ["r1", "r2", "r3"] {
        agent.ask(&agent.request(id)).await;
        second.show_in_state(id, "pending");
        first.show_in_state(id, "pending");
    }
    reaches(&first, &key, "waiting");
    let (exit, code, message) = second.run(&["approve", "r1", "--json"]).error();
    assert_eq!((exit, code.as_str()), (8, "read_only"));
    assert!(
        message.contains(&format!("countersign operators add {key}")),
        "{message}"
    );
    let added = first.json(&[
        "operators",
        "add",
        &key,
        "--max-risk",
        "medium",
        "--workspaces",
        "default,acme",
        "--json",
    ]);
    assert_eq!(added["changed"], true);
    assert_eq!(
        (
            &added["operator"]["max_risk"],
            &added["operator"]["workspaces"]
        ),
        (&json!("medium"), &json!(["default", "acme"]))
    );
    reaches(&second, &key, "in_force");
    second.run(&["approve", "r1"]).success();
    first
        .run(&["operators", "limit", &key, "--max-risk", "low"])
        .success();
    eventually(|| {
        let line = state_of(&second, &key).unwrap();
        (line["max_risk"] == "low").then_some(()).ok_or(line)
    });
    let (exit, code, _) = second.run(&["approve", "r2", "--json"]).error();
    assert_eq!((exit, code.as_str()), (6, "verdict_not_allowed"));
    second.run(&["deny", "r2", "--message", "no"]).success();
    first.run(&["operators", "retire", &key]).success();
    assert_eq!(
        first.json(&["operators", "retire", &key, "--json"])["changed"],
        false
    );
    let line = reaches(&second, &key, "retired");
    assert!(line["until"].is_string());
    for command in [
        &["approve", "r3", "--json"][..],
        &["deny", "r3", "--message", "no", "--json"],
    ] {
        let (exit, code, _) = second.run(command).error();
        assert_eq!((exit, code.as_str()), (8, "read_only"));
    }
    assert_eq!(first.show_in_state("r1", "decided")["verdict"], "approve");
    assert_eq!(agent.decision("r3").await, None);
    drop(other);
}
