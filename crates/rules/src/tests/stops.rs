//! A finding that weighs `stop` is approved by nothing automatic, but by a rule that names its place.

use super::*;
use crate::{InBypass, Stop};

fn stop(at: &str, always: bool) -> Stop {
    Stop {
        at: at.to_owned(),
        always,
        written: Vec::new(),
    }
}

/// Of a command of the console itself.
fn own(at: &str, written: &[&str]) -> Stop {
    Stop {
        written: written.iter().map(|&words| words.to_owned()).collect(),
        ..stop(at, false)
    }
}

#[test]
fn what_concerns_the_console_itself_is_approved_where_the_pattern_writes_the_word() {
    let args = json!({"to": "anna", "command": "countersign rules apply x", "file": "/home/a/.claude/settings.json"});
    let command = |patterns: &[&str]| json!({"command": {"/command": patterns}});
    let apply = || vec![own("/command", &["rules apply"])];
    let file = || vec![own("/file", &["settings.json"])];
    for (rule_json, stops, wanted) in [
        (command(&["countersign *"]), apply(), "ask"),
        (command(&["countersign rules *"]), apply(), "ask"),
        (
            command(&["countersign rules apply *"]),
            apply(),
            "approve r",
        ),
        (
            command(&["countersign rules apply x"]),
            apply(),
            "approve r",
        ),
        (
            command(&["countersign rules apply *"]),
            vec![own("/command", &["rules apply", "panic"])],
            "ask",
        ),
        (
            command(&["countersign rules apply x"]),
            vec![own("/command", &[""])],
            "ask",
        ),
        (
            json!({"args": {"/command": {"glob": "countersign *"}}}),
            apply(),
            "ask",
        ),
        (
            json!({"args": {"/command": {"eq": "countersign rules apply x"}}}),
            apply(),
            "approve r",
        ),
        (
            json!({"args": {"/command": {"in": ["countersign rules apply x"]}}}),
            apply(),
            "approve r",
        ),
        (
            json!({"args": {"/command": {"min_len": 1}}}),
            apply(),
            "ask",
        ),
        (json!({"path": {"/file": ["/home/a/**"]}}), file(), "ask"),
        (
            json!({"path": {"/file": ["/home/a/.claude/*"]}}),
            file(),
            "ask",
        ),
        (
            json!({"path": {"/file": ["/home/a/.claude/settings.json"]}}),
            file(),
            "approve r",
        ),
    ] {
        let policy = set(vec![rule("r", "approve", rule_json.clone())]);
        let asked = Asked {
            stops: &stops,
            ..pay(&args)
        };
        assert_eq!(
            word(&policy, &judge(&policy, &asked)),
            wanted,
            "{rule_json}"
        );
    }
}

#[test]
fn the_pattern_that_covers_what_concerns_the_console_writes_it_and_no_other_does() {
    let apply = "countersign rules apply x";
    let both: &[&str] = &["rules apply"];
    for (patterns, command, written, wanted) in [
        (
            vec![apply, "countersign *"],
            "countersign rules apply y",
            both,
            false,
        ),
        (vec![apply, "countersign *"], apply, both, true),
        (
            vec![apply, "sudo *", "countersign *"],
            "sudo countersign rules apply x",
            both,
            false,
        ),
        (
            vec!["sudo countersign rules apply *"],
            "sudo countersign rules apply x",
            both,
            true,
        ),
        (
            vec![apply, "python3 *"],
            "echo 'rules apply'; python3 x.py",
            both,
            false,
        ),
        (
            vec![apply, "python3 *", "echo *"],
            "echo 'rules apply'; python3 x.py",
            both,
            false,
        ),
        (
            vec![apply, "ls *", "cat *"],
            "ls && countersign rules apply x && cat y",
            both,
            true,
        ),
        (
            vec![apply, "npm *"],
            "npm test && countersign rules apply x",
            both,
            false,
        ),
        (
            vec![apply, "cat *"],
            "cat $X && countersign rules apply x",
            both,
            false,
        ),
        (
            vec!["countersign approve *", "claude *"],
            "countersign approve x && claude --bare",
            &["approve", "--bare"],
            false,
        ),
        (
            vec!["countersign approve *", "claude --bare *"],
            "countersign approve x && claude --bare",
            &["approve", "--bare"],
            true,
        ),
        (
            vec!["CLAUDE_CONFIG_DIR=x claude *", "claude *"],
            "CLAUDE_CONFIG_DIR=x claude -p y",
            &["CLAUDE_CONFIG_DIR"],
            true,
        ),
        (
            vec!["CLAUDE_CONFIG_DIR=* claude *"],
            "CLAUDE_CONFIG_DIR=x claude -p y",
            &["CLAUDE_CONFIG_DIR"],
            true,
        ),
        (
            vec!["cat /x/countersign/a", "cat *"],
            "cat /x/countersign/b",
            &["countersign"],
            false,
        ),
        (
            vec!["countersign panic off && git push", "countersign *"],
            "countersign panic off && git push",
            &["panic off"],
            true,
        ),
    ] {
        let args = json!({ "command": command });
        let policy = set(vec![rule(
            "r",
            "approve",
            json!({ "command": { "/command": patterns } }),
        )]);
        let stops = vec![own("/command", written)];
        let asked = Asked {
            stops: &stops,
            ..pay(&args)
        };
        let wanted = if wanted { "approve r" } else { "ask" };
        assert_eq!(
            word(&policy, &judge(&policy, &asked)),
            wanted,
            "{patterns:?} {command}"
        );
    }
    let args = json!({ "file": "/home/a/x/.claude/settings.json" });
    for (patterns, wanted) in [
        (
            ["/home/a/x/.claude/**", "/home/a/.claude/settings.json"],
            "ask",
        ),
        (
            ["/home/a/x/.claude/**", "/home/a/x/.claude/settings.json"],
            "approve r",
        ),
    ] {
        let policy = set(vec![rule(
            "r",
            "approve",
            json!({ "path": { "/file": patterns } }),
        )]);
        let stops = vec![own("/file", &["settings.json"])];
        let asked = Asked {
            stops: &stops,
            ..pay(&args)
        };
        assert_eq!(
            word(&policy, &judge(&policy, &asked)),
            wanted,
            "{patterns:?}"
        );
    }
}

#[test]
fn only_a_rule_that_names_the_place_approves_a_stop() {
    let args = json!({"to": "anna", "command": "ls", "file": "/srv/a", "list": ["a"]});
    let names = |place: &str| json!({ "args": { place: { "min_len": 1 } } });
    for (rule_json, stops, wanted) in [
        (json!({}), vec![], "approve r"),
        (json!({}), vec![stop("/to", false)], "ask"),
        (names("/to"), vec![stop("/to", false)], "approve r"),
        (names("/to"), vec![stop("/to", true)], "ask"),
        (names("/command"), vec![stop("/to", false)], "ask"),
        (
            names("/to"),
            vec![stop("/to", false), stop("/file", false)],
            "ask",
        ),
        (names("/list"), vec![stop("/list/0", false)], "ask"),
        (names("/list/0"), vec![stop("/list/0", false)], "approve r"),
        (names("/to"), vec![stop("", false)], "ask"),
        (
            json!({"command": {"/command": ["ls"]}}),
            vec![stop("/command", false)],
            "approve r",
        ),
        (
            json!({"path": {"/file": ["/srv/**"]}}),
            vec![stop("/file", false)],
            "approve r",
        ),
    ] {
        let policy = set(vec![rule("r", "approve", rule_json.clone())]);
        let asked = Asked {
            stops: &stops,
            ..pay(&args)
        };
        assert_eq!(
            word(&policy, &judge(&policy, &asked)),
            wanted,
            "{rule_json} {stops:?}"
        );
    }
}

#[test]
fn a_stop_changes_no_deny_and_no_ask_and_is_told() {
    let args = json!({"to": "anna"});
    let stops = [stop("/to", false)];
    let asked = Asked {
        stops: &stops,
        ..pay(&args)
    };
    for (effect, wanted) in [("deny", "deny r"), ("ask", "ask r 1")] {
        let policy = set(vec![rule("r", effect, json!({}))]);
        assert_eq!(word(&policy, &judge(&policy, &asked)), wanted);
    }
    let policy = set(vec![rule("r", "approve", json!({}))]);
    let found = judge_in(&policy, &asked, |setting| setting.explain = true);
    let near: Vec<Matcher> = found.near.iter().map(|near| near.matcher).collect();
    assert_eq!(near, [Matcher::Stop]);
}

#[test]
fn a_bypass_lets_no_stop_run() {
    let args = json!({"to": "anna"});
    let policy = set(vec![]);
    let since = Timestamp(noon().0 - 1_000);
    let bypass = |setting: &mut Setting<'_>| {
        let up_to = Risk::High;
        setting.bypass = Some(InBypass { up_to, since });
    };
    let plain = pay(&args);
    assert_eq!(
        word(&policy, &judge_in(&policy, &plain, bypass)),
        "approve by bypass"
    );
    let stops = [stop("/to", false)];
    let asked = Asked {
        stops: &stops,
        ..plain
    };
    assert_eq!(word(&policy, &judge_in(&policy, &asked, bypass)), "ask");
}
