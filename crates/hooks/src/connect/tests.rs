#![allow(clippy::unwrap_used)]
use serde_json::{Value, json};

use super::*;

const JSON: [Program; 4] = [
    Program::ClaudeCode,
    Program::Gemini,
    Program::Cursor,
    Program::Copilot,
];

fn wanted(path: &str, program: Program) -> Wanted {
    let command = [path, "hook", program.name(), "--timeout", "3600"];
    Wanted {
        command: command.map(str::to_owned).to_vec(),
        timeout: 3660,
        prompt: false,
    }
}

/// Files whose hooks are not ours, each with a style of its own.
const OTHERS: [&str; 5] = [
    "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"PreToolUse\": [\n            { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] }\n        ]\n    },\n    \"env\": { \"A\": \"1\" }\n}\n",
    "{\"permissions\": {\"allow\": [\"Read\"]}, \"a\":  [1,   2.50]}",
    "{\n\t\"hooks\": {\n\t\t\"preToolUse\": [{\"bash\": \"x\"}],\n\t\t\"beforeShellExecution\": [{\"command\": \"y\"}]\n\t},\n\t\"version\": 1\n}\n",
    "{\n  \"x\": \"é\"\n}",
    "{\r\n  \"x\": 1\r\n}\r\n",
];

#[test]
fn what_is_ours_comes_and_goes_and_the_rest_keeps_its_bytes() {
    for program in JSON {
        for text in OTHERS {
            let first = connect(
                program,
                Some(text),
                &wanted("/opt/a b/countersign", program),
            )
            .unwrap();
            assert_ne!(first, text);
            let again = connect(
                program,
                Some(&first),
                &wanted("/opt/a b/countersign", program),
            )
            .unwrap();
            assert_eq!(again, first, "{program:?}: the same options change nothing");
            let moved = connect(
                program,
                Some(&first),
                &wanted("/usr/bin/countersign", program),
            )
            .unwrap();
            let count = |text: &str| text.matches(" hook ").count();
            assert_eq!(
                count(&moved),
                count(&first),
                "{program:?}: replaced, not added"
            );
            for piece in text.split(['\n', '\r', '{', '}', ']']) {
                let piece = piece.trim().trim_matches(',').trim();
                assert!(
                    first.contains(piece),
                    "{program:?} keeps {piece:?}\n{first}"
                );
            }
            let left = disconnect(program, &moved).unwrap().unwrap();
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            let mut left = value(&left);
            if value(text).get("version").is_none() {
                left.as_object_mut().unwrap().shift_remove("version");
            }
            assert_eq!(left, value(text), "{program:?}");
        }
        assert!(connect(program, None, &wanted("countersign", program)).is_ok());
    }
}

#[test]
fn settings_that_can_be_read_in_two_ways_are_refused() {
    for text in [
        "{",
        "[]",
        "{\"a\": 1, \"a\": 2}",
        "{\"b\": {\"a\": 1, \"a\": 2}}",
        "{\"hooks\": []}",
        "{\"hooks\": {\"PreToolUse\": {}}}",
        "{} // c",
    ] {
        let refused = connect(
            Program::ClaudeCode,
            Some(text),
            &wanted("countersign", Program::ClaudeCode),
        );
        assert!(refused.is_err(), "{text}");
    }
    assert!(
        connect(
            Program::Codex,
            Some("a = "),
            &wanted("countersign", Program::Codex)
        )
        .is_err()
    );
}

#[test]
fn codex_keeps_comments_and_order() {
    let text = "# mine\nmodel = \"o5\" # fast\n\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"lint\"\n\n[tools]\nweb = true\n";
    let first = connect(
        Program::Codex,
        Some(text),
        &wanted("/opt/countersign", Program::Codex),
    )
    .unwrap();
    assert_eq!(
        connect(
            Program::Codex,
            Some(&first),
            &wanted("/opt/countersign", Program::Codex)
        )
        .unwrap(),
        first
    );
    assert!(first.contains("# mine\nmodel = \"o5\" # fast"));
    assert_eq!(disconnect(Program::Codex, &first).unwrap().unwrap(), text);
}

#[test]
fn the_proxy_goes_before_a_server_and_away_again() {
    let text = "{\n  // mine\n  \"mcpServers\": {\n    \"git\": { \"command\": \"uvx\", \"args\": [\"git\"], \"env\": { \"TOKEN\": \"s3cret\" } },\n    \"web\": { \"url\": \"https://x.example/mcp\" }\n  }\n}\n";
    let first = connect_mcp(text, &[], "/opt/countersign", &[]).unwrap();
    let (_, object) = super::cst::root(&first, true).unwrap();
    let servers = object.to_serde_value().unwrap()["mcpServers"].clone();
    assert_eq!(
        servers["git"]["args"],
        json!(["mcp-proxy", "--name", "git", "--", "uvx", "git"])
    );
    assert_eq!(servers["git"]["env"], json!({ "TOKEN": "s3cret" }));
    assert_eq!(
        servers["web"],
        json!({ "command": "/opt/countersign", "args": ["mcp-proxy", "--name", "web", "--url", "https://x.example/mcp"] })
    );
    assert!(first.contains("// mine"));
    assert!(connect_mcp(text, &["none".to_owned()], "x", &[]).is_err());
    assert_eq!(
        connect_mcp(&first, &[], "/opt/countersign", &[]).unwrap(),
        first
    );
    let back = disconnect_mcp(&first, &[]).unwrap();
    let value = |text: &str| super::cst::root(text, true).unwrap().1.to_serde_value();
    assert_eq!(value(&back), value(text));
}
