//! What is refused, and how: exit codes and `error.code` of the contract.

use nix::sys::signal::Signal;
use serde_json::json;

use crate::desk::{Agent, Console, Desk, SET_BY_AGENTS, digest_of, ended_in_time};

fn refused(desk: &Desk, arguments: &[&str]) -> (i32, String, String) {
    desk.run(&[arguments, &["--json"]].concat()).error()
}

#[tokio::test]
async fn a_second_decision_exits_4_and_says_who_what_and_when() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    desk.run(&["deny", "r1", "--message", "no"]).success();
    let (exit, code, message) = refused(&desk, &["approve", "r1"]);
    assert_eq!((exit, code.as_str()), (4, "already_decided"));
    // The time of the lists, by the server's clock.
    let at = desk.json(&["show", "r1", "--json"])["decided_at"]
        .as_str()
        .unwrap()
        .to_owned();
    for word in ["Test Operator", "deny", &at] {
        assert!(message.contains(word), "{word} is not in {message}");
    }
    assert_eq!(agent.decision("r1").await.unwrap()["verdict"], "deny");
}

#[tokio::test]
async fn a_withdrawn_request_exits_4() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    let reason = "{\"v\":1,\"reason\":\"no longer needed\u{202e}\"}";
    agent.publish("withdraw", "r1", reason).await;
    let shown = desk.show_in_state("r1", "withdrawn");
    let reported = shown["withdraw_reason"].as_str().unwrap();
    assert!(reported.starts_with("no longer needed"), "{reported}");
    assert!(!reported.contains('\u{202e}'), "{reported}");
    let text = desk.run(&["show", "r1"]).success().out;
    assert!(text.contains("The agent says why it withdrew"), "{text}");
    assert!(text.contains("    no longer needed"), "{text}");
    let (exit, code, _) = refused(&desk, &["approve", "r1"]);
    assert_eq!((exit, code.as_str()), (4, "already_decided"));
}

#[tokio::test]
async fn an_expired_request_exits_5_for_every_verdict() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1").lasting(300)).await;
    desk.show_in_state("r1", "expired");
    for arguments in [&["approve", "r1"][..], &["deny", "r1", "--message", "no"]] {
        let (exit, code, _) = refused(&desk, arguments);
        assert_eq!((exit, code.as_str()), (5, "expired"), "{arguments:?}");
    }
    let decision = agent.decision("r1").await.unwrap();
    assert_eq!(
        (&decision["verdict"], &decision["origin"]),
        (&json!("expired"), &json!("timeout"))
    );
}

#[tokio::test]
async fn what_does_not_fit_the_request_exits_6_and_changes_nothing() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent
        .ask(
            &agent
                .request("r1")
                .set("allowed_verdicts", json!(["approve"])),
        )
        .await;
    agent
        .ask(&agent.request("two").set("approvals_required", json!(2)))
        .await;
    desk.show_in_state("two", "pending");
    let other = digest_of(&json!({"other": 1}));
    let good = desk.path().join("good.json");
    std::fs::write(&good, "{}").unwrap();
    let twice = desk.path().join("twice.json");
    std::fs::write(&twice, "{\"to\":\"a\",\"to\":\"b\"}").unwrap();
    let (good, twice) = (good.to_str().unwrap(), twice.to_str().unwrap());
    for (arguments, wanted) in [
        (
            &["approve", "r1", "--digest", other.as_str()][..],
            "digest_differs",
        ),
        (&["approve", "r1", "--args", good], "verdict_not_allowed"),
        (&["skip", "r1"], "verdict_not_allowed"),
        (&["escalate", "r1"], "verdict_not_allowed"),
        (&["respond", "r1", "--content", "x"], "verdict_not_allowed"),
        (&["approve", "r1", "--args", twice], "invalid_args"),
    ] {
        let (exit, code, message) = refused(&desk, arguments);
        assert_eq!(
            (exit, code.as_str()),
            (6, wanted),
            "{arguments:?}: {message}"
        );
    }
    assert_eq!(desk.json(&["show", "r1", "--json"])["state"], "pending");
    assert!(
        agent
            .decision("r1")
            .await
            .is_none_or(|decision| decision.get("verdict").is_none())
    );
    desk.run(&["deny", "r1", "--message", "deny is always allowed"])
        .success();
    desk.run(&["deny", "two", "--message", "one is enough to deny"])
        .success();
}

#[tokio::test]
async fn an_unknown_id_exits_3_and_an_ambiguous_one_2_with_the_candidates() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    desk.run(&["enroll", "acme/other"]).success();
    let other = Agent::connect(desk.path().join("agents/acme/other/agent.json")).await;
    agent.ask(&agent.request("same")).await;
    other.ask(&other.request("same")).await;
    desk.show_in_state("acme/other/same", "pending");
    desk.show_in_state("default/local/same", "pending");
    for arguments in [&["show", "same"][..], &["approve", "same"]] {
        let (exit, code, message) = refused(&desk, arguments);
        assert_eq!((exit, code.as_str()), (2, "ambiguous_id"));
        assert!(message.contains("acme/other/same") && message.contains("default/local/same"));
    }
    for arguments in [
        &["show", "nobody"][..],
        &["approve", "nobody"],
        &["deny", "acme/other/nobody", "--message", "x"],
        &["show", "not/an id/at all"],
        &["revoke", "acme/nobody"],
    ] {
        let (exit, code, _) = refused(&desk, arguments);
        assert_eq!((exit, code.as_str()), (3, "not_found"), "{arguments:?}");
    }
    desk.run(&["approve", "acme/other/same"]).success();
    assert_eq!(
        desk.json(&["show", "default/local/same", "--json"])["state"],
        "pending"
    );
}

#[test]
fn an_ask_without_a_console_exits_2_or_7_and_never_0() {
    let desk = Desk::new();
    let (exit, code, message) = refused(&desk, &["ask", "--tool", "t"]);
    assert_eq!((exit, code.as_str()), (2, "environment"), "{message}");
    Console::start(&desk).stop(Signal::SIGTERM);
    let (exit, code, message) = refused(&desk, &["ask", "--tool", "t", "--timeout", "1"]);
    assert_eq!((exit, code.as_str()), (7, "bus_unreachable"), "{message}");
}

#[test]
fn an_ask_under_another_name_than_its_login_has_exits_2() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let enrolment = std::fs::read_to_string(console.agent_json()).unwrap();
    let mut enrolment: serde_json::Value = serde_json::from_str(&enrolment).unwrap();
    enrolment["agent"] = "somebody-else".into();
    let file = desk.path().join("other.json");
    std::fs::write(&file, enrolment.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let arguments = ["ask", "--tool", "t", "--timeout", "5", "--agent-json", file];
    let (exit, code, message) = refused(&desk, &arguments);
    assert_eq!((exit, code.as_str()), (2, "environment"), "{message}");
    assert!(message.contains("enrol the agent again"), "{message}");
}

#[test]
fn reading_a_folder_without_a_console_says_so_and_makes_nothing() {
    let desk = Desk::new();
    for arguments in [
        &["inbox"][..],
        &["history"],
        &["status"],
        &["show", "x"],
        &["audit", "verify"],
    ] {
        let (exit, code, message) = refused(&desk, arguments);
        assert_eq!(
            (exit, code.as_str()),
            (2, "environment"),
            "{arguments:?}: {message}"
        );
    }
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0);
}

#[test]
fn a_verdict_or_a_control_on_a_folder_without_a_console_makes_none() {
    let desk = Desk::new();
    for arguments in [
        &["panic", "on"][..],
        &["panic", "off"],
        &["pause", "acme/bot"],
        &["stop", "acme/bot"],
        &["resume", "acme/bot"],
        &["bypass", "acme/bot", "--up-to", "low", "--for", "1h"],
        &["bypass", "off", "acme/bot"],
        &["approve", "x"],
        &["deny", "x", "--message", "no"],
        &["skip", "x"],
        &["respond", "x", "--content", "y"],
        &["escalate", "x"],
        &["revoke", "acme/bot"],
        &["rules", "regret", "x"],
    ] {
        let (exit, code, message) = refused(&desk, arguments);
        assert_eq!(
            (exit, code.as_str()),
            (2, "environment"),
            "{arguments:?}: {message}"
        );
        assert!(message.contains("countersign serve"), "{message}");
    }
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn below_a_coding_agent_only_what_reads_is_done() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    for variable in SET_BY_AGENTS {
        let below = |arguments: &[&str]| {
            let mut command = desk.command(&[arguments, &["--json"]].concat());
            command.env(variable, "1");
            ended_in_time(command)
        };
        for arguments in [
            &["approve", "r1"][..],
            &["panic", "on"],
            &["disconnect", "claude-code"],
        ] {
            let (exit, code, message) = below(arguments).error();
            assert_eq!((exit, code.as_str()), (6, "verdict_not_allowed"));
            assert!(message.contains(variable) && message.contains("a terminal of your own"));
        }
        for arguments in [&["inbox"][..], &["show", "r1"], &["status"], &["history"]] {
            below(arguments).success();
        }
    }
    assert_eq!(desk.show_in_state("r1", "pending")["state"], "pending");
    let mut command = desk.command(&["approve", "r1"]);
    command.env("CLAUDECODE", "");
    ended_in_time(command).success();
}
