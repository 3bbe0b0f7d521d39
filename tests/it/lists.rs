//! The shape of every list and object under `--json`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, Running};

const LINE: [&str; 23] = [
    "request_id",
    "workspace",
    "agent",
    "tool",
    "kind",
    "risk",
    "state",
    "verdict",
    "origin",
    "decided_by",
    "message",
    "args_digest",
    "requested_at",
    "stored_at",
    "received_at",
    "deadline_at",
    "decided_at",
    "delivery",
    "request_seq",
    "stream_seq",
    "rule",
    "error_code",
    "approvals",
];

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[tokio::test]
async fn lines_have_the_fields_of_the_contract_and_absent_values_are_null() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let seq = agent
        .ask(&agent.request("r1").set("risk", json!("apocalyptic")))
        .await;
    desk.show_in_state("r1", "pending");
    let line = desk.json(&["inbox", "--json"]);
    assert_eq!(keys(&line), LINE);
    for (field, value) in [
        ("request_id", json!("r1")),
        ("workspace", json!("default")),
        ("agent", json!("local")),
        ("tool", json!("send_mail")),
        ("kind", json!("tool_call")),
        ("risk", json!("critical")),
        ("state", json!("pending")),
        ("verdict", json!(null)),
        ("origin", json!(null)),
        ("decided_by", json!(null)),
        ("message", json!(null)),
        ("decided_at", json!(null)),
        ("delivery", json!("stored")),
        ("request_seq", json!(seq)),
        ("stream_seq", json!(null)),
        ("rule", json!(null)),
        ("error_code", json!(null)),
        ("approvals", json!(null)),
    ] {
        assert_eq!(line[field], value, "{field}");
    }
    for field in ["requested_at", "stored_at", "received_at", "deadline_at"] {
        let text = line[field].as_str().unwrap();
        assert!(text.len() == 24 && text.ends_with('Z'), "{field}: {text}");
    }
    desk.run(&["deny", "r1", "--message", "no"]).success();
    assert!(desk.lines(&["inbox", "--json"]).is_empty());
    let lines = desk.lines(&["history", "--json"]);
    let with_more = [&LINE[..], &["repeats", "findings"]].concat();
    assert_eq!((lines.len(), keys(&lines[0])), (2, with_more));
    assert_eq!(lines[0]["findings"], json!([]));
    assert_eq!(lines[0]["decided_by"]["name"], "Test Operator");
    assert_eq!(lines[0]["origin"], "operator");
    assert_eq!(lines[1], json!({ "next": null }));
    let shown = desk.json(&["show", "r1", "--json"]);
    assert_eq!(keys(&shown)[..LINE.len()], LINE);
    for field in [
        "request", "decision", "warnings", "votes", "why", "receipts",
    ] {
        assert!(shown.get(field).is_some(), "{field}");
    }
    assert_eq!(shown["request"]["risk"], "apocalyptic");
    assert_eq!(shown["warnings"][0]["code"], "unknown_risk");
}

#[tokio::test]
async fn the_inbox_is_ordered_by_deadline_and_narrowed_by_agent_and_risk() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for (id, seconds, risk) in [
        ("late", 300, "low"),
        ("soon", 60, "high"),
        ("middle", 120, "low"),
    ] {
        agent
            .ask(
                &agent
                    .request(id)
                    .lasting(seconds * 1_000)
                    .set("risk", json!(risk)),
            )
            .await;
    }
    desk.show_in_state("middle", "pending");
    let ids = |arguments: &[&str]| -> Vec<String> {
        let lines = desk.lines(&[&["inbox", "--json"], arguments].concat());
        lines
            .iter()
            .map(|line| line["request_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&[]), ["soon", "middle", "late"]);
    assert_eq!(ids(&["--risk", "low"]), ["middle", "late"]);
    assert_eq!(ids(&["--agent", "local"]), ["soon", "middle", "late"]);
    assert_eq!(
        ids(&["--agent", "default/local"]),
        ["soon", "middle", "late"]
    );
    assert!(ids(&["--agent", "somebody"]).is_empty());
    assert!(ids(&["--agent", "acme/local"]).is_empty());
}

#[tokio::test]
async fn history_pages_lose_and_repeat_nothing_and_filters_hold() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for number in 0..7 {
        agent.ask(&agent.request(&format!("r{number}"))).await;
    }
    desk.show_in_state("r6", "pending");
    desk.run(&["deny", "r2", "--message", "no"]).success();
    desk.run(&["approve", "r4"]).success();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let mut arguments = vec!["history", "--json", "--limit", "3"];
        let cursor: Option<String> = after.take();
        if let Some(cursor) = &cursor {
            arguments.extend(["--after", cursor]);
        }
        let mut lines = desk.lines(&arguments);
        let last = lines.pop().unwrap();
        seen.extend(
            lines
                .iter()
                .map(|line| line["request_id"].as_str().unwrap().to_owned()),
        );
        match &last["next"] {
            Value::Null => break,
            Value::String(next) => after = Some(next.clone()),
            other => panic!("{other}"),
        }
    }
    assert_eq!(seen, ["r6", "r5", "r4", "r3", "r2", "r1", "r0"]);
    let count = |arguments: &[&str]| {
        desk.lines(&[&["history", "--json"], arguments].concat())
            .len()
            - 1
    };
    for (arguments, wanted) in [
        (&["--verdict", "deny"][..], 1),
        (&["--state", "decided"], 2),
        (&["--state", "pending"], 5),
        (&["--origin", "operator"], 2),
        (&["--tool", "send_mail"], 7),
        (&["--tool", "send"], 0),
        (
            &[
                "--agent",
                "local",
                "--state",
                "decided",
                "--verdict",
                "approve",
            ],
            1,
        ),
        (&["--since", "1h"], 7),
        (&["--until", "1h"], 0),
        (&["--since", "2099-01-01"], 0),
        (&["--limit", "1000"], 7),
    ] {
        assert_eq!(count(arguments), wanted, "{arguments:?}");
    }
}

#[tokio::test]
async fn status_and_audit_head_have_the_fields_of_the_contract() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let seq = agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    let status = desk.json(&["status", "--json"]);
    for field in [
        "streams",
        "caught_up",
        "waiting",
        "rejected",
        "outbox",
        "agents",
        "panic",
        "alarms",
    ] {
        assert!(status.get(field).is_some(), "{field}");
    }
    assert_eq!(
        keys(&status["bus"]),
        ["connected", "url", "server_version", "insecure"]
    );
    assert_eq!(status["bus"]["connected"], true);
    assert_eq!(status["bus"]["url"], console.url());
    assert_eq!(status["bus"]["insecure"], json!([]));
    let requests = &status["streams"]["CS_REQUESTS"];
    assert_eq!(requests, &json!({ "last_seq": seq, "projected_seq": seq }));
    assert_eq!(
        (&status["caught_up"], &status["waiting"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(
        (&status["panic"], &status["alarms"]),
        (&json!(false), &json!([]))
    );
    assert_eq!(keys(&status["audit"]), ["seq", "hash", "anchored_seq"]);
    let log = desk.lines(&["operators", "log", "--json"]);
    assert_eq!(
        status["operators"],
        json!({
            "state": "in_force", "admin": true, "n": 1, "digest": log[0]["digest"],
            "acceptance": false, "recovery": false,
        })
    );
    let head = desk.json(&["audit", "head", "--json"]);
    assert_eq!(keys(&head), ["seq", "hash"]);
    assert!(head["seq"].as_i64().unwrap() >= status["audit"]["seq"].as_i64().unwrap());
}

#[test]
fn doctor_finds_nothing_wrong_with_a_running_console_and_names_what_is() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let checks = desk.lines(&["doctor", "--json"]);
    let names: Vec<&str> = checks
        .iter()
        .map(|check| check["check"].as_str().unwrap())
        .collect();
    for name in [
        "data_folder",
        "nats_server",
        "console",
        "bus",
        "security",
        "streams",
        "log",
        "clock",
        "audit",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let doubtful = checks.iter().filter(|check| check["verdict"] != "ok");
    let doubtful: Vec<&Value> = doubtful.collect();
    assert_eq!(doubtful.len(), 1, "{checks:?}");
    assert_eq!(
        (&doubtful[0]["check"], &doubtful[0]["verdict"]),
        (&json!("recovery"), &json!("warning"))
    );
    let keys = desk.path().join("keys");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(keys, open).unwrap();
    let ended = desk.run(&["doctor", "--json"]);
    assert_eq!(ended.code, 1);
    let wrong = ended
        .lines()
        .into_iter()
        .find(|check| check["verdict"] == "failed")
        .unwrap();
    assert_eq!(wrong["check"], "data_folder");
}

#[test]
fn doctor_does_not_say_that_decisions_can_be_taken_where_none_can() {
    let desk = Desk::new();
    Console::start(&desk).stop(nix::sys::signal::Signal::SIGTERM);
    // Nothing that root's rights would open all the same.
    let lock = desk.path().join("console.lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let ended = desk.run(&["doctor", "--json"]);
    let decisions = ended
        .lines()
        .into_iter()
        .find(|check| check["check"] == "decisions");
    assert_eq!(decisions.unwrap()["verdict"], "failed", "{ended:?}");
    assert_eq!(ended.code, 1);
}

#[tokio::test]
async fn watch_tells_arrival_decision_and_receipt_as_they_happen() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let mut watch = Running(desk.start(&["watch", "--json"], Stdio::null()));
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    // It follows from its start on: asked again and again until the first one is reported.
    let agent = Agent::connect(console.agent_json()).await;
    let mut next = move |wanted: &str, id: &str| loop {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if line["event"] == wanted && line["request_id"] == id {
            break line;
        }
    };
    let feeding = async {
        for number in 0.. {
            agent.ask(&agent.request(&format!("r{number}"))).await;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let _ = tokio::time::timeout(std::time::Duration::from_millis(1_500), feeding).await;
    let mut ids = desk.lines(&["inbox", "--json"]);
    let last = ids.pop().unwrap()["request_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let arrival = next("request", &last);
    assert_eq!(
        (&arrival["tool"], &arrival["agent"]),
        (&json!("send_mail"), &json!("local"))
    );
    desk.run(&["deny", &last, "--message", "no"]).success();
    assert_eq!(next("decision", &last)["verdict"], "deny");
    let decision = agent.decision(&last).await.unwrap();
    let receipt = json!({
        "v": 1, "decision_id": decision["decision_id"], "stage": "received", "at": "2026-11-21T12:00:00.000Z",
    });
    let subject = format!("countersign.v1.receipt.default.local.{last}");
    agent
        .client
        .request(subject, receipt.to_string().into())
        .await
        .unwrap();
    assert_eq!(next("receipt", &last)["detail"]["stage"], "received");
    watch.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(watch.wait(), Some(0));
}

#[test]
fn watch_says_that_it_follows_nothing_while_no_console_runs() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    console.stop(nix::sys::signal::Signal::SIGTERM);
    let mut watch = Running(desk.start(&["watch", "--json"], Stdio::null()));
    let mut announced = BufReader::new(watch.0.stderr.take().unwrap()).lines();
    let mut next = |words: &str| loop {
        let line = announced.next().unwrap().unwrap();
        if line.contains(words) {
            break;
        }
    };
    next("no console runs in this folder");
    let console = Console::start(&desk);
    next("a console runs in this folder");
    drop(console);
    next("no console runs in this folder");
}
