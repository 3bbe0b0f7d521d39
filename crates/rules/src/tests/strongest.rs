//! Precedence: the strongest match wins, in whatever order the rules are.

use super::*;

#[test]
fn deny_stands_over_ask_and_ask_over_approve() {
    let args = json!({"amount": 10});
    let approve = || rule("ok", "approve", json!({}));
    let ask = |id: &str, approvals: u8| rule(id, "ask", json!({"approvals": approvals}));
    let deny = || rule("no", "deny", json!({}));
    for (rules, wanted) in [
        (vec![], "ask"),
        (vec![approve()], "approve ok"),
        (
            vec![
                rule("b", "approve", json!({})),
                rule("a", "approve", json!({})),
            ],
            "approve a",
        ),
        (vec![approve(), ask("two", 2)], "ask two 2"),
        (
            vec![ask("two", 2), ask("three", 3), ask("one", 1)],
            "ask three 3",
        ),
        (vec![ask("b", 2), ask("a", 2)], "ask a 2"),
        (vec![approve(), ask("two", 2), deny()], "deny no"),
        (
            vec![
                approve(),
                rule("other", "deny", json!({"tool": ["refund"]})),
            ],
            "approve ok",
        ),
        (
            vec![approve(), rule("off", "deny", json!({"enabled": false}))],
            "approve ok",
        ),
        (
            vec![approve(), rule("past", "deny", json!({"expires_at": NOON}))],
            "approve ok",
        ),
        (
            vec![
                approve(),
                rule("dark", "deny", json!({"enabled": "shadow"})),
            ],
            "approve ok",
        ),
    ] {
        let backwards = rules.iter().rev().cloned().collect();
        for policy in [set(rules), set(backwards)] {
            let found = judge(&policy, &pay(&args));
            assert_eq!(word(&policy, &found), wanted);
        }
    }
}

#[test]
fn what_is_answered_and_not_approved_asks_for_no_second_operator() {
    let args = json!({});
    let two = rule("two", "ask", json!({"tool": ["pay"], "approvals": 2}));
    let policy = set(vec![two]);
    assert_eq!(word(&policy, &judge(&policy, &pay(&args))), "ask two 2");
    for kind in [RequestKind::Question, RequestKind::Form] {
        let asked = Asked {
            kind,
            tool: None,
            args: None,
            ..pay(&args)
        };
        let found = judge(&policy, &asked);
        assert_eq!(word(&policy, &found), "ask two 1", "{kind:?}");
        assert_eq!(found.most_asked().0, 1, "{kind:?}");
    }
}

#[test]
fn every_matcher_that_is_given_must_hold() {
    let args = json!({"amount": 10, "to": "a@example.com", "tags": ["x"]});
    let digest = countersign_wire::args_digest(&args).unwrap();
    let asked = Asked {
        args_digest: Some(&digest),
        skill: Some("refunds"),
        ..pay(&args)
    };
    for (more, matches) in [
        (json!({"agent": ["billing-*"]}), true),
        (json!({"agent": ["sales-*", "billing-bot"]}), true),
        (json!({"agent": ["sales-*"]}), false),
        (json!({"tool": ["p?y"]}), true),
        (json!({"tool": ["refund"]}), false),
        (json!({"risk": ["low", "medium"]}), true),
        (json!({"risk": ["high"]}), false),
        (json!({"kind": ["tool_call"]}), true),
        (json!({"kind": ["question"]}), false),
        (json!({"origin": ["mcp"]}), false),
        (json!({"origin": ["local"]}), true),
        (json!({"framework": ["select*"]}), true),
        (json!({"framework": ["inspect*"]}), false),
        (json!({"skill": ["refunds"]}), true),
        (json!({"skill": ["sales"]}), false),
        (json!({"thread_id": ["T1"]}), true),
        (json!({"thread_id": ["T2"]}), false),
        (json!({"args_digest": [digest.to_string()]}), true),
        (
            json!({"args_digest": [format!("sha256:{}", "0".repeat(64))]}),
            false,
        ),
        (json!({"args": {"/amount": {"lt": 11, "gt": 9}}}), true),
        (json!({"args": {"/amount": {"lt": 10}}}), false),
        (json!({"args": {"/to": {"glob": "*@example.com"}}}), true),
        (json!({"args": {"/tags/0": {"in": ["x", "y"]}}}), true),
        (
            json!({"args": {"/amount": {"lt": 11}}, "only_args": true}),
            false,
        ),
        (
            json!({"args": {"/amount": {"lt": 11}, "/to": {"min_len": 1}, "/tags": {"max_len": 1}},
                   "only_args": true}),
            true,
        ),
        (json!({"when": "args.amount < 11"}), true),
        (json!({"when": "args.amount > 11"}), false),
        (
            json!({"agent": ["billing-*"], "when": "args.amount > 11"}),
            false,
        ),
    ] {
        for effect in ["approve", "ask", "deny"] {
            let policy = set(vec![rule("r", effect, more.clone())]);
            let found = judge(&policy, &asked);
            assert_eq!(found.matched.len(), usize::from(matches), "{effect} {more}");
        }
    }
}

#[test]
fn a_stored_rule_with_an_empty_list_as_matcher_stays_readable_and_matches_nothing() {
    let args = json!({});
    let asked = pay(&args);
    for (effect, without) in [
        ("approve", "approve r"),
        ("ask", "ask r 1"),
        ("deny", "deny r"),
    ] {
        let given = rule("r", effect, json!({}));
        assert_eq!(
            word(
                &set(vec![given.clone()]),
                &judge(&set(vec![given.clone()]), &asked)
            ),
            without
        );
        for name in [
            "agent",
            "risk",
            "kind",
            "origin",
            "framework",
            "skill",
            "args_digest",
        ] {
            let mut stored = given.to_json();
            stored[name] = json!([]);
            let whole = json!({ "schema": 1, "rules": [stored] });
            let read = read_stored(&whole).unwrap();
            assert_eq!(read[0].to_json()[name], json!([]), "it stays as it is");
            let policy = set(read);
            assert_eq!(
                word(&policy, &judge(&policy, &asked)),
                "ask",
                "{effect} {name}"
            );
            assert!(read_set(&whole, "rules").is_err(), "nobody writes it");
        }
    }
}

#[test]
fn what_cannot_be_read_for_sure_keeps_an_approve_from_matching_and_makes_the_others_ask() {
    let args = json!({"amount": "99", "note": null});
    let asked = Asked {
        origin: None,
        framework: None,
        thread_id: None,
        ..pay(&args)
    };
    for more in [
        json!({"args": {"/amount": {"lt": 100}}}),
        json!({"args": {"/missing": {"eq": 1}}}),
        json!({"args": {"/amount": {"eq": 99}}}),
        json!({"args": {"/note": {"glob": "*x"}}}),
        json!({"when": "args.amount < 100"}),
        json!({"when": "args.missing == 1"}),
        json!({"when": "args.note < 1"}),
        json!({"when": "args.amount"}),
        json!({"origin": ["local"]}),
        json!({"framework": ["x*"]}),
        json!({"skill": ["x"]}),
        json!({"thread_id": ["T1"]}),
        json!({"args_digest": [format!("sha256:{}", "0".repeat(64))]}),
    ] {
        let plain = rule("zz", "approve", json!({}));
        let approve = set(vec![rule("r", "approve", more.clone())]);
        let found = judge(&approve, &asked);
        assert_eq!(word(&approve, &found), "ask", "{more}");
        assert_eq!(found.troubles.len(), 1, "{more}");
        for (effect, wanted) in [("deny", "ask r 1"), ("ask", "ask r 1")] {
            let policy = set(vec![rule("r", effect, more.clone()), plain.clone()]);
            let found = judge(&policy, &asked);
            assert_eq!(word(&policy, &found), wanted, "{effect} {more}");
            assert_eq!(found.troubles.len(), 1, "the error is kept: {more}");
        }
    }
}

#[test]
fn what_could_not_be_read_is_told_only_of_rules_that_are_meant_by_the_request() {
    let args = json!({});
    let asked = pay(&args);
    let unsure = json!({"args": {"/to": {"eq": "production"}}});
    let elsewhere = json!({"tool": ["deploy"], "args": {"/to": {"eq": "production"}}});
    for effect in ["approve", "ask", "deny"] {
        for (more, reported) in [(&unsure, 1), (&elsewhere, 0)] {
            let policy = set(vec![rule("r", effect, more.clone())]);
            for explain in [false, true] {
                let found = judge_in(&policy, &asked, |setting| setting.explain = explain);
                assert_eq!(found.troubles.len(), reported, "{effect} {more} {explain}");
            }
        }
    }
}

#[test]
fn what_fails_for_sure_outweighs_what_is_unsure() {
    let args = json!({});
    let more = json!({"tool": ["refund"], "args": {"/env": {"eq": "prod"}}});
    let policy = set(vec![
        rule("r", "deny", more),
        rule("ok", "approve", json!({})),
    ]);
    let found = judge(&policy, &pay(&args));
    assert_eq!(word(&policy, &found), "approve ok");
    assert!(found.matched.len() == 1);
}

#[test]
fn under_a_control_approves_do_not_count_and_denies_do() {
    let args = json!({});
    let approve = rule("ok", "approve", json!({}));
    for off in [
        AutomaticOff::Panic,
        AutomaticOff::Paused,
        AutomaticOff::PolicyUnknown,
    ] {
        let policy = set(vec![approve.clone()]);
        let found = judge_in(&policy, &pay(&args), |setting| {
            setting.approves_off = Some(off)
        });
        let held = Some(off);
        assert_eq!(
            found.outcome,
            Outcome::Ask {
                rule: None,
                approvals: 1,
                held
            }
        );
        let policy = set(vec![approve.clone(), rule("no", "deny", json!({}))]);
        let found = judge_in(&policy, &pay(&args), |setting| {
            setting.approves_off = Some(off)
        });
        assert_eq!(word(&policy, &found), "deny no");
    }
}

#[test]
fn a_shadow_rule_records_what_it_would_have_done_and_does_nothing() {
    let args = json!({});
    let policy = set(vec![rule("dark", "approve", json!({"enabled": "shadow"}))]);
    let found = judge(&policy, &pay(&args));
    assert_eq!(word(&policy, &found), "ask");
    assert_eq!(found.shadows, [(0, Says::Approve)]);
}

#[test]
fn a_near_miss_is_a_rule_of_which_exactly_one_matcher_failed() {
    let args = json!({"amount": 10});
    let policy = set(vec![
        rule("amount", "approve", json!({"args": {"/amount": {"lt": 5}}})),
        rule(
            "two",
            "approve",
            json!({"agent": ["x"], "args": {"/amount": {"lt": 5}}}),
        ),
        rule("when", "deny", json!({"when": "args.amount > 100"})),
        rule(
            "agent",
            "ask",
            json!({"agent": ["sales-*"], "when": "args.amount == 10"}),
        ),
        rule(
            "both",
            "ask",
            json!({"agent": ["sales-*"], "when": "args.amount == 11"}),
        ),
        rule("expired", "approve", json!({"expires_at": NOON})),
        rule("off", "approve", json!({"enabled": false, "agent": ["x"]})),
    ]);
    let found = judge_in(&policy, &pay(&args), |setting| setting.explain = true);
    let near: Vec<(String, String)> = found
        .near
        .iter()
        .map(|NearMiss { rule, matcher }| {
            let rule = &policy.rules()[*rule].rule;
            (rule.id.clone(), matcher.word(rule))
        })
        .collect();
    let pair = |id: &str, word: &str| (id.to_owned(), word.to_owned());
    assert_eq!(
        near,
        [
            pair("agent", "agent"),
            pair("amount", "args./amount"),
            pair("expired", "expires_at"),
            pair("when", "when"),
        ]
    );
    assert_eq!(found.outcome, judge(&policy, &pay(&args)).outcome);
}

#[test]
fn the_digest_is_that_of_the_canonical_set_and_of_nothing_else() {
    let [a, b] = ["a", "b"].map(|id| rule(id, "ask", json!({})));
    let one = set(vec![a.clone(), b.clone()]);
    let other = set(vec![b, a.clone()]);
    assert_eq!(one.digest(), other.digest(), "no order");
    let changed = rule("a", "ask", json!({"approvals": 2}));
    assert_ne!(set(vec![a]).digest(), set(vec![changed]).digest());
    let body: Value = serde_json::from_slice(one.body()).unwrap();
    let names: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(names, ["rules", "schema", "setup"]);
    assert_eq!(
        countersign_wire::Sha256Digest::of_bytes(one.body()),
        *one.digest()
    );
}

#[test]
fn a_thousand_rules_are_judged() {
    let args = json!({"amount": 10});
    let many = (0..1_000).map(|n| {
        let more = json!({"agent": [format!("agent-{n}-*")], "args": {"/amount": {"lt": n}}});
        rule(&format!("r{n}"), "approve", more)
    });
    let policy = set(many.chain([rule("last", "deny", json!({}))]).collect());
    assert_eq!(word(&policy, &judge(&policy, &pay(&args))), "deny last");
}
