#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use countersign_scrutiny::examine;
use countersign_wire::{RequestKey, Risk, args_digest, parse_request, request_subject};
use serde_json::json;

use super::*;
use crate::domain::Timestamp;
use crate::policy::{
    Asked, Conditions, InBypass, Outcome, PolicySet, Setting, Uses, evaluate, read_file,
};

/// Whether it is approved automatically, by these rules or under a bypass.
fn is_approved(rules: &str, bypassed: bool, (tool, args): (&str, Value)) -> bool {
    let key: RequestKey = "default/bot/q1".parse().unwrap();
    let request = json!({
        "v": 1, "kind": "tool_call", "request_id": "q1", "workspace": "default", "agent": {"name": "bot"},
        "tool": {"name": tool}, "args": args, "args_digest": args_digest(&args).unwrap().to_string(),
        "risk": "low", "allowed_verdicts": ["approve", "deny"], "native": {"cwd": "/home/ada/proj"},
        "requested_at": "2026-11-21T12:00:00.000Z", "expires_at": "2026-11-21T12:01:00.000Z",
    });
    let parsed = parse_request(&request_subject(&key), request.to_string().as_bytes()).unwrap();
    let found = examine(&Call::of(&parsed.request).unwrap(), &Past::default());
    let stops = stops_of(&found, &parsed.request);
    let asked = Asked {
        stops: &stops,
        ..Asked::of(&parsed)
    };
    let set = PolicySet::new(read_file(rules).unwrap(), BTreeMap::new()).unwrap();
    let now = Timestamp::parse("2026-11-21T12:00:00Z").unwrap();
    let bypass = bypassed.then_some(InBypass {
        up_to: Risk::Low,
        since: Timestamp(0),
    });
    let setting = Setting {
        now,
        approves_off: None,
        author_may: true,
        bypass,
        uses: &Uses::default(),
        explain: false,
        conditions: &Conditions::default(),
    };
    matches!(
        evaluate(&set, &asked, &setting).outcome,
        Outcome::Approve(_)
    )
}

fn bash(command: &str) -> (&str, Value) {
    ("Bash", json!({ "command": command }))
}

fn approve(matchers: &str) -> String {
    format!(
        "schema = 1\n[[rule]]\nid = \"r\"\neffect = \"approve\"\nexpires_at = \"2036-01-01T00:00:00Z\"\n{matchers}\n"
    )
}

#[test]
fn nothing_automatic_lets_an_agent_change_countersign_or_start_one_without_a_gate() {
    let none = "schema = 1\n";
    let any = approve(
        "tool = [\"Bash\"]\ncommand.\"/command\" = [\"countersign *\", \"claude *\", \"rm *\"]",
    );
    for command in [
        "countersign approve 4f1c",
        "countersign rules apply rules.toml",
        "claude --bare -p x",
        "rm ~/.claude/settings.json",
    ] {
        assert!(!is_approved(none, true, bash(command)), "bypass: {command}");
        assert!(!is_approved(&any, false, bash(command)), "rule: {command}");
    }
    for command in ["countersign status", "claude --version"] {
        assert!(is_approved(none, true, bash(command)), "bypass: {command}");
        assert!(is_approved(&any, false, bash(command)), "rule: {command}");
    }
}

#[test]
fn a_rule_whose_pattern_writes_the_word_lets_it_run() {
    let settings = || {
        let args = json!({"file_path": "/home/ada/.claude/settings.json", "content": "{}"});
        ("Write", args)
    };
    for (matchers, call, wanted) in [
        (
            "command.\"/command\" = [\"countersign rules apply rules.toml\"]",
            bash("countersign rules apply rules.toml"),
            true,
        ),
        (
            "command.\"/command\" = [\"claude --bare *\"]",
            bash("claude --bare -p x"),
            true,
        ),
        (
            "command.\"/command\" = [\"countersign approve *\", \"countersign *\"]",
            bash("countersign approve 4f1c && countersign panic off"),
            false,
        ),
        (
            "path.\"/file_path\" = [\"/home/ada/.claude/settings.json\"]",
            settings(),
            true,
        ),
        (
            "path.\"/file_path\" = [\"/home/ada/**\"]",
            settings(),
            false,
        ),
    ] {
        let rules = approve(&format!("tool = [\"{}\"]\n{matchers}", call.0));
        assert_eq!(
            is_approved(&rules, false, call.clone()),
            wanted,
            "{matchers} {call:?}"
        );
    }
}
