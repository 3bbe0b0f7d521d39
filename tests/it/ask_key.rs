//! `ask` with a key: one request, however often its process ends.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::desk::{Console, Desk, Running, ended, eventually};

const CALL: [&str; 8] = [
    "ask",
    "--tool",
    "deploy",
    "--args",
    "{\"to\":\"b\"}",
    "--key",
    "run/1",
    "--json",
];

fn waiting(desk: &Desk) -> Vec<String> {
    let lines = desk.lines(&["inbox", "--json"]);
    let id = |line: &serde_json::Value| line["request_id"].as_str().map(str::to_owned);
    lines.iter().filter_map(id).collect()
}

#[test]
fn a_call_without_a_name_is_not_asked() {
    let desk = Desk::new();
    for name in ["", " ", "\t\u{a0}\u{3000}"] {
        let ended = desk.run(&["ask", "--tool", name]);
        assert_eq!(ended.code, 6, "{}", ended.err);
        assert!(ended.err.contains("--tool"), "{}", ended.err);
    }
}

#[test]
fn the_same_key_waits_for_the_same_request_after_a_kill_and_gets_one_answer() {
    let desk = Desk::new();
    let state = desk.path().join("state").display().to_string();
    let desk = desk.with("COUNTERSIGN_STATE_DIR", state);
    let _console = Console::start(&desk);
    let schema = json!({"type": "object", "properties": {"to": {"type": "string"}}});
    let file = desk.path().join("schema.json");
    std::fs::write(&file, schema.to_string()).unwrap();
    let file = file.display().to_string();
    let more = [
        "--call-id",
        "c1",
        "--thread",
        "t1",
        "--origin",
        "mcp",
        "--schema",
        &file,
    ];
    let asking = [&CALL[..], &more].concat();

    let mut first = Running(desk.start(&asking, Stdio::null()));
    let id = eventually(|| waiting(&desk).pop().ok_or("nothing asked"));
    let request = desk.show_in_state(&id, "pending")["request"].clone();
    assert_eq!(request["call_id"], "c1");
    assert_eq!(request["thread_id"], "t1");
    assert_eq!(request["tool"]["origin"], "mcp");
    assert_eq!(request["tool"]["args_schema"], schema);
    let (_, _, taken) = desk.run(&asking).error();
    assert!(taken.contains("already waiting"), "{taken}");
    first.signal(Signal::SIGKILL);
    first.wait();
    // A signal that lets it end leaves the request as well.
    let words: Vec<&str> = asking
        .iter()
        .copied()
        .filter(|word| *word != "--json")
        .collect();
    let mut again = Running(desk.start(&words, Stdio::null()));
    let mut reported = String::new();
    let pipe = again.0.stderr.take().unwrap();
    BufReader::new(pipe).read_line(&mut reported).unwrap();
    assert!(
        reported.contains("from the first ask with this --key"),
        "{reported}"
    );
    again.signal(Signal::SIGTERM);
    assert_eq!(again.wait(), Some(1));
    assert_eq!(waiting(&desk), [id.as_str()]);

    let last = desk.start(&asking, Stdio::null());
    desk.run(&["approve", &id]).success();
    let answered = ended(last.wait_with_output().unwrap()).success().lines();
    assert_eq!(answered[0]["request_id"], id.as_str());
    assert_eq!(answered[0]["args"], json!({"to": "b"}));
    desk.show_when(&id, |shown| shown["delivery"] == "received");
    let history = desk.lines(&["history", "--json"]);
    assert_eq!(history[0]["request_id"], id.as_str());
    assert_eq!(history[1..], [json!({"next": null})]);
    // Its answer was handed out.
    let _next = Running(desk.start(&asking, Stdio::null()));
    let next = eventually(|| waiting(&desk).pop().ok_or("nothing asked"));
    assert_ne!(next, id);
}

#[test]
fn an_origin_that_is_no_word_of_the_protocol_is_refused() {
    let desk = Desk::new();
    let wrong = desk.run(&[&CALL[..], &["--origin", "nowhere"]].concat());
    let (exit, code, message) = wrong.error();
    assert_eq!((exit, code.as_str()), (2, "usage"), "{message}");
    assert!(message.contains("marketplace"), "{message}");
}
