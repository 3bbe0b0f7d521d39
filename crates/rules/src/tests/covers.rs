//! What an approve never covers.

use super::*;

#[test]
fn a_critical_call_needs_a_rule_that_means_it() {
    let args = json!({"amount": 1});
    let digest = countersign_wire::args_digest(&args).unwrap();
    let asked = Asked {
        risk: Risk::Critical,
        args_digest: Some(&digest),
        ..pay(&args)
    };
    for (more, wanted) in [
        (json!({}), "ask"),
        (json!({"risk": ["critical"]}), "approve r"),
        (json!({"risk": ["critical"], "tool": ["p*"]}), "ask"),
        (json!({"tool": ["pay", "p*"]}), "ask"),
        (json!({"risk": ["low"]}), "ask"),
        (
            json!({"tool": ["p*"], "args_digest": [digest.to_string()]}),
            "approve r",
        ),
    ] {
        let policy = set(vec![rule("r", "approve", more.clone())]);
        assert_eq!(word(&policy, &judge(&policy, &asked)), wanted, "{more}");
    }
}

#[test]
fn what_no_approve_covers_is_asked_and_the_reason_is_told() {
    let args = json!({"amount": 1});
    let hidden = json!({"to": "a\u{202e}b"});
    let tools = vec!["read".to_owned()];
    let since = Timestamp(noon().0 - 1_000);
    let mut made = rule("r", "approve", json!({}));
    made.since = since;
    let policy = set(vec![made]);
    let plain = pay(&args);
    for (asked, reason) in [
        (
            Asked {
                args: Some(&hidden),
                ..plain
            },
            Matcher::HiddenCharacters,
        ),
        (
            Asked {
                skill_tools: Some(&tools),
                ..plain
            },
            Matcher::OutsideSkill,
        ),
        (
            Asked {
                skill_tools: Some(&[]),
                ..plain
            },
            Matcher::OutsideSkill,
        ),
        (
            Asked {
                tool_changed_at: Some(since),
                ..plain
            },
            Matcher::ToolChanged,
        ),
        (
            Asked {
                approvals_required: 2,
                ..plain
            },
            Matcher::SeveralApprovals,
        ),
        (
            Asked {
                takes_approval: false,
                ..plain
            },
            Matcher::NotApprovable,
        ),
        (
            Asked {
                kind: RequestKind::Question,
                ..plain
            },
            Matcher::NotApprovable,
        ),
    ] {
        let found = judge_in(&policy, &asked, |setting| setting.explain = true);
        assert_eq!(word(&policy, &found), "ask", "{reason:?}");
        assert_eq!(
            found.near,
            [NearMiss {
                rule: 0,
                matcher: reason
            }]
        );
    }
    let found = judge_in(&policy, &plain, |setting| setting.author_may = false);
    assert_eq!(
        word(&policy, &found),
        "ask",
        "the signer's limits bind the rule"
    );
    let before = Asked {
        tool_changed_at: Some(Timestamp(since.0 - 1)),
        ..plain
    };
    assert_eq!(word(&policy, &judge(&policy, &before)), "approve r");
    let own = vec!["pay".to_owned()];
    let inside = Asked {
        skill_tools: Some(&own),
        ..plain
    };
    assert_eq!(word(&policy, &judge(&policy, &inside)), "approve r");
}

#[test]
fn a_tool_whose_name_hides_characters_is_not_covered() {
    let args = json!({});
    let policy = set(vec![rule("r", "approve", json!({"tool": ["p*"]}))]);
    let asked = Asked {
        tool: Some("pa\u{200b}y"),
        ..pay(&args)
    };
    assert_eq!(word(&policy, &judge(&policy, &asked)), "ask");
}

#[test]
fn a_deny_covers_what_no_approve_does() {
    let hidden = json!({"to": "a\u{202e}b"});
    let policy = set(vec![rule("no", "deny", json!({}))]);
    let asked = Asked {
        risk: Risk::Critical,
        approvals_required: 3,
        ..pay(&hidden)
    };
    assert_eq!(word(&policy, &judge(&policy, &asked)), "deny no");
}
