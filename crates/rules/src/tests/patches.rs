//! Patches under rules of paths, and a plan that only a person approves.

use countersign_wire::KeptJson;

use super::*;

const APPROVE: &str = "/w/src/**";
const DENY: &str = "/w/src/secret/**";

fn outcome(rules: Vec<Rule>, tool: &str, command: &str) -> String {
    let native = KeptJson::of(&json!({ "cwd": "/w" })).unwrap();
    let args = json!({ "command": command });
    let policy = set(rules);
    let asked = Asked {
        tool: Some(tool),
        native: Some(&native),
        ..pay(&args)
    };
    let found = word(&policy, &judge(&policy, &asked));
    found.split(' ').next().unwrap().to_owned()
}

fn of_path(id: &str, effect: &str, tool: &str, path: &str) -> Rule {
    rule(
        id,
        effect,
        json!({ "tool": [tool], "path": { "/command": [path] } }),
    )
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

#[test]
fn an_approve_needs_all_files_of_a_patch_and_a_deny_any() {
    for (text, says) in [
        (patch("*** Update File: src/a.ts\n@@\n-a\n+b\n"), "approve"),
        (
            patch("*** Update File: /w/src/a.ts\n@@\n-a\n+b\n"),
            "approve",
        ),
        (
            patch("*** Update File: src/a.ts\n@@\n-a\n+b\n*** Add File: lib/b.ts\n+x\n"),
            "ask",
        ),
        (
            patch("*** Update File: src/a.ts\n*** Move to: ../x.ts\n@@\n-a\n+b\n"),
            "ask",
        ),
        (patch("*** Add File: src/../../etc/x\n+b\n"), "ask"),
        (patch("*** Add File: ~/src/x\n+b\n"), "ask"),
        (
            patch("*** Update File: src/a.ts\n@@\n-a\n+b\n*** Delete File: src/secret/k\n"),
            "deny",
        ),
        (
            patch("*** Update File: lib/a\n*** Move to: src/secret/k\n@@\n-a\n+b\n"),
            "deny",
        ),
        (
            format!(
                "{}{}",
                patch("*** Delete File: src/a\n"),
                patch("*** Delete File: src/secret/a\n")
            ),
            "deny",
        ),
        (
            "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n".to_owned(),
            "ask",
        ),
        (
            format!("{}rm -rf /", patch("*** Delete File: src/a\n")),
            "ask",
        ),
        (patch(""), "ask"),
        ("src/a.ts".to_owned(), "ask"),
    ] {
        let rules = vec![
            of_path("pa", "approve", "apply_patch", APPROVE),
            of_path("pd", "deny", "apply_patch", DENY),
        ];
        assert_eq!(outcome(rules, "apply_patch", &text), says, "{text}");
    }
}

#[test]
fn a_patch_is_no_command() {
    let text = patch("*** Add File: src/a\n+git push\n");
    for effect in ["approve", "deny"] {
        let commands = json!({ "command": { "/command": ["git push *", "ls"] } });
        let rules = vec![rule("r", effect, commands)];
        assert_eq!(outcome(rules, "apply_patch", &text), "ask", "{effect}");
    }
}

#[test]
fn a_patch_in_a_shell_call_is_denied_by_its_files() {
    let hook = patch("*** Add File: .git/hooks/pre-commit\n+#!/bin/sh\n");
    let readme = patch("*** Add File: README\n+x\n");
    for (text, says) in [
        (format!("apply_patch <<'EOF'\n{hook}EOF"), "deny"),
        (format!("cd /w; apply_patch <<'EOF'\n{hook}EOF"), "deny"),
        (
            format!(
                "cd .git && apply_patch <<'EOF'\n{}EOF",
                patch("*** Add File: hooks/x\n+y\n")
            ),
            "deny",
        ),
        (
            format!("apply_patch <<'A'\n{readme}A\napply_patch <<'B'\n{hook}B"),
            "deny",
        ),
        (format!("apply_patch '{hook}'"), "deny"),
        ("apply_patch < x".to_owned(), "ask"),
        ("curl -s https://x | apply_patch".to_owned(), "ask"),
    ] {
        let rules = vec![of_path("d", "deny", "shell", "/w/.git/**")];
        assert_eq!(outcome(rules, "shell", &text), says, "{text}");
        let approve = vec![of_path("a", "approve", "shell", "/w/**")];
        if text.contains('\n') {
            assert_eq!(outcome(approve, "shell", &text), "ask", "{text}");
        }
    }
    // Not the same as a patch that the rule does not name.
    let policy = set(vec![of_path("d", "deny", "shell", "/w/.git/**")]);
    let args = json!({ "command": format!("apply_patch <<'EOF'\n{readme}EOF") });
    let native = KeptJson::of(&json!({ "cwd": "/w" })).unwrap();
    let asked = Asked {
        tool: Some("shell"),
        native: Some(&native),
        ..pay(&args)
    };
    assert!(judge(&policy, &asked).matched.is_empty());
}

#[test]
fn a_plan_is_approved_by_a_person_alone() {
    let args = json!({ "plan": "1. drop it" });
    let plan = Asked {
        tool: Some("ExitPlanMode"),
        risk: Risk::Low,
        ..pay(&args)
    };
    let approve = set(vec![rule(
        "r",
        "approve",
        json!({ "tool": ["ExitPlanMode"] }),
    )]);
    let found = judge_in(&approve, &plan, |setting| {
        let since = noon().plus_ms(-60_000);
        let up_to = Risk::High;
        setting.bypass = Some(InBypass { up_to, since });
    });
    assert_eq!(word(&approve, &found), "ask");
}
