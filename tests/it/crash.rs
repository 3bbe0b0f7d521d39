//! What survives when something dies.

use std::time::Duration;

use countersign_testkit::halt;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, LIMIT, eventually};

fn runtime(desk: &Desk) -> Value {
    serde_json::from_slice(&std::fs::read(desk.path().join("runtime.json")).unwrap()).unwrap()
}

#[tokio::test]
async fn requests_that_wait_survive_kill_9_of_the_console() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let url = console.url();
    let agent = Agent::connect(console.agent_json()).await;
    for number in 0..20 {
        agent.ask(&agent.request(&format!("r{number}"))).await;
    }
    desk.show_in_state("r3", "pending");
    desk.run(&["deny", "r3", "--message", "before"]).success();
    console.kill9();
    let console = Console::start(&desk);
    assert_eq!(console.url(), url, "agents find the bus where it was");
    desk.show_in_state("r19", "pending");
    let waiting = desk.lines(&["inbox", "--json"]);
    assert_eq!(waiting.len(), 19);
    assert_eq!(desk.json(&["show", "r3", "--json"])["verdict"], "deny");
    desk.run(&["approve", "r4"]).success();
    let agent = Agent::connect(console.agent_json()).await;
    assert_eq!(agent.decision("r3").await.unwrap()["message"], "before");
    assert_eq!(agent.decision("r4").await.unwrap()["verdict"], "approve");
    assert_eq!(desk.json(&["audit", "verify", "--json"])["ok"], true);
}

#[tokio::test]
async fn nothing_is_lost_when_the_embedded_server_is_killed() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for id in ["r1", "r2"] {
        agent.ask(&agent.request(id)).await;
        desk.show_in_state(id, "pending");
    }
    let server = runtime(&desk)["nats_pid"].as_i64().unwrap();
    kill(
        Pid::from_raw(i32::try_from(server).unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    // Given at once it is queued or stored; in either case it arrives.
    let given = desk.run(&["approve", "r1"]);
    assert!(matches!(given.code, 0 | 7), "{given:?}");
    desk.show_when("r1", |shown| {
        shown["stream_seq"].is_number() && shown["state"] == "decided"
    });
    desk.run(&["deny", "r2", "--message", "after"]).success();
    let agent = Agent::connect(console.agent_json()).await;
    assert_eq!(agent.decision("r1").await.unwrap()["verdict"], "approve");
    agent.ask(&agent.request("r3")).await;
    desk.show_in_state("r3", "pending");
    assert_eq!(desk.json(&["status", "--json"])["alarms"], json!([]));
    assert_eq!(console.stop(Signal::SIGTERM).0, Some(0));
}

#[tokio::test]
async fn a_decision_that_the_bus_does_not_acknowledge_exits_7_and_goes_out_later() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    let server = runtime(&desk)["nats_pid"].as_i64().unwrap();
    let server = Pid::from_raw(i32::try_from(server).unwrap());
    halt(server);
    let edited = "{\"to\": \"b\", \"copies\": 1}";
    let approve = [
        "approve",
        "r1",
        "--args",
        "-",
        "--message",
        "one will do",
        "--json",
    ];
    let given = desk.run_with(edited, &approve);
    let shown = desk.run(&["show", "r1", "--json"]);
    let reported = desk.run(&["show", "r1"]);
    kill(server, Signal::SIGCONT).unwrap();
    let (exit, code, message) = given.error();
    assert_eq!((exit, code.as_str()), (7, "bus_unreachable"), "{message}");
    assert!(message.contains("queued"), "{message}");
    // Who, what and why are known while it is on its way.
    let shown = shown.success().lines().remove(0);
    assert_eq!(
        (&shown["state"], &shown["verdict"], &shown["message"]),
        (&json!("queued"), &json!("modify"), &json!("one will do"))
    );
    assert_eq!(shown["decided_by"]["name"], "Test Operator");
    assert_eq!(shown["stream_seq"], json!(null));
    assert_eq!(shown["decision"]["edited_args"]["copies"], 1);
    let reported = reported.success().out;
    for words in [
        "modify by Test Operator",
        "one will do",
        "Arguments that may run instead",
    ] {
        assert!(reported.contains(words), "{words} is not in {reported}");
    }
    desk.show_when("r1", |shown| shown["stream_seq"].is_number());
    let agent = Agent::connect(console.agent_json()).await;
    assert_eq!(agent.decision("r1").await.unwrap()["verdict"], "modify");
}

#[tokio::test]
async fn a_request_that_ran_out_while_no_console_ran_is_answered_expired() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1").lasting(1_500)).await;
    desk.show_in_state("r1", "pending");
    console.kill9();
    tokio::time::sleep(Duration::from_millis(1_600)).await;
    let console = Console::start(&desk);
    desk.show_in_state("r1", "expired");
    let agent = Agent::connect(console.agent_json()).await;
    let answered = async {
        while agent
            .decision("r1")
            .await
            .is_none_or(|decision| decision["verdict"] != "expired")
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, answered)
        .await
        .expect("the agent is informed");
}

#[test]
fn a_stopped_console_takes_its_server_with_it() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let desk = Desk::new();
        let console = Console::start(&desk);
        let server = runtime(&desk)["nats_pid"].as_i64().unwrap();
        let server = Pid::from_raw(i32::try_from(server).unwrap());
        match signal {
            Signal::SIGKILL => console.kill9(),
            _ => assert_eq!(console.stop(signal).0, Some(0)),
        }
        eventually(|| match kill(server, None) {
            Ok(()) => Err("nats-server outlives the console"),
            Err(_) => Ok(()),
        });
    }
}
