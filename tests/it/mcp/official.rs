//! The official client and server, of the revisions before and since 2026-07-28, with the proxy between them.

use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use super::{Client, python, waiting};
use crate::desk::{Console, Desk};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/official.py");

#[test]
fn the_official_client_and_server_do_not_see_the_proxy() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    for mode in ["legacy", "auto"] {
        let proxy = desk.command(&["mcp-proxy", "--name", "bank", "--"]);
        let mut command = Command::new(python());
        command.args([SCRIPT, "client", mode]);
        command.arg(proxy.get_program()).args(proxy.get_args());
        command.arg(python()).args([SCRIPT, "server"]);
        for (name, value) in proxy.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let client = Client::spawn(command, TempDir::new().expect("a folder"));
        assert_eq!(client.answer(), json!(["pay", "ask"]), "{mode}");

        let id = waiting(&desk);
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
            &["approve", &waiting(&desk), "--args", "-"],
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

        desk.run(&["deny", &waiting(&desk), "--message", "no"])
            .success();
        let result = client.answer();
        let words = "pay was not run, denied by Test Operator: no";
        assert_eq!(
            (&result["isError"], &result["content"][0]["text"]),
            (&json!(true), &json!(words))
        );

        if mode == "legacy" {
            desk.run(&["approve", &waiting(&desk)]).success();
            let form = waiting(&desk);
            desk.run_with(
                r#"{"colour":"red"}"#,
                &["respond", &form, "--json-content", "-"],
            )
            .success();
            assert_eq!(client.answer()["content"][0]["text"], "accept");
        }
        assert_eq!(client.answer(), json!(["half", "half"]));
    }
}
