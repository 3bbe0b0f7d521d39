//! Calls that a person answers.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Client, waiting};
use crate::desk::{Console, Desk, digest_of, eventually};

fn request(shown: &Value) -> &Value {
    &shown["request"]
}

#[test]
fn what_a_person_answers_is_what_happens() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let mut client = Client::initialized(&desk, &["--name", "bank", "--risk", "pay=high"]);

    // Approved: the card has what the server says of its tool, and the receipt what ran.
    client.call(1, "pay", &json!({"n": 1}));
    let id = waiting(&desk);
    let shown = desk.json(&["show", &id, "--json"]);
    let tool = &request(&shown)["tool"];
    assert_eq!(tool["description"], "Pays somebody");
    assert_eq!(
        (&tool["origin"], &tool["namespace"]),
        (&json!("mcp"), &json!("bank"))
    );
    assert_eq!(tool["effects"], "irreversible");
    assert_eq!(tool["args_schema"]["properties"]["n"]["type"], "integer");
    assert_eq!(
        (&request(&shown)["risk"], &request(&shown)["call_id"]),
        (&json!("high"), &json!("1"))
    );
    assert_eq!(client.relayed(), Vec::<Value>::new());
    desk.run(&["approve", &id]).success();
    assert_eq!(
        client.answer()["result"]["structuredContent"]["ran"],
        json!({"n": 1})
    );
    let shown = desk.show_when(&id, |shown| shown["delivery"] == "executed");
    let receipts = shown["receipts"].as_array().expect("a list");
    let stages: Vec<_> = receipts.iter().map(|receipt| &receipt["stage"]).collect();
    assert_eq!(stages, ["received", "executed"]);
    assert_eq!(
        receipts[1]["executed_args_digest"],
        digest_of(&json!({"n": 1}))
    );

    // Edited: reported before the result.
    client.call(2, "pay", &json!({"n": 2, "to": "a"}));
    let id = waiting(&desk);
    desk.run_with(r#"{"n":3,"to":"a"}"#, &["approve", &id, "--args", "-"])
        .success();
    let result = client.answer()["result"].clone();
    assert_eq!(
        result["content"][0]["text"],
        "A person changed this call before it ran. It ran with {\"n\": 3, \"to\": \"a\"}.\n"
    );
    assert_eq!(result["content"][1]["text"], r#"{"n": 3, "to": "a"}"#);
    assert_eq!(result["structuredContent"]["ran"]["n"], 3);
    desk.show_when(&id, |shown| shown["delivery"] == "executed");

    // An edit that its schema refuses does not leave the console.
    client.call(3, "pay", &json!({"n": 4}));
    let id = waiting(&desk);
    let refused = desk.run_with(r#"{"n":"four"}"#, &["approve", &id, "--args", "-"]);
    assert_eq!(refused.code, 6);
    desk.run(&["deny", &id, "--message", "not on a Friday"])
        .success();
    assert_eq!(
        client.refusal(),
        "pay was not run, denied by Test Operator: not on a Friday"
    );

    client.call(4, "pay", &json!({"n": 5}));
    desk.run(&["skip", &waiting(&desk)]).success();
    assert_eq!(
        client.refusal(),
        "pay was not run, skipped by Test Operator (not a refusal)"
    );

    // Answered instead, where the tool's results have no schema.
    client.call(5, "pay", &json!({"n": 6}));
    desk.run(&["respond", &waiting(&desk), "--content", "paid by hand"])
        .success();
    let answer = client.answer();
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": "paid by hand"}]})
    );
    client.call(6, "typed", &json!({}));
    let id = waiting(&desk);
    assert_eq!(desk.run(&["respond", &id, "--content", "no"]).code, 6);
    assert_eq!(desk.run(&["escalate", &id]).code, 6);
    desk.run(&["approve", &id]).success();
    client.answer();

    // Failures of the tool are the tool's.
    for (name, failed) in [("fail", "tool_error"), ("boom", "-32603")] {
        client.call(7, name, &json!({}));
        let id = waiting(&desk);
        desk.run(&["approve", &id]).success();
        let answer = client.answer();
        assert!(answer["error"]["code"] == -32603 || answer["result"]["isError"] == true);
        let shown = desk.show_when(&id, |shown| shown["receipts"][1]["stage"] == "failed");
        assert_eq!(shown["receipts"][1]["message"], failed);
    }
    let ran: Vec<_> = client
        .relayed()
        .iter()
        .map(|call| call["id"].clone())
        .collect();
    assert_eq!(ran, [1, 2, 6, 7, 7]);
}

#[test]
fn a_rule_allows_what_is_unasked_passes_and_the_probe_is_denied() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let rules = desk.path().join("rules.toml");
    fs::write(
        &rules,
        "schema = 1\n[[rule]]\nid = \"pays\"\neffect = \"approve\"\nexpires_at = \"2999-01-01T00:00:00Z\"\ntool = \"pay\"\nrisk = [\"low\"]\n",
    )
    .expect("a file");
    desk.run(&["rules", "apply", &rules.display().to_string()])
        .success();
    let mut client = Client::initialized(&desk, &["--unasked", "un*", "--risk", "pay=low"]);
    client.call(1, "pay", &json!({"n": 1}));
    assert_eq!(
        client.answer()["result"]["structuredContent"]["ran"],
        json!({"n": 1})
    );
    client.write(b"{\"id\" : 2, \"method\":\"tools/call\",\"params\":{\"name\":\"unasked\",\"arguments\":{ }}}\n");
    assert_eq!(client.answer()["id"], 2);
    assert!(
        client
            .read()
            .windows(10)
            .any(|bytes| bytes == b"{\"id\" : 2,")
    );
    // Nobody could say whether the console denies the probe: the proxy never lets it go.
    client.call(3, "countersign_probe", &json!({}));
    let denied = eventually(|| {
        for line in desk.lines(&["inbox", "--json"]) {
            desk.run(&["approve", line["request_id"].as_str().expect("an id")]);
        }
        client.lines.try_recv()
    });
    let answer: Value = serde_json::from_slice(&denied).expect("JSON");
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(answer["result"]["_meta"], json!({"countersign/relayed": 0}));
    assert_eq!(client.relayed().len(), 2);
}

#[test]
fn a_call_that_waits_is_taken_back_with_its_client_and_lives_on_under_hold() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let mut client = Client::initialized(&desk, &[]);
    client.call(1, "pay", &json!({"n": 1}));
    let id = waiting(&desk);
    client.send(&json!({"method": "notifications/cancelled", "params": {"requestId": 1}}));
    desk.show_in_state(&id, "withdrawn");
    // The connection ends.
    client.call(2, "pay", &json!({"n": 2}));
    let id = waiting(&desk);
    client.stdin = None;
    desk.show_in_state(&id, "withdrawn");
    assert_eq!(client.proxy.wait(), Some(0));
    assert_eq!(client.relayed(), Vec::<Value>::new());

    // Held: one request, whichever process asks for the same server, and it runs once.
    let state = desk.path().join("state").display().to_string();
    let desk = desk.with("COUNTERSIGN_STATE_DIR", state);
    let held = "pay was not run: it still waits for a person. To get the answer, call it again with the same arguments.";
    let mut client = kept(&desk, desk.path(), "one");
    client.call(1, "pay", &json!({"n": 3}));
    let id = waiting(&desk);
    assert_eq!(client.refusal(), held);
    client.stdin = None;
    client.proxy.wait();
    let mut client = kept(&desk, desk.path(), "one");
    client.call(1, "pay", &json!({"n": 3}));
    assert_eq!(client.refusal(), held);
    assert_eq!(waiting(&desk), id);
    desk.run(&["approve", &id]).success();
    client.call(2, "pay", &json!({"n": 3}));
    assert_eq!(
        client.answer()["result"]["structuredContent"]["ran"],
        json!({"n": 3})
    );
    desk.show_when(&id, |shown| shown["delivery"] == "executed");
    client.call(3, "pay", &json!({"n": 3}));
    assert_ne!(waiting(&desk), id);
    let read = fs::read_to_string(desk.path().join("read")).expect("a log");
    assert_eq!(read.matches("tools/call").count(), 1);
}

/// A client of a proxy that holds a call for a second; the server is the same in this folder with this database.
fn kept(desk: &Desk, folder: &Path, database: &str) -> Client {
    let words = [
        "mcp-proxy",
        "--name",
        "db",
        "--env",
        "DATABASE_URL",
        "--hold",
        "1",
        "--",
    ];
    let mut command = desk.command(&words);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/server.py");
    let log = desk.path().join("read");
    command.arg(super::python()).arg("-S").arg(script).arg(log);
    command.current_dir(folder).env("DATABASE_URL", database);
    Client::spawn(command, tempfile::TempDir::new().expect("a folder"))
}

#[test]
fn an_approval_is_for_one_server_in_one_folder_with_one_environment() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let state = desk.path().join("state").display().to_string();
    let desk = desk.with("COUNTERSIGN_STATE_DIR", state);
    let refused = desk.run(&["mcp-proxy", "--hold", "1", "--", "true"]);
    assert!(
        refused.code == 2 && refused.err.contains("--name"),
        "{}",
        refused.err
    );
    let places = [("a", "one"), ("b", "one"), ("a", "two")];
    let call = |folder: &str, database: &str| {
        let folder = desk.path().join(folder);
        fs::create_dir_all(&folder).expect("a folder");
        let mut client = kept(&desk, &folder, database);
        client.call(1, "pay", &json!({"n": 77}));
        client.answer()["result"].clone()
    };
    let mut cards = Vec::new();
    for (folder, database) in places {
        assert_eq!(call(folder, database)["isError"], true);
        let lines = desk.lines(&["inbox", "--json"]);
        let ids = lines.iter().filter_map(|line| line["request_id"].as_str());
        let new: Vec<_> = ids
            .filter(|id| !cards.contains(&(*id).to_owned()))
            .collect();
        let [id] = new[..] else { panic!("{new:?}") };
        cards.push(id.to_owned());
    }
    let shown = desk.json(&["show", &cards[0], "--json"]);
    let title = request(&shown)["title"].as_str().expect("a title");
    let folder = desk.path().join("a").display().to_string();
    assert!(
        title.starts_with("MCP server db: ") && title.contains("server.py"),
        "{title}"
    );
    assert!(
        title.ends_with(&format!(", in {folder}, with DATABASE_URL")),
        "{title}"
    );
    desk.run(&["approve", &cards[0]]).success();
    // Neither the other folder nor the other environment runs it; the place that was approved does.
    for (folder, database) in [places[1], places[2]] {
        assert_eq!(call(folder, database)["isError"], true);
    }
    assert_eq!(
        call("a", "one")["structuredContent"]["ran"],
        json!({"n": 77})
    );
}

#[test]
fn a_task_that_nobody_polls_is_never_reported_as_run() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let mut client = Client::initialized(&desk, &[]);
    client.call(1, "later", &json!({}));
    let id = waiting(&desk);
    desk.run(&["approve", &id]).success();
    assert_eq!(client.answer()["result"]["task"]["status"], "working");
    let unseen = json!(["no_execution_report"]);
    let shown = desk.show_when(&id, |shown| shown["receipts"][0]["degraded"] == unseen);
    assert_eq!(shown["receipts"][1], Value::Null);
    assert_eq!(shown["delivery"], "received");
}

#[test]
fn a_client_that_wants_to_hear_of_progress_hears_that_its_call_waits() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let mut client = Client::initialized(&desk, &[]);
    client.send(&json!({"id": 1, "method": "tools/call",
        "params": {"name": "pay", "arguments": {}, "_meta": {"progressToken": "t"}}}));
    let announced = client.answer();
    assert_eq!(announced["method"], "notifications/progress");
    assert_eq!(announced["params"]["progressToken"], "t");
    assert_eq!(
        announced["params"]["message"],
        "waits for a person in Countersign"
    );
    assert!(
        announced["params"]["progress"]
            .as_f64()
            .is_some_and(|progress| progress > 0.0)
    );
    desk.run(&["approve", &waiting(&desk)]).success();
    assert_eq!(client.answer()["id"], 1);
}

#[test]
fn a_form_of_the_server_is_a_card_or_the_clients() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let mut client = Client::initialized(&desk, &["--name", "paint", "--unasked", "*"]);
    for (arguments, result) in [
        (
            &["respond", "--json-content", "-"][..],
            json!({"action": "accept", "content": {"colour": "red"}}),
        ),
        (&["deny", "--message", "no"], json!({"action": "decline"})),
        (&["skip"], json!({"action": "cancel"})),
    ] {
        client.call(1, "elicit", &json!({}));
        let id = waiting(&desk);
        let shown = desk.json(&["show", &id, "--json"]);
        let (title, reason) = (&request(&shown)["title"], &request(&shown)["reason"]);
        assert_eq!(
            *title,
            "MCP server \"paint\" asks, during the call of \"elicit\""
        );
        assert_eq!(*reason, "The server writes: Which colour?");
        desk.run_with(
            r#"{"colour":"red"}"#,
            &[&[arguments[0], id.as_str()], &arguments[1..]].concat(),
        )
        .success();
        let answer = client.answer();
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .expect("a text");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), result);
    }
    let mut client = Client::initialized(&desk, &["--unasked", "*", "--elicitation", "client"]);
    client.call(1, "elicit", &json!({}));
    assert_eq!(client.answer()["method"], "elicitation/create");
}
