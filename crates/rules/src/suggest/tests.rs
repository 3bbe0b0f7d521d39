//! What is suggested, and what never is.

#![allow(clippy::unwrap_used)]

use countersign_wire::{RequestKind, args_digest};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

mod commands;

fn now() -> Timestamp {
    Timestamp::parse("2026-11-22T12:00:00Z").unwrap()
}

fn asked<'a>(args: &'a Value, digest: &'a Sha256Digest) -> Asked<'a> {
    Asked {
        agent: "bot",
        kind: RequestKind::ToolCall,
        tool: Some("pay"),
        origin: None,
        framework: None,
        skill: None,
        skill_tools: None,
        thread_id: None,
        run_id: None,
        args: Some(args),
        args_digest: Some(digest),
        effective: None,
        native: None,
        risk: Risk::Medium,
        takes_approval: true,
        approvals_required: 1,
        setup_key: None,
        tool_changed_at: None,
        stops: &[],
    }
}

/// Suggests from these calls of `pay`, decided one after the other.
fn suggest_in(
    rules: Vec<Rule>,
    calls: &[(Value, Verdict)],
    change: impl Fn(&mut Asked<'_>),
) -> Vec<Suggestion> {
    let policy = PolicySet::new(rules, BTreeMap::new()).unwrap();
    let mut suggesting = Suggesting::new(&policy);
    for (number, (args, verdict)) in calls.iter().enumerate() {
        let digest = args_digest(args).unwrap();
        let mut asked = asked(args, &digest);
        change(&mut asked);
        let request_id = format!("r{number}");
        suggesting.take(&Decided {
            asked: &asked,
            request_id: &request_id,
            verdict: *verdict,
            operator: if number % 2 == 0 { "UA" } else { "UB" },
            at: now().plus_ms(number as i64),
        });
    }
    suggesting.finish(now())
}

fn suggest(calls: &[(Value, Verdict)]) -> Vec<Suggestion> {
    suggest_in(Vec::new(), calls, |_| {})
}

fn approved(args: Value, times: usize) -> Vec<(Value, Verdict)> {
    vec![(args, Verdict::Approve); times]
}

#[test]
fn five_like_approvals_and_no_denial_make_a_rule_that_is_off() {
    let small = json!({"to": "a", "amount": 5});
    assert_eq!(suggest(&approved(small.clone(), 4)), []);
    let found = suggest(&approved(small.clone(), 5));
    assert_eq!(found.len(), 1);
    let one = &found[0];
    assert_eq!(
        (one.approvals, one.operators.len(), one.requests.len()),
        (5, 2, 5)
    );
    assert_eq!((one.first, one.last), (now(), now().plus_ms(4)));
    assert_eq!(one.rule.enabled, Enabled::Off);
    assert_eq!(one.rule.matchers.args["/to"].eq, Some(json!("a")));
    assert!(one.rule.matchers.only_args && one.rule.matchers.risk == [Risk::Medium]);
    assert_eq!(one.rule.expires_at, Some(now().plus_ms(90 * 86_400_000)));
    for against in [
        Verdict::Deny,
        Verdict::Terminate,
        Verdict::Skip,
        Verdict::Modify,
    ] {
        let calls = [approved(small.clone(), 9), vec![(small.clone(), against)]].concat();
        assert_eq!(suggest(&calls), [], "{against:?}");
    }
}

#[test]
fn a_few_values_are_listed_and_a_denial_of_others_leaves_the_exact_ones() {
    let to = |who: &str| json!({ "to": who, "amount": 5 });
    let calls = [approved(to("a"), 3), approved(to("b"), 2)].concat();
    let found = suggest(&calls);
    assert_eq!(found.len(), 1);
    let wanted = Some(vec![json!("a"), json!("b")]);
    assert_eq!(found[0].rule.matchers.args["/to"].one_of, wanted);
    let calls = [
        approved(to("a"), 6),
        approved(to("b"), 2),
        vec![(to("c"), Verdict::Deny)],
    ]
    .concat();
    let found = suggest(&calls);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].rule.matchers.args["/to"].eq, Some(json!("a")));
    assert_eq!(found[0].approvals, 6);
    let rare = [approved(to("a"), 5), approved(to("b"), 1)].concat();
    let found = suggest(&rare);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].rule.matchers.args["/to"].eq,
        Some(json!("a")),
        "a value that came once will not match again"
    );
    let of = |values: u8| -> Vec<(Value, Verdict)> {
        (0..values)
            .flat_map(|n| approved(to(&n.to_string()), 2))
            .collect()
    };
    assert_eq!((suggest(&of(5)).len(), suggest(&of(6)).len()), (1, 0));
    let many: Vec<_> = (0..20)
        .map(|n| (to(&n.to_string()), Verdict::Approve))
        .collect();
    assert_eq!(suggest(&many), [], "many values are not a narrow rule");
}

#[test]
fn nothing_is_suggested_that_a_rule_says_or_none_may_say() {
    let args = json!({"to": "a"});
    let calls = approved(args.clone(), 6);
    let known = suggest(&calls).remove(0).rule;
    assert_eq!(
        suggest_in(vec![known.clone()], &calls, |_| {}),
        [],
        "turned off before"
    );
    let ask = Rule {
        effect: Effect::Ask,
        enabled: Enabled::On,
        matchers: Matchers {
            risk: vec![Risk::Medium],
            ..Matchers::default()
        },
        ..known
    };
    assert_eq!(
        suggest_in(vec![ask], &calls, |_| {}),
        [],
        "somebody wants to be asked"
    );
    let changes: [fn(&mut Asked<'_>); 4] = [
        |asked| asked.risk = Risk::Critical,
        |asked| asked.approvals_required = 2,
        |asked| asked.takes_approval = false,
        |asked| asked.tool = Some("pay*"),
    ];
    for change in changes {
        assert_eq!(suggest_in(Vec::new(), &calls, change), []);
    }
    let hidden = approved(json!({"to": "a\u{202e}b"}), 6);
    assert_eq!(suggest(&hidden), []);
    let secret = approved(json!({"password": "hunter2hunter2", "to": "a"}), 6);
    let found = suggest(&secret);
    assert!(!found.is_empty() && found.iter().all(|of| of.rule.matchers.args.is_empty()));
    assert!(
        !format!("{found:?}").contains("hunter2"),
        "no secret is in a rule"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_suggestion_lists_only_values_that_repeat_and_few_of_them(
        calls in prop::collection::vec((0_u8..9, 0_u8..3), 0..60),
    ) {
        let args = |(to, amount): &(u8, u8)| json!({"to": to, "amount": amount});
        let calls: Vec<Value> = calls.iter().map(args).collect();
        let given: Vec<_> = calls.iter().map(|args| (args.clone(), Verdict::Approve)).collect();
        for found in suggest(&given) {
            for (pointer, test) in &found.rule.matchers.args {
                let listed = test.one_of.clone().unwrap_or_default();
                prop_assert!(listed.len() <= 5);
                for value in listed.iter().chain(&test.eq) {
                    let times = calls.iter().filter(|args| args.pointer(pointer) == Some(value)).count();
                    prop_assert!(times >= 2, "{} {}", pointer, value);
                }
            }
        }
    }

    #[test]
    fn a_suggestion_approves_nothing_that_a_person_denied(
        calls in prop::collection::vec((0_u8..4, 0_u8..3, prop::bool::weighted(0.9)), 0..60),
    ) {
        let calls: Vec<(Value, Verdict)> = calls
            .into_iter()
            .map(|(to, amount, yes)| {
                let verdict = if yes { Verdict::Approve } else { Verdict::Deny };
                (json!({"to": to, "amount": amount}), verdict)
            })
            .collect();
        let rules: Vec<Rule> = suggest(&calls)
            .into_iter()
            .map(|of| Rule { enabled: Enabled::On, ..of.rule })
            .collect();
        let policy = PolicySet::new(rules, BTreeMap::new()).unwrap();
        let again = Suggesting::new(&policy);
        for (args, verdict) in &calls {
            let digest = args_digest(args).unwrap();
            let outcome = again.judge(&policy, &asked(args, &digest), now());
            if *verdict == Verdict::Deny {
                prop_assert!(!matches!(outcome, Outcome::Approve(_)), "{}", args);
            }
        }
    }
}
