//! What an import lets run, asks and denies, beside what the other system would have done.

#![allow(clippy::unwrap_used)]

mod cases;
mod claude_code;

use std::collections::BTreeMap;

use countersign_wire::{RequestKind, Risk};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Asked, Conditions, InBypass, Outcome, PolicySet, Setting, Uses, evaluate};

fn now() -> Timestamp {
    Timestamp::parse("2026-11-22T12:00:00Z").unwrap()
}

fn read_one(source: Source, file: &Value, agents: &[Glob]) -> Result<Imported, Vec<String>> {
    let file = SourceFile {
        value: file.clone(),
        ..SourceFile::default()
    };
    import(source, &[file], agents, now())
}

fn from(source: Source, file: &Value) -> Imported {
    read_one(source, file, &[]).unwrap()
}

fn policy(found: &Imported) -> PolicySet {
    PolicySet::new(found.rules.clone(), BTreeMap::new()).unwrap()
}

fn says(policy: &PolicySet, conditions: &Conditions, tool: &str, args: &Value) -> &'static str {
    says_under(policy, conditions, tool, args, None)
}

fn says_under(
    policy: &PolicySet,
    conditions: &Conditions,
    tool: &str,
    args: &Value,
    bypass: Option<InBypass>,
) -> &'static str {
    let asked = Asked {
        agent: "bot",
        kind: RequestKind::ToolCall,
        tool: Some(tool),
        origin: None,
        framework: None,
        skill: None,
        skill_tools: None,
        thread_id: None,
        run_id: None,
        args: Some(args),
        args_digest: None,
        effective: None,
        native: None,
        risk: Risk::Low,
        takes_approval: true,
        approvals_required: 1,
        setup_key: None,
        tool_changed_at: None,
        stops: &[],
    };
    let setting = Setting {
        now: now(),
        approves_off: None,
        author_may: true,
        bypass,
        uses: &Uses::new(),
        explain: false,
        conditions,
    };
    match evaluate(policy, &asked, &setting).outcome {
        Outcome::Approve(_) => "approve",
        Outcome::Ask { .. } => "ask",
        Outcome::Deny(_) => "deny",
    }
}

/// Python's `fnmatch` of patterns with `*`, `?` and plain sets.
fn fnmatch(pattern: &[char], text: &[char]) -> bool {
    match (pattern.first(), text.first()) {
        (None, None) => true,
        (Some('*'), _) => {
            fnmatch(&pattern[1..], text) || !text.is_empty() && fnmatch(pattern, &text[1..])
        }
        (Some('?'), Some(_)) => fnmatch(&pattern[1..], &text[1..]),
        (Some('['), Some(c)) => match pattern.iter().position(|c| *c == ']') {
            Some(end) => pattern[1..end].contains(c) && fnmatch(&pattern[end + 1..], &text[1..]),
            None => *c == '[' && fnmatch(&pattern[1..], &text[1..]),
        },
        (Some(wanted), Some(c)) => wanted == c && fnmatch(&pattern[1..], &text[1..]),
        _ => false,
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    let chars = |text: &str| text.chars().collect::<Vec<_>>();
    fnmatch(&chars(pattern), &chars(text))
}

/// What selectools does, from its documentation: `deny_when`, deny, review, allow, otherwise review.
fn selectools_says(file: &Value, tool: &str, args: &Value) -> &'static str {
    let list = |name: &str| file[name].as_array().unwrap().clone();
    let named = |name: &str| list(name).iter().any(|of| fits(of.as_str().unwrap(), tool));
    let by_args = list("deny_when").iter().any(|of| {
        let value = &args[of["arg"].as_str().unwrap()];
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        fits(of["tool"].as_str().unwrap(), tool)
            && !value.is_null()
            && fits(of["pattern"].as_str().unwrap(), &text)
    });
    match () {
        () if by_args || named("deny") => "deny",
        () if named("review") => "ask",
        () if named("allow") => "approve",
        () => "ask",
    }
}

fn patterns(most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("([ab.]|\\*|\\?|\\[ab\\]){1,5}", 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_imported_policy_lets_nothing_run_that_selectools_would_not(
        allow in patterns(4), review in patterns(3), deny in patterns(3),
        when in prop::collection::vec(("([ab.]|\\*){1,3}", "([xy/]|\\*|\\?){1,4}"), 0..3),
        calls in prop::collection::vec(("[ab.]{1,5}", "[xy/]{0,4}", 0_u8..4), 1..8),
    ) {
        let deny_when: Vec<Value> = when
            .iter()
            .map(|(tool, pattern)| json!({"tool": tool, "arg": "to", "pattern": pattern}))
            .collect();
        let file = json!({"allow": allow, "review": review, "deny": deny, "deny_when": deny_when});
        let found = from(Source::Selectools, &file);
        let policy = policy(&found);
        let conditions = Conditions::default();
        for (tool, to, shape) in &calls {
            let args = match shape {
                0 => json!({"to": to}),
                1 => json!({"to": 5}),
                2 => json!({"to": [to]}),
                _ => json!({}),
            };
            let theirs = selectools_says(&file, tool, &args);
            match says(&policy, &conditions, tool, &args) {
                "approve" => prop_assert_eq!(theirs, "approve", "{} {} {}", tool, args, file),
                "deny" => prop_assert_eq!(theirs, "deny", "{} {} {}", tool, args, file),
                _ => {}
            }
        }
        let reported = found.entries.len();
        let given = allow.len() + review.len() + deny.len() + when.len();
        prop_assert_eq!(reported, given, "every entry is informed of");
    }
}

#[test]
fn a_policy_of_selectools_comes_over() {
    let file = json!({
        "allow": ["search_*", "*", "read_[ab]"], "review": ["send_*"], "deny": ["delete_*", "drop"],
        "deny_when": [{"tool": "send_email", "arg": "to", "pattern": "*@external.com"}],
    });
    let found = from(Source::Selectools, &file);
    let (policy, conditions) = (policy(&found), Conditions::default());
    for (tool, args, word) in [
        ("search_web", json!({}), "approve"),
        ("search_web.deep", json!({}), "ask"),
        ("send_email", json!({"to": "a@b.com"}), "ask"),
        ("send_email", json!({"to": "a@external.com"}), "deny"),
        ("send_email", json!({"to": ["a@external.com"]}), "ask"),
        ("delete_all", json!({}), "deny"),
        ("delete_a/b", json!({}), "deny"),
        ("drop", json!({}), "deny"),
        ("other", json!({}), "ask"),
    ] {
        assert_eq!(
            says(&policy, &conditions, tool, &args),
            word,
            "{tool} {args}"
        );
    }
    let left: Vec<&Entry> = found.left_out().collect();
    assert_eq!(
        left.iter().map(|of| of.place.as_str()).collect::<Vec<_>>(),
        ["allow[1]", "allow[2]"]
    );
    assert!(
        left[0].why.as_ref().unwrap().contains("names its tools"),
        "{left:?}"
    );
    for bad in [
        json!([]),
        json!({"deny": "x"}),
        json!({"deny": [1]}),
        json!({"deny_when": ["x"]}),
    ] {
        assert!(read_one(Source::Selectools, &bad, &[]).is_err(), "{bad}");
    }
}

#[test]
fn permissions_of_claude_code_come_over() {
    let file = json!({"permissions": {
        "allow": ["Bash(npm run test:*)", "Bash(git status)", "Bash(git log *)", "Bash", "Bash(* --help)",
            "WebFetch(domain:docs.rs)", "mcp__github__list_issues", "mcp__jira", "Read(./src/**)", "Glob"],
        "ask": ["Bash(git push:*)"],
        "deny": ["Bash(curl:*)", "Read(./.env)", "WebFetch(domain:evil.example)", "mcp__shell"],
        "defaultMode": "acceptEdits",
    }, "hooks": {}});
    let found = from(Source::ClaudeCode, &file);
    let (policy, conditions) = (policy(&found), Conditions::default());
    let run = |command: &str| json!({ "command": command, "description": "d" });
    for (tool, args, word) in [
        ("Bash", run("npm run test"), "approve"),
        ("Bash", run("npm run test -- --watch"), "approve"),
        ("Bash", run("npm run tests"), "ask"),
        ("Bash", run("npm run test && rm -rf ."), "ask"),
        ("Bash", run("npm run test; curl x"), "deny"),
        ("Bash", run("npm run test\nrm x"), "ask"),
        ("Bash", run("npm run test $(rm x)"), "ask"),
        ("Bash", run("npm run test > /etc/passwd"), "ask"),
        (
            "Bash",
            json!({"command": "npm run test", "dangerouslyDisableSandbox": true}),
            "ask",
        ),
        ("Bash", json!({"command": ["npm run test"]}), "ask"),
        ("Bash", run("git status"), "approve"),
        ("Bash", run("git status -s"), "ask"),
        ("Bash", run("git log --stat"), "approve"),
        ("Bash", run("git push"), "ask"),
        ("Bash", run("curl http://x"), "deny"),
        ("Bash", run("ls && curl http://x"), "deny"),
        ("Bash", run("ls"), "ask"),
        ("WebFetch", json!({"url": "https://docs.rs/serde"}), "ask"),
        ("mcp__github__list_issues", json!({}), "approve"),
        ("mcp__github__create_issue", json!({}), "ask"),
        ("mcp__jira__get", json!({}), "approve"),
        ("mcp__shell__run", json!({}), "deny"),
        ("Read", json!({"file_path": "/p/.env"}), "deny"),
        ("Write", json!({"file_path": "/p/.env"}), "deny"),
        ("Read", json!({"file_path": "/p/env"}), "ask"),
        ("Glob", json!({"pattern": "*"}), "ask"),
    ] {
        assert_eq!(
            says(&policy, &conditions, tool, &args),
            word,
            "{tool} {args}"
        );
    }
    let left: Vec<&str> = found.left_out().map(|of| of.place.as_str()).collect();
    assert_eq!(left, ["allow[3]", "allow[4]", "defaultMode"]);
    let only = json!({"permissions": {"allow": ["WebFetch(domain:docs.rs)"]}});
    let policy = self::policy(&from(Source::ClaudeCode, &only));
    for (url, word) in [
        ("https://docs.rs/serde", "approve"),
        ("https://docs.rs", "approve"),
        ("https://docs.rs.evil.example/", "ask"),
        ("https://docs.rs@evil.example/", "ask"),
        ("http://docs.rs/", "ask"),
    ] {
        let args = json!({ "url": url, "prompt": "p" });
        assert_eq!(says(&policy, &conditions, "WebFetch", &args), word, "{url}");
    }
    for bad in [
        json!({}),
        json!({"permissions": []}),
        json!({"permissions": {"deny": "Bash"}}),
        json!({"permissions": {"deny": ["Bash(rm"]}}),
        json!({"permissions": {"allow": [1]}}),
    ] {
        assert!(read_one(Source::ClaudeCode, &bad, &[]).is_err(), "{bad}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_text_of_any_script_is_denied_as_it_is_written(
        text in "\\PC{0,20}|[日本語é' \\\\\u{202e}\u{1f600}]{1,20}".prop_filter("plain", |text| !text.contains(['*', '?', '['])),
        other in "[日本a]{0,3}",
    ) {
        let file = json!({"deny_when": [{"tool": "t", "arg": "to", "pattern": text}]});
        let policy = policy(&from(Source::Selectools, &file));
        let conditions = Conditions::default();
        prop_assert_eq!(says(&policy, &conditions, "t", &json!({ "to": text })), "deny");
        let other = format!("{text}{other}b");
        prop_assert_eq!(says(&policy, &conditions, "t", &json!({ "to": other })), "ask");
    }
}

#[test]
fn a_deny_that_does_not_fit_into_a_rule_asks_for_every_call_of_its_tool() {
    let (long, words) = ("文".repeat(400), "a ".repeat(600));
    let many = "*b".repeat(100);
    let selectools = |pattern: &str| json!({"allow": ["run_*"], "deny_when": [{"tool": "run_doc", "arg": "title", "pattern": pattern}]});
    let claude = |of: String| json!({"permissions": {"allow": ["run_doc"], "deny": [of]}});
    for (source, file, title) in [
        (Source::Selectools, selectools(&long), long.as_str()),
        (Source::Selectools, selectools(&many), "b"),
        (
            Source::Selectools,
            json!({"allow": ["run_*"], "deny": [many]}),
            "",
        ),
        (
            Source::Selectools,
            json!({"allow": ["run_*"], "review": [format!("run_doc{}", "*x".repeat(200))]}),
            "",
        ),
    ] {
        let found = from(source, &file);
        let (policy, conditions) = (policy(&found), Conditions::default());
        let tool = match source {
            Source::Selectools => "run_doc",
            Source::ClaudeCode => "Bash",
        };
        let args = json!({ "title": title, "command": format!("{words}x") });
        assert_eq!(says(&policy, &conditions, tool, &args), "ask", "{file}");
        assert_eq!(found.left_out().count(), 0, "{:?}", found.entries);
        let ids: std::collections::BTreeSet<&str> =
            found.rules.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids.len(), found.rules.len(), "each rule has its own id");
    }
    let found = from(Source::Selectools, &selectools(&long));
    let note = found.entries[0].why.as_deref().unwrap();
    assert!(note.contains("too long for a condition"), "{note}");
    for short in ["文".repeat(80), "文*".repeat(20)] {
        let found = from(Source::Selectools, &selectools(&short));
        assert_ne!(found.entries[0].why.as_deref(), Some(TOO_LONG), "{short}");
    }
    // Nothing here could even ask.
    for (source, file) in [
        (
            Source::Selectools,
            json!({"allow": ["x"], "deny": ["d".repeat(300)]}),
        ),
        (Source::Selectools, json!({"allow": ["x"], "deny": [""]})),
        (Source::ClaudeCode, claude("d".repeat(300))),
    ] {
        let reported = read_one(source, &file, &[]).unwrap_err().join("; ");
        let place = match source {
            Source::Selectools => "deny[0]",
            Source::ClaudeCode => "/permissions/deny/0",
        };
        assert!(reported.contains(place), "{reported}");
    }
}

#[test]
fn a_wildcard_under_allow_stands_behind_the_name_of_a_server() {
    for (entry, tool, word) in [
        ("B*", "Bash", "ask"),
        ("*sh", "Bash", "ask"),
        ("*", "Bash", "ask"),
        ("R*", "Read", "ask"),
        ("mcp__*", "mcp__a__x", "ask"),
        ("mcp__*__x", "mcp__a__x", "ask"),
        ("mcp__a*__x", "mcp__a__x", "ask"),
        ("mcp__a*", "mcp__a__x", "ask"),
        ("mcp____*", "mcp____x", "ask"),
        ("mcp__srv__get_*", "mcp__srv__get_x", "approve"),
        ("mcp__srv__get_*", "mcp__srv__set_x", "ask"),
        ("mcp__srv__*", "mcp__srv__x", "approve"),
    ] {
        let file = json!({"permissions": {"allow": [entry]}});
        let found = from(Source::ClaudeCode, &file);
        let (policy, conditions) = (policy(&found), Conditions::default());
        let args = json!({"command": "rm -rf /"});
        assert_eq!(says(&policy, &conditions, tool, &args), word, "{entry}");
        assert_eq!(found.entries.len(), 1);
    }
}

#[test]
fn the_same_entry_gives_the_same_rule_and_agents_narrow_it() {
    let file = json!({"allow": ["search_web", "search_web"]});
    let found = from(Source::Selectools, &file);
    assert_eq!((found.rules.len(), found.carried().count()), (1, 2));
    assert_eq!(found.rules, from(Source::Selectools, &file).rules);
    let agents = [Glob::new("billing-*").unwrap()];
    let narrow = read_one(Source::Selectools, &file, &agents).unwrap();
    assert_eq!(narrow.rules[0].matchers.agent, agents);
    assert_eq!(
        narrow.rules[0].expires_at,
        Some(now().plus_ms(APPROVES_DAYS * 86_400_000))
    );
}
