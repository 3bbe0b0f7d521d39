//! Who may decide: listing, accepting, limiting and retiring operators.

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
    let lines = desk.lines(&["operators", "list", "--all", "--json"]);
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
    let own = key_of(&console);
    let lines = desk.lines(&["operators", "list", "--json"]);
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert_eq!(
            (&line["mine"], &line["admin"]),
            (&json!(true), &json!(true))
        );
        assert_eq!((&line["operator"], &line["by"]), (&json!(own), &json!(own)));
        assert_eq!(
            (&line["state"], &line["since"], &line["ended"]),
            (&json!("in_force"), &json!(1), &json!(null))
        );
        assert_eq!(line["name"], "Test Operator");
        assert!(line["at"].as_str().unwrap().ends_with('Z'));
    }
    let mut roles: Vec<_> = lines.iter().map(|line| &line["role"]).collect();
    roles.sort_by_key(|role| role.to_string());
    assert_eq!(roles, [&json!("auto"), &json!("human")]);
    let shown = desk.run(&["operators", "list"]).success();
    assert!(shown.out.contains("(yours)") && shown.out.contains(&own));
    let log = desk.lines(&["operators", "log", "--json"]);
    assert_eq!(log.len(), 1);
    assert_eq!(
        (&log[0]["does"], &log[0]["word"]),
        (&json!(["founded"]), &json!("ok"))
    );
    assert_eq!(
        (&log[0]["n"], &log[0]["slot"], &log[0]["by_itself"]),
        (&json!(1), &json!(1), &json!(false))
    );
    assert_eq!(console.ready["log"]["root"], log[0]["digest"]);
    assert_eq!(
        (&console.ready["log"]["n"], &console.ready["log"]["digest"]),
        (&json!(1), &log[0]["digest"])
    );
    assert_eq!(
        desk.json(&["operators", "acceptance", "--json"]),
        json!({ "acceptance": false })
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
            vec!["operators", "accept", "--json", &unknown],
            3,
            "not_found",
        ),
        (
            vec!["operators", "retire", "--json", &own],
            6,
            "invalid_args",
        ),
        (
            vec!["operators", "limit", "--json", &own, "--max-risk", "low"],
            6,
            "invalid_args",
        ),
        (
            vec!["operators", "admin", "--json", &own, "off"],
            6,
            "invalid_args",
        ),
    ] {
        let ended = desk.run(&command);
        let (ended, reported, _) = ended.error();
        assert_eq!((ended, reported.as_str()), (exit, code), "{command:?}");
    }
    let renamed = desk.json(&["operators", "rename", &own, "Ada", "--json"]);
    assert_eq!(
        (&renamed["changed"], &renamed["n"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(renamed["operators"][0]["name"], "Ada");
    let again = desk.json(&["operators", "rename", &own, "Ada", "--json"]);
    assert_eq!(
        (&again["changed"], &again["n"], &again["digest"]),
        (&json!(false), &json!(2), &renamed["digest"])
    );
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
    first
        .run(&["operators", "retire", "--key-only", own])
        .success();
    reaches(&second, own, "ended");
    let keys = check("keys");
    assert_eq!(keys["verdict"], "failed", "{keys}");
    assert!(
        keys["detail"]
            .as_str()
            .unwrap()
            .contains("was ended by entry"),
        "{keys}"
    );
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
async fn a_newcomer_waits_is_accepted_with_limits_and_retired_from_the_command_line() {
    let first = Desk::new();
    let console = Console::start(&first);
    let on = first.json(&["operators", "acceptance", "on", "--json"]);
    assert_eq!(
        (&on["acceptance"], &on["changed"], &on["n"]),
        (&json!(true), &json!(true), &json!(2))
    );
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
        message.contains(&format!("countersign operators accept {key}")),
        "{message}"
    );
    let accepted = first.json(&[
        "operators",
        "accept",
        &key,
        "--max-risk",
        "medium",
        "--workspaces",
        "default,acme",
        "--json",
    ]);
    assert_eq!(
        (&accepted["changed"], &accepted["n"]),
        (&json!(true), &json!(3))
    );
    let line = &accepted["operators"][0];
    assert_eq!(
        (&line["max_risk"], &line["workspaces"], &line["state"]),
        (
            &json!("medium"),
            &json!(["acme", "default"]),
            &json!("in_force")
        )
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
    let line = reaches(&second, &key, "ended");
    assert!(line["ended"].is_u64());
    for command in [
        &["approve", "r3", "--json"][..],
        &["deny", "r3", "--message", "no", "--json"],
        &["operators", "acceptance", "off", "--json"],
    ] {
        let (exit, code, _) = second.run(command).error();
        assert_eq!((exit, code.as_str()), (8, "read_only"));
    }
    let reported = second.json(&["status", "--json"]);
    let head = first.lines(&["operators", "log", "--json"]).pop().unwrap();
    assert_eq!(
        reported["operators"],
        json!({
            "state": "ended", "admin": false, "n": head["n"], "digest": head["digest"],
            "acceptance": true, "recovery": false,
        })
    );
    let doctor = second.run(&["doctor", "--json"]);
    assert_eq!(doctor.code, 1);
    let checks = doctor.lines();
    let keys = checks.iter().find(|line| line["check"] == "keys").unwrap();
    assert_eq!(keys["verdict"], "failed");
    assert!(
        keys["detail"].as_str().unwrap().contains("desk key"),
        "{keys}"
    );
    assert_eq!(first.show_in_state("r1", "decided")["verdict"], "approve");
    assert_eq!(agent.decision("r3").await, None);
    drop(other);
}
