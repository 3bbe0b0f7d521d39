//! `countersign mcp`, asked as Claude Code asks.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Client, waiting};
use crate::desk::{Console, Desk};

/// The JSON in the one text of an answer.
fn reported(client: &Client) -> Value {
    let answer = client.answer();
    let content = &answer["result"]["content"];
    assert_eq!(content.as_array().map(Vec::len), Some(1), "{answer}");
    serde_json::from_str(content[0]["text"].as_str().expect("a text")).expect("JSON")
}

#[test]
fn what_a_person_answers_is_what_claude_code_may_do() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let command = desk.command(&["mcp"]);
    let mut client = Client::spawn(command, TempDir::new().expect("a folder"));
    client.send(&json!({"id": 1, "method": "server/discover", "params": {}}));
    assert_eq!(client.answer()["error"]["code"], -32601);
    for (asked, given) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        client.send(&json!({"id": 2, "method": "initialize", "params":
            {"protocolVersion": asked, "clientInfo": {"name": "claude-code", "version": "2.1.331"}}}));
        assert_eq!(client.answer()["result"]["protocolVersion"], given);
    }
    client.send(&json!({"method": "notifications/initialized"}));
    client.send(&json!({"id": "t", "method": "tools/list"}));
    let tools = client.answer();
    assert_eq!(tools["result"]["tools"][0]["name"], "approve");

    let bash = json!({"tool_name": "Bash", "tool_use_id": "toolu_1",
        "input": {"command": "ls", "description": "List the files"}});
    client.call(3, "approve", &bash);
    let id = waiting(&desk);
    let request = desk.json(&["show", &id, "--json"])["request"].clone();
    assert_eq!(
        (&request["tool"]["name"], &request["risk"]),
        (&json!("Bash"), &json!("high"))
    );
    assert_eq!(
        (&request["call_id"], &request["reason"]),
        (&json!("toolu_1"), &json!("List the files"))
    );
    assert_eq!(request["agent"]["framework_version"], "2.1.331");
    desk.run(&["approve", &id]).success();
    assert_eq!(
        reported(&client),
        json!({"behavior": "allow", "updatedInput": bash["input"]})
    );
    let shown = desk.show_when(&id, |shown| shown["delivery"] == "received");
    assert_eq!(
        shown["receipts"][0]["degraded"],
        json!(["no_execution_report"])
    );

    client.call(
        4,
        "approve",
        &json!({"tool_name": "mcp__bank__pay", "input": {"n": 1}}),
    );
    let id = waiting(&desk);
    let request = desk.json(&["show", &id, "--json"])["request"].clone();
    assert_eq!(
        (&request["tool"]["origin"], &request["tool"]["namespace"]),
        (&json!("mcp"), &json!("bank"))
    );
    desk.run_with(r#"{"n":2}"#, &["approve", &id, "--args", "-"])
        .success();
    assert_eq!(
        reported(&client),
        json!({"behavior": "allow", "updatedInput": {"n": 2}})
    );

    for (arguments, interrupt) in [
        (&["--message", "no"][..], false),
        (&["--message", "no", "--terminate"], true),
    ] {
        client.call(5, "approve", &bash);
        let id = waiting(&desk);
        desk.run(&[&["deny", id.as_str()], arguments].concat())
            .success();
        let reported = reported(&client);
        assert_eq!(reported["behavior"], "deny");
        let message = reported["message"].as_str().expect("a text");
        assert!(
            message.starts_with("Bash was not run, denied by Test Operator"),
            "{message}"
        );
        assert!(message.ends_with(": no"), "{message}");
        assert_eq!(reported.get("interrupt").is_some(), interrupt);
    }

    // Unreadable is denied, and nobody is asked.
    for arguments in [
        json!({}),
        json!({"tool_name": 7, "input": {}}),
        json!({"tool_name": "Bash"}),
        json!({"tool_name": "Bash", "input": "ls"}),
        json!({"tool_name": "Bash", "input": null}),
        json!([]),
    ] {
        client.call(6, "approve", &arguments);
        assert_eq!(reported(&client)["behavior"], "deny");
    }
    client.call(7, "other", &bash);
    assert_eq!(reported(&client)["behavior"], "deny");
    client.write(b"{\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"approve\",\"arguments\":{\"tool_name\":\"Bash\",\"input\":{\"a\":1,\"a\":2}}}}\n");
    assert_eq!(reported(&client)["behavior"], "deny");

    // Taken back with the call, and with the client.
    client.call(9, "approve", &bash);
    let id = waiting(&desk);
    client.send(&json!({"method": "notifications/cancelled", "params": {"requestId": 9}}));
    desk.show_in_state(&id, "withdrawn");
    client.call(10, "approve", &bash);
    let id = waiting(&desk);
    client.stdin = None;
    assert_eq!(client.proxy.wait(), Some(0));
    desk.show_in_state(&id, "withdrawn");
}
