//! New signing keys while agents wait: what was asked before is answered after.

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::desk::{Console, Desk, ended, eventually};
use crate::export::{check, python};

/// An agent of the Python package that waits for two answers, one after the other.
const AGENT: &str = "
import sys
from countersign import SyncGate, ToolCall
with SyncGate(sys.argv[1]) as gate:
    for name in ('first', 'second'):
        decision = gate.ask(ToolCall(name=name, args={'a': 1}), timeout=60)
        print(decision.verdict, decision.decided_by['key'], flush=True)
";

fn waiting(desk: &Desk, count: usize) -> Vec<Value> {
    eventually(|| {
        let lines = desk.lines(&["inbox", "--json"]);
        if lines.len() == count {
            Ok(lines)
        } else {
            Err(lines)
        }
    })
}

fn approve(desk: &Desk, line: &Value) {
    let id = line["request_id"].as_str().unwrap();
    desk.run(&["approve", id]).success();
}

fn rotate(desk: &Desk) -> (String, String) {
    let rotated = desk.json(&["operators", "rotate", "--now", "--json"]);
    let lines = rotated["rotated"].as_array().unwrap().clone();
    assert_eq!(
        lines.iter().map(|line| &line["role"]).collect::<Vec<_>>(),
        [&json!("human"), &json!("auto")]
    );
    let text = |name: &str| lines[0][name].as_str().unwrap().to_owned();
    (text("old"), text("new"))
}

#[test]
fn agents_that_wait_across_rotations_get_their_answers_and_accept_them() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let ask = desk.start(&["ask", "--tool", "t", "--json"], Stdio::null());
    waiting(&desk, 1);
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/python/src");
    let mut python = Command::new(python());
    python
        .args(["-c", AGENT, &console.agent_json()])
        .env("PYTHONPATH", sdk)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let python = python.spawn().unwrap();
    let lines = waiting(&desk, 2);
    let (first, second) = rotate(&desk);
    assert_eq!(console.ready["operator_key"], first.as_str());
    // Twice: both agents know only the key before the last one's predecessor.
    let (old, third) = rotate(&desk);
    assert_eq!(old, second);
    for line in &lines {
        approve(&desk, line);
    }
    let asked = ended(ask.wait_with_output().unwrap()).success();
    let decision: Value = serde_json::from_str(&asked.out).unwrap();
    assert_eq!(
        (&decision["verdict"], &decision["decided_by"]["key"]),
        (&json!("approve"), &json!(third))
    );
    let lines = waiting(&desk, 1);
    let (_, last) = rotate(&desk);
    approve(&desk, &lines[0]);
    let heard = ended(python.wait_with_output().unwrap()).success();
    assert_eq!(heard.out, format!("approve {third}\napprove {last}\n"));

    // Earlier decisions keep their worth: here, and for who trusts only the first key.
    let audit = desk.json(&["audit", "verify", "--json"]);
    assert_eq!(audit["ok"], true, "{audit}");
    let bundle = desk.path().join("bundle.jsonl");
    desk.run(&["audit", "export", "--out", &bundle.display().to_string()])
        .success();
    check(&bundle, &["--trust", &first]).success();
    console.stop(Signal::SIGTERM);
    let again = Console::start(&desk);
    assert_eq!(again.ready["operator_key"], last.as_str());
}
