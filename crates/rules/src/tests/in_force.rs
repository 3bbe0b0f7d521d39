use super::*;

#[test]
fn a_rule_approves_while_it_is_on_and_its_time_is_not_over() {
    for (effect, more, approves) in [
        ("approve", json!({}), true),
        ("approve", json!({ "enabled": false }), false),
        ("approve", json!({ "enabled": "shadow" }), false),
        (
            "approve",
            json!({ "expires_at": "2026-11-22T12:00:01Z" }),
            true,
        ),
        ("approve", json!({ "expires_at": NOON }), false),
        ("ask", json!({}), false),
        ("deny", json!({}), false),
    ] {
        let rule = rule("one", effect, more.clone());
        assert_eq!(rule.approves(noon()), approves, "{effect} {more}");
    }
}
