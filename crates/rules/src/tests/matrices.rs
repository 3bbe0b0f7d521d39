//! What the matrix says of a tool at each risk.

use super::*;
use crate::matrix::{DescribedTool, Matrix, RISKS};

const PAY: DescribedTool<'static> = DescribedTool {
    agent: "billing-bot",
    framework: None,
    tool: "pay",
    origin: None,
    redefined_at: None,
    approves_off: None,
    author_may: [true; RISKS.len()],
    bypass: [None; RISKS.len()],
};

/// One word for each risk: the outcome, its rule, and in brackets what it depends on.
fn words(rules: Vec<Rule>, of: &DescribedTool<'_>) -> Vec<String> {
    let matrix = Matrix::new(rules, noon(), None).unwrap();
    let word = |cell: crate::matrix::Cell| {
        let rule = cell.rule.map_or(String::new(), |rule| format!(" {rule}"));
        let depends = cell.depends.join(",");
        match depends.as_str() {
            "" => format!("{}{rule}", cell.outcome),
            depends => format!("{}{rule} ({depends})", cell.outcome),
        }
    };
    assert_eq!(RISKS.len(), matrix.cells(of).len());
    matrix.cells(of).into_iter().map(word).collect()
}

#[test]
fn a_cell_says_what_is_certain_and_names_what_depends_on_more() {
    let read = || {
        rule(
            "read",
            "approve",
            json!({"risk": ["safe", "low", "critical"]}),
        )
    };
    let small = || {
        rule(
            "small",
            "approve",
            json!({"args": {"/amount": {"lt": 50}}, "risk": ["low", "medium"]}),
        )
    };
    let never = || rule("never", "deny", json!({"tool": ["pay"], "risk": ["high"]}));
    let shadow = || {
        rule(
            "shadow",
            "deny",
            json!({"tool": ["pay"], "enabled": "shadow"}),
        )
    };
    assert_eq!(
        words(vec![read(), small(), never(), shadow()], &PAY),
        [
            "approve read",
            "approve read (small)",
            "ask (small)",
            "deny never",
            "approve read"
        ]
    );
    // A deny that looks at the arguments is not certain deny, and it never hides.
    let big = rule(
        "big",
        "deny",
        json!({"tool": ["pay"], "args": {"/amount": {"gt": 50}}}),
    );
    assert_eq!(words(vec![read(), big], &PAY)[0], "approve read (big)");
    let other = DescribedTool {
        agent: "sales-bot",
        ..PAY
    };
    assert_eq!(
        words(
            vec![rule(
                "r",
                "ask",
                json!({"agent": ["billing-*"], "approvals": 2})
            )],
            &other
        )[0],
        "ask"
    );
}

#[test]
fn a_cell_never_says_approve_where_the_console_would_ask() {
    let broad = || rule("broad", "approve", json!({}));
    let plain = words(vec![broad()], &PAY);
    assert_eq!(
        plain,
        [
            "approve broad",
            "approve broad",
            "approve broad",
            "approve broad",
            "ask"
        ]
    );
    let changed = DescribedTool {
        redefined_at: Some(noon()),
        ..PAY
    };
    assert!(
        words(vec![broad()], &changed)
            .iter()
            .all(|word| word == "ask")
    );
    let paused = DescribedTool {
        approves_off: Some(AutomaticOff::Paused),
        ..PAY
    };
    assert!(
        words(vec![broad()], &paused)
            .iter()
            .all(|word| word == "ask")
    );
    let in_bypass = crate::InBypass {
        up_to: Risk::Low,
        since: noon(),
    };
    let passed = DescribedTool {
        bypass: [Some(in_bypass); RISKS.len()],
        ..PAY
    };
    assert_eq!(
        words(vec![], &passed),
        ["approve", "approve", "ask", "ask", "ask"]
    );
    let ended = rule("ended", "approve", json!({"expires_at": super::NOON}));
    assert!(words(vec![ended], &PAY).iter().all(|word| word == "ask"));
    let digest = rule(
        "one",
        "approve",
        json!({"args_digest": [format!("sha256:{}", "0".repeat(64))]}),
    );
    assert_eq!(words(vec![digest], &PAY)[4], "ask (one)");
}

#[test]
fn a_cell_approves_only_as_far_as_the_signers_may_let_calls_run() {
    let broad = || rule("broad", "approve", json!({}));
    let limited = DescribedTool {
        author_may: [true, true, false, false, false],
        ..PAY
    };
    let depends = rule("small", "approve", json!({"args": {"/amount": {"lt": 5}}}));
    assert_eq!(
        words(vec![broad(), depends], &limited),
        [
            "approve broad (small)",
            "approve broad (small)",
            "ask",
            "ask",
            "ask"
        ]
    );
    let in_bypass = crate::InBypass {
        up_to: Risk::High,
        since: noon(),
    };
    let mut bypass = [None; RISKS.len()];
    bypass[0] = Some(in_bypass);
    let passed = DescribedTool { bypass, ..PAY };
    assert_eq!(
        words(vec![], &passed),
        ["approve", "ask", "ask", "ask", "ask"]
    );
}

#[test]
fn while_what_stands_in_the_rules_place_does_not_count_nothing_approves_and_only_an_operator_lets_go_of_a_deny()
 {
    let rules = || {
        vec![
            rule("broad", "approve", json!({})),
            rule("never", "deny", json!({"risk": ["low"]})),
            rule(
                "two",
                "ask",
                json!({"risk": ["low", "high"], "approvals": 2}),
            ),
        ]
    };
    let held = Some(AutomaticOff::RulesUnreadable);
    let (one, two) = (("ask", 1, None, held), ("ask", 2, Some("two"), held));
    for (replaced, low) in [
        (Replaced::Unreadable, two),
        (Replaced::Unsigned, ("deny", 1, Some("never"), None)),
    ] {
        let matrix = Matrix::new(rules(), noon(), Some(replaced)).unwrap();
        let cells = matrix.cells(&PAY);
        let reported: Vec<_> = cells
            .iter()
            .map(|cell| {
                (
                    cell.outcome.as_str(),
                    cell.approvals,
                    cell.rule.as_deref(),
                    cell.held,
                )
            })
            .collect();
        assert_eq!(reported, [one, low, one, two, one]);
    }
}
