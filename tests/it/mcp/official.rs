//! The official client and server, of the revisions before and since 2026-07-28, with the proxy between them.

use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use super::{Client, python, waiting};
use crate::desk::{Console, Desk, Running, eventually};

pub(super) const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/official.py");

#[test]
fn the_official_client_and_server_do_not_see_the_proxy() {
    let server = python().display().to_string();
    relay(&["--name", "bank", "--", server.as_str(), SCRIPT, "server"]);
}

#[test]
fn nor_do_they_where_the_server_is_reached_over_http() {
    // Nobody listens there: a call ends with an error that says so.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let desk = Desk::new();
    let agent = desk.path().join("agent.json").display().to_string();
    let command = desk.command(&["mcp-proxy", "--agent-json", &agent, "--url", &url]);
    let mut client = Client::spawn(command, TempDir::new().expect("a folder"));
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let answer = client.answer();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(1), &json!(-32000))
    );

    let mut server = Command::new(python());
    server
        .args([SCRIPT, "http", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _server = Running(server.spawn().expect("the program runs"));
    eventually(|| TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string()));
    relay(&["--name", "bank", "--header", "X-Test=1", "--url", &url]);
}

/// Puts the proxy with these options between the client and a server.
fn relay(options: &[&str]) {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    for mode in ["legacy", "auto"] {
        let proxy = desk.command(&[&["mcp-proxy"], options].concat());
        let mut command = Command::new(python());
        command.args([SCRIPT, "client", mode]);
        command.arg(proxy.get_program()).args(proxy.get_args());
        for (name, value) in proxy.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let client = Client::spawn(command, TempDir::new().expect("a folder"));
        judge(&desk, &client, mode);
    }
}

/// Answers the calls of the client, which reads what it should.
pub(super) fn judge(desk: &Desk, client: &Client, mode: &str) {
    assert_eq!(client.answer(), json!(["pay", "ask"]), "{mode}");

    let id = waiting(desk);
    let request = desk.json(&["show", &id, "--json"])["request"].clone();
    assert_eq!(request["tool"]["description"], "Pays somebody.");
    assert_eq!(
        request["tool"]["args_schema"]["required"],
        json!(["amount"])
    );
    desk.run(&["approve", &id]).success();
    let result = client.answer();
    assert_eq!(
        result["structuredContent"],
        json!({"amount": 1}),
        "{result}"
    );

    let edited = desk.run_with(
        r#"{"amount":20}"#,
        &["approve", &waiting(desk), "--args", "-"],
    );
    edited.success();
    let result = client.answer();
    assert_eq!(
        result["structuredContent"],
        json!({"amount": 20}),
        "{result}"
    );
    let notice = "A person changed this call before it ran. It ran with {\"amount\": 20}.\n";
    assert_eq!(result["content"][0]["text"], notice);

    desk.run(&["deny", &waiting(desk), "--message", "no"])
        .success();
    let result = client.answer();
    let words = "pay was not run, denied by Test Operator: no";
    assert_eq!(
        (&result["isError"], &result["content"][0]["text"]),
        (&json!(true), &json!(words))
    );

    // A form, of the server's own or in the result, is a card of its own.
    let call = waiting(desk);
    desk.run(&["approve", &call]).success();
    let form = waiting(desk);
    let filled = desk.run_with(
        r#"{"colour":"red"}"#,
        &["respond", &form, "--json-content", "-"],
    );
    filled.success();
    let result = client.answer();
    assert_eq!(result["content"][0]["text"], "red", "{mode} {result}");
    desk.show_when(&call, |shown| shown["delivery"] == "executed");
    assert_eq!(client.answer(), json!(["half", "half"]));
}
