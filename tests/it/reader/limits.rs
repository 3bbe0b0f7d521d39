//! Failures of a second reader, their words and its rests.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::script::Script;
use super::{MARKS, pay, read, rows, status};
use crate::desk::{Agent, Console, Desk, eventually};

#[tokio::test]
async fn each_failure_has_its_word_and_five_of_them_a_rest() {
    let desk = Desk::new();
    // On any machine this is too late, and the others are not.
    let script = Script::new(&desk, "sleep 60 & sleep 60");
    script.switch_on(&desk, "timeout_s = 1");
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p0", "acme")).await;
    assert_eq!(read(&desk, "p0")["state"], "failed");
    assert_eq!(status(&desk)["last_error"], "timeout");
    script.has_ended();
    let too_late = script.cards().len();
    script.switch_on(&desk, "timeout_s = 60\nat_once = 1");
    let is_on = |row: &(String, Value)| row.0 == "reader_on";
    eventually(|| match rows(&desk).into_iter().filter(is_on).count() {
        2 => Ok(()),
        other => Err(other),
    });
    for (id, does, word) in [
        ("p1", "exit 3", "exit"),
        ("p2", "echo fine", "answer"),
        ("p3", "kill -9 $$", "exit"),
        ("p4", "head -c 70000 /dev/zero | tr '\\0' x", "too_large"),
        ("p5", "echo '{\"findings\": 1}'", "answer"),
    ] {
        script.does(does);
        agent.ask(&pay(&agent, id, "acme")).await;
        let failed = json!({ "state": "failed", "findings": [] });
        assert_eq!(read(&desk, id), failed, "{word}");
        assert_eq!(status(&desk)["last_error"], word);
    }
    assert_ne!(status(&desk)["resting_until"], Value::Null);
    script.does(MARKS);
    agent.ask(&pay(&agent, "p6", "acme")).await;
    let waits = desk.show_in_state("p6", "pending");
    assert_eq!(waits["reader"]["state"], "asked", "it stays in line");
    desk.json(&["approve", "p6", "--json"]);
    assert_eq!(read(&desk, "p6")["state"], "skipped");
    assert_eq!(script.cards().len(), too_late + 5);
    script.has_ended();
    console.stop(Signal::SIGTERM);
}

#[tokio::test]
async fn an_hour_has_its_calls_and_a_late_answer_is_not_kept() {
    let desk = Desk::new();
    let script = Script::new(&desk, "");
    let go = script.file("go");
    script.does(&format!(
        "until [ -e {} ]; do sleep 0.1; done; {MARKS}",
        go.display()
    ));
    script.switch_on(&desk, "per_hour = 1");
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p1", "acme")).await;
    eventually(|| (script.cards().len() == 1).then_some(()).ok_or("not asked"));
    // A person decides while it reads.
    desk.json(&["deny", "p1", "--message", "no", "--json"]);
    desk.show_in_state("p1", "decided");
    fs::write(go, "").unwrap();
    assert_eq!(
        read(&desk, "p1"),
        json!({ "state": "late", "findings": [] })
    );
    agent.ask(&pay(&agent, "p2", "bolt")).await;
    assert_eq!(read(&desk, "p2")["state"], "skipped");
    // Another reader's settings do not begin a new hour, nor does a start.
    console.stop(Signal::SIGTERM);
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p3", "crow")).await;
    assert_eq!(read(&desk, "p3")["state"], "skipped");
    console.stop(Signal::SIGTERM);
    let late: Vec<Value> = rows(&desk)
        .into_iter()
        .filter(|row| row.0 == "reader_answered")
        .map(|row| row.1)
        .collect();
    assert_eq!((late.len(), &late[0]["late"]), (1, &json!(true)));
}
