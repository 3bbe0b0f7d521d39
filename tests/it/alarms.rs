//! Alarms in words, and that a person has seen one.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, Running, eventually};

/// An agent says that it ran what was denied.
async fn runs_what_was_denied(desk: &Desk, agent: &Agent, id: &str) {
    agent.ask(&agent.request(id)).await;
    desk.show_in_state(id, "pending");
    desk.run(&["deny", id, "--message", "no"]).success();
    let decision = desk.show_in_state(id, "decided")["decision"].clone();
    let receipt = json!({
        "v": 1, "decision_id": decision["decision_id"], "stage": "executed", "at": "2026-11-21T12:00:00.000Z",
    });
    let subject = format!("countersign.v1.receipt.default.local.{id}");
    let asked = agent
        .client
        .request(subject, receipt.to_string().into())
        .await;
    asked.unwrap();
}

fn standing(desk: &Desk, count: usize) -> Vec<Value> {
    eventually(|| {
        let status = desk.json(&["status", "--json"]);
        let alarms = status["alarms"].as_array().unwrap().clone();
        (alarms.len() == count).then_some(alarms).ok_or(status)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alarm_says_what_happened_and_is_told_until_a_person_has_seen_it() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let mut watch = Running(desk.start(&["watch"], Stdio::null()));
    let mut watched = BufReader::new(watch.0.stdout.take().unwrap());
    let mut announced = BufReader::new(watch.0.stderr.take().unwrap());
    announced.read_line(&mut String::new()).unwrap();
    runs_what_was_denied(&desk, &agent, "r1").await;
    let alarm = standing(&desk, 1).remove(0);
    assert_eq!(alarm["code"], "executed_without_approval");
    assert_eq!(alarm["subject"], "default/local/r1");
    let sentence = alarm["sentence"].as_str().unwrap();
    assert!(sentence.contains("countersign stop"), "{sentence}");
    assert!(desk.run(&["status"]).success().out.contains(sentence));
    assert!(desk.run(&["alarms"]).success().out.contains(sentence));
    let mut line = String::new();
    while !line.contains("alarm") {
        line.clear();
        assert!(watched.read_line(&mut line).unwrap() > 0);
    }
    assert!(line.contains(sentence), "{line}");

    let id = alarm["id"].as_i64().unwrap().to_string();
    let seen = desk.json(&["alarms", "ack", &id, "--json"]);
    assert!(seen["acknowledged_at"].is_string(), "{seen}");
    assert_eq!(seen["acknowledged_by"], console.ready["operator_key"]);
    standing(&desk, 0);
    let listed = desk.lines(&["alarms", "--json"]);
    assert_eq!(listed, std::slice::from_ref(&seen));
    // Once more changes nothing, and one that never was is not found.
    assert_eq!(desk.json(&["alarms", "ack", &id, "--json"]), seen);
    let (exit, code, _) = desk.run(&["alarms", "ack", "4711", "--json"]).error();
    assert_eq!((exit, code.as_str()), (3, "not_found"));
    // Another one is reported again, and the log says who saw what.
    runs_what_was_denied(&desk, &agent, "r2").await;
    standing(&desk, 1);
    let verified = desk.json(&["audit", "verify", "--json"]);
    assert_eq!(verified["ok"], true, "{verified}");
    let bundle = desk.run(&["audit", "export"]).success().out;
    let rows = bundle.matches("\"alarm_acknowledged\"").count();
    assert_eq!(rows, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_names_another_decision_than_the_approval_is_an_alarm() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    desk.run(&["approve", "r1"]).success();
    let decision = desk.show_in_state("r1", "decided")["decision"].clone();
    let ran = async |id: &str| {
        let receipt = json!({
            "v": 1, "decision_id": id, "stage": "executed", "at": "2026-11-21T12:00:00.000Z",
            "executed_args_digest": decision["args_digest"],
        });
        let asked = agent.client.request(
            "countersign.v1.receipt.default.local.r1",
            receipt.to_string().into(),
        );
        asked.await.unwrap();
    };
    ran("0199a000-0000-7000-8000-00000000dead").await;
    let alarm = standing(&desk, 1).remove(0);
    assert_eq!(alarm["code"], "executed_without_decision");
    assert_eq!(alarm["subject"], "default/local/r1");
    // What it says of the approval itself is believed all the same.
    ran(decision["decision_id"].as_str().unwrap()).await;
    eventually(|| {
        let shown = desk.json(&["show", "r1", "--json"]);
        (shown["delivery"] == "executed").then_some(()).ok_or(shown)
    });
    standing(&desk, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_a_digest_that_is_none_is_one_with_other_arguments() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for (count, (id, spelled)) in [
        (
            "upper",
            (|digest: &str| digest.to_uppercase()) as fn(&str) -> String,
        ),
        ("bare", |digest| digest["sha256:".len()..].to_owned()),
        ("own", |_| "44136fa355b3678a".to_owned()),
        ("empty", |_| String::new()),
    ]
    .into_iter()
    .enumerate()
    {
        agent.ask(&agent.request(id)).await;
        desk.show_in_state(id, "pending");
        desk.run(&["approve", id]).success();
        let decision = desk.show_in_state(id, "decided")["decision"].clone();
        let receipt = json!({
            "v": 1, "decision_id": decision["decision_id"], "stage": "executed", "at": "2026-11-21T12:00:00.000Z",
            "executed_args_digest": spelled(decision["args_digest"].as_str().unwrap()),
        });
        agent.publish("receipt", id, receipt.to_string()).await;
        let alarms = standing(&desk, count + 1);
        let asked = |alarm: &Value| {
            alarm["code"] == "executed_digest_differs"
                && alarm["subject"] == format!("default/local/{id}")
        };
        assert!(alarms.iter().any(asked), "{id}: {alarms:?}");
    }
}

async fn core_of(desk: &Desk, console: &Console) -> async_nats::Client {
    let login = std::fs::read_to_string(desk.path().join("keys/login.nk")).unwrap();
    async_nats::ConnectOptions::with_nkey(login.trim().to_owned())
        .connect(console.url())
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_deletes_from_the_shared_policy_lets_go_of_no_control_and_of_no_rule() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let core = core_of(&desk, &console).await;
    let rules = desk.path().join("rules.toml");
    std::fs::write(
        &rules,
        "schema = 1\n[[rule]]\nid = \"a\"\neffect = \"ask\"\n",
    )
    .unwrap();
    let rules = rules.to_str().unwrap();
    desk.run(&["panic", "on"]).success();
    desk.run(&["pause", "acme/bot"]).success();
    desk.run(&["rules", "apply", rules]).success();
    let asked = || {
        let status = desk.json(&["status", "--json"]);
        let alarms = status["alarms"].as_array().unwrap().len();
        let held = status["brakes"].as_array().unwrap().len();
        let rules = desk.lines(&["rules", "list", "--json"]).len();
        (status["panic"] == true, held, rules, alarms)
    };
    let eventually_told = |expected: (bool, usize, usize, usize)| {
        eventually(|| match asked() {
            now if now == expected => Ok(()),
            other => Err(other),
        });
    };
    assert_eq!(asked(), (true, 1, 1, 0));
    for key in ["panic", "pause.acme.bot", "rules.default"] {
        let mut deleted = async_nats::HeaderMap::new();
        deleted.insert("KV-Operation", "DEL");
        let subject = format!("$KV.CS_POLICY.{key}");
        core.request_with_headers(subject, deleted, "".into())
            .await
            .unwrap();
    }
    // Each is reported as one that nobody has signed.
    eventually_told((true, 1, 1, 3));
    console.stop(nix::sys::signal::Signal::SIGTERM);
    let console = Console::start(&desk);
    eventually_told((true, 1, 1, 3));
    desk.run(&["panic", "off"]).success();
    desk.run(&["resume", "acme/bot"]).success();
    eventually_told((false, 0, 1, 1));
    desk.run(&["panic", "on"]).success();
    desk.run(&["rules", "apply", rules]).success();
    eventually_told((true, 0, 1, 0));
    // The bucket still holds what was put right; it is not reported again.
    console.stop(nix::sys::signal::Signal::SIGTERM);
    let console = Console::start(&desk);
    desk.run(&["panic", "off"]).success();
    eventually_told((false, 0, 1, 0));
    let verified = desk.json(&["audit", "verify", "--json"]);
    assert_eq!(verified["ok"], true, "{verified}");
    drop(console);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_that_does_not_verify_is_told_as_on_until_one_that_verifies_stands_there() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let core = core_of(&desk, &console).await;
    assert_eq!(desk.json(&["status", "--json"])["panic"], false);
    for key in ["panic", "pause.acme.bot"] {
        let subject = format!("$KV.CS_POLICY.{key}");
        core.publish(subject, "{\"on\":false}".into())
            .await
            .unwrap();
    }
    core.flush().await.unwrap();
    for alarm in standing(&desk, 2) {
        assert_eq!(alarm["code"], "brake_unverified");
        // Having been seen ends no state.
        let id = alarm["id"].as_i64().unwrap().to_string();
        desk.run(&["alarms", "ack", &id]).success();
    }
    let status = desk.json(&["status", "--json"]);
    assert_eq!(status["panic"], true, "{status}");
    assert_eq!(status["brakes"][0]["state"], "paused", "{status}");
    desk.run(&["panic", "off"]).success();
    desk.run(&["resume", "acme/bot"]).success();
    let status = desk.json(&["status", "--json"]);
    assert_eq!(
        (&status["panic"], &status["brakes"]),
        (&json!(false), &json!([]))
    );
    assert!(desk.lines(&["alarms", "--json"]).is_empty());
    console.stop(nix::sys::signal::Signal::SIGTERM);
    let console = Console::start(&desk);
    desk.run(&["pause", "acme/other"]).success();
    let status = desk.json(&["status", "--json"]);
    assert_eq!(status["panic"], false, "{status}");
    assert_eq!(status["alarms"], json!([]), "{status}");
    drop(console);
}
