//! A console or a server that hangs.

use std::time::Duration;

use countersign_testkit::halt;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::desk::{Agent, Console, Desk, ended, eventually};

fn server_of(desk: &Desk) -> Pid {
    let text = std::fs::read_to_string(desk.path().join("runtime.json")).unwrap();
    let runtime: Value = serde_json::from_str(&text).unwrap();
    Pid::from_raw(i32::try_from(runtime["nats_pid"].as_i64().unwrap()).unwrap())
}

fn checked(desk: &Desk, name: &str) -> (i32, Value) {
    let ended = desk.run(&["doctor", "--json"]);
    let check = ended.lines().into_iter().find(|at| at["check"] == name);
    (ended.code, check.unwrap())
}

#[tokio::test]
async fn a_console_that_reads_nothing_is_told_by_doctor_and_beside_the_lists() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    eventually(|| match checked(&desk, "console").1 {
        check if check["verdict"] == "ok" => Ok(()),
        other => Err(other),
    });
    assert_eq!(desk.run(&["inbox"]).success().err, "");
    console.signal(Signal::SIGSTOP);
    agent.ask(&agent.request("r2")).await;
    let (code, check) = checked(&desk, "console");
    assert_eq!((code, &check["verdict"]), (1, &"failed".into()), "{check}");
    for list in ["inbox", "history"] {
        let reported = desk.run(&[list]).success();
        assert!(reported.out.contains("r1") && !reported.out.contains("r2"));
        assert!(reported.err.contains("not read here yet"), "{reported:?}");
    }
    console.signal(Signal::SIGCONT);
    desk.show_in_state("r2", "pending");
    eventually(|| match checked(&desk, "console").1 {
        check if check["verdict"] == "ok" => Ok(()),
        other => Err(other),
    });
}

#[tokio::test]
async fn a_revoke_that_was_not_in_force_in_time_can_be_repeated_until_it_is() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    desk.run(&["enroll", "acme/bot"]).success();
    let revoke = ["revoke", "acme/bot", "--json"];
    console.signal(Signal::SIGSTOP);
    for _ in 0..2 {
        let (exit, code, message) = desk.run(&revoke).error();
        assert_eq!((exit, code.as_str()), (7, "bus_unreachable"), "{message}");
    }
    console.signal(Signal::SIGCONT);
    for _ in 0..2 {
        assert_eq!(desk.json(&revoke)["revoked"], true);
    }
    let (exit, code, message) = desk.run(&["revoke", "acme/nobody", "--json"]).error();
    assert_eq!((exit, code.as_str()), (3, "not_found"), "{message}");
}

#[tokio::test]
async fn whoever_could_not_read_the_bus_at_the_deadline_does_not_say_that_nobody_answered() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let ask = |seconds: &str| {
        let arguments = ["ask", "--tool", "pay", "--timeout", seconds, "--json"];
        desk.start(&arguments, std::process::Stdio::null())
    };
    let reported = |asking: std::process::Child| ended(asking.wait_with_output().unwrap()).error();
    let waiting = || {
        let lines = desk.lines(&["inbox", "--json"]);
        lines.first().map(|line| line["request_id"].clone())
    };
    let asking = ask("6");
    eventually(|| waiting().ok_or("nothing waits"));
    let server = server_of(&desk);
    halt(server);
    let (exit, code, message) = reported(asking);
    kill(server, Signal::SIGCONT).unwrap();
    assert_eq!((exit, code.as_str()), (7, "bus_unreachable"), "{message}");
    assert!(message.contains("is not known"), "{message}");
    // Its login was taken away while it waits.
    eventually(|| waiting().map_or(Ok(()), Err));
    let asking = ask("6");
    eventually(|| waiting().ok_or("nothing waits"));
    desk.run(&["enroll", "local"]).success();
    let (exit, code, message) = reported(asking);
    assert_eq!((exit, code.as_str()), (2, "environment"), "{message}");
    assert!(message.contains("is not known"), "{message}");
    let (exit, code, message) = reported(ask("1"));
    assert_eq!((exit, code.as_str()), (5, "expired"), "{message}");
    assert!(message.contains("nobody allowed it"), "{message}");
    drop(console);
}

#[test]
fn a_server_that_hangs_holds_nobody_up_for_longer_than_was_asked() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let server = server_of(&desk);
    halt(server);
    let begun = tokio::time::Instant::now();
    let asked = desk.run(&["ask", "--tool", "pay", "--timeout", "1", "--json"]);
    let took = begun.elapsed();
    let begun = tokio::time::Instant::now();
    let history = desk.run(&["history", "--json"]);
    let read = begun.elapsed();
    kill(server, Signal::SIGCONT).unwrap();
    assert_eq!(
        history.success().lines().last().unwrap()["next"],
        Value::Null
    );
    assert!(read < Duration::from_secs(4), "{read:?}");
    let (exit, code, message) = asked.error();
    assert_eq!((exit, code.as_str()), (7, "bus_unreachable"), "{message}");
    assert!(took < Duration::from_secs(4), "{took:?}");
}
