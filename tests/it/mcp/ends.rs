//! How a proxy ends, and what happens without a console.

use nix::sys::signal::Signal;
use serde_json::json;

use super::{Client, waiting};
use crate::desk::{Console, Desk, eventually};

#[test]
fn without_a_console_nothing_runs_and_the_model_reads_why() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = console.agent_json();
    let mut client = Client::initialized(
        &desk,
        &[
            "--agent-json",
            &agent,
            "--timeout",
            "2",
            "--unasked",
            "free",
        ],
    );
    client.call(1, "pay", &json!({}));
    desk.run(&["deny", &waiting(&desk), "--message", "no"])
        .success();
    client.refusal();
    console.kill9();
    client.call(2, "pay", &json!({}));
    let words = client.refusal();
    assert!(
        words.starts_with("pay was not run") && !words.contains("denied"),
        "{words}"
    );
    // What does not ask goes on.
    client.call(3, "free", &json!({}));
    assert_eq!(client.answer()["id"], 3);

    let missing = desk.path().join("none.json").display().to_string();
    let mut client = Client::initialized(&desk, &["--agent-json", &missing]);
    client.call(1, "pay", &json!({}));
    let words = client.refusal();
    assert!(
        words.starts_with("pay was not run: could not get approval (bad_enrolment)"),
        "{words}"
    );
    assert!(!words.contains("none.json"), "{words}");
    assert_eq!(client.relayed().len(), 0);
}

#[test]
fn it_ends_with_its_server_and_takes_back_what_waits() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let mut client = Client::initialized(&desk, &["--unasked", "die"]);
    client.call(1, "pay", &json!({}));
    let id = waiting(&desk);
    client.call(2, "die", &json!({}));
    assert_eq!(client.proxy.wait(), Some(7));
    assert_eq!(client.errors(), "dying\n");
    desk.show_in_state(&id, "withdrawn");

    let mut client = Client::initialized(&desk, &[]);
    client.call(1, "pay", &json!({"n": 1}));
    let id = waiting(&desk);
    client.call(2, "silent", &json!({}));
    let running = eventually(|| {
        let lines = desk.lines(&["inbox", "--json"]);
        let other = lines.iter().find(|line| line["request_id"] != id.as_str());
        other.map(|line| line["request_id"].clone()).ok_or(lines)
    });
    let running = running.as_str().expect("an id");
    desk.run(&["approve", running]).success();
    eventually(|| {
        (client.relayed().len() == 1)
            .then_some(())
            .ok_or("not relayed")
    });
    client.proxy.signal(Signal::SIGTERM);
    assert_eq!(client.proxy.wait(), Some(128 + 15));
    desk.show_in_state(&id, "withdrawn");
    let shown = desk.show_when(running, |shown| shown["receipts"][1]["stage"] == "failed");
    assert_eq!(shown["receipts"][1]["message"], "connection_closed");
}

#[test]
fn a_server_that_cannot_be_started_is_told() {
    let desk = Desk::new();
    let agent = desk.path().join("agent.json").display().to_string();
    let ended = desk.run(&["mcp-proxy", "--agent-json", &agent, "--", "no-such-program"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("no-such-program"), "{}", ended.err);
    assert_eq!(desk.run(&["mcp-proxy"]).code, 2);
    assert_eq!(
        desk.run(&["mcp-proxy", "--risk", "pay=odd", "--", "true"])
            .code,
        2
    );
}
