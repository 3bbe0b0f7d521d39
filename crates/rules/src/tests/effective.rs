//! What rules say where a framework changes the arguments after the gate.

use countersign_wire::{Effective, Sha256Digest, args_digest};

use super::*;

fn reported(effective: Value) -> Effective {
    serde_json::from_value(effective).unwrap()
}

fn judged(rules: Vec<Rule>, args: &Value, effective: Value) -> String {
    let policy = set(rules);
    let effective = reported(effective);
    let digest: Sha256Digest = args_digest(args).unwrap();
    let asked = Asked {
        effective: Some(&effective),
        args_digest: Some(&digest),
        ..pay(args)
    };
    word(&policy, &judge(&policy, &asked))
}

#[test]
fn an_approve_covers_the_arguments_at_the_gate_and_those_that_run() {
    let small = || json!({"args": {"/amount": {"lt": 100}}, "only_args": true});
    let digest = args_digest(&json!({"amount": 5})).unwrap().to_string();
    for (more, args, effective, says) in [
        (small(), json!({"amount": 5}), json!({}), "approve r"),
        (
            small(),
            json!({"amount": 5}),
            json!({"fixed": {"amount": 100_000}}),
            "ask",
        ),
        (
            small(),
            json!({"amount": 5}),
            json!({"fixed": {"amount": 6}}),
            "approve r",
        ),
        (
            small(),
            json!({"amount": 500}),
            json!({"fixed": {"amount": 5}}),
            "ask",
        ),
        (
            small(),
            json!({"amount": 5}),
            json!({"defaults": {"to": "evil"}}),
            "ask",
        ),
        (
            small(),
            json!({"amount": 5}),
            json!({"defaults": {"amount": 500}}),
            "approve r",
        ),
        (
            small(),
            json!({"amount": 5}),
            json!({"dropped_names": ["amount"]}),
            "ask",
        ),
        (
            small(),
            json!({"amount": 5}),
            json!({"injected_names": ["db"]}),
            "approve r",
        ),
        (
            small(),
            json!({"amount": 5}),
            json!({"injected_names": ["amount"]}),
            "ask",
        ),
        (
            small(),
            json!({"amount": 5}),
            json!({"coerced": {"amount": "5"}}),
            "ask",
        ),
        (
            small(),
            json!({"amount": 5}),
            json!({"coerced": ["amount"]}),
            "ask",
        ),
        (small(), json!({"amount": 5}), json!({"fixed": "?"}), "ask"),
        (
            json!({}),
            json!({"amount": 5}),
            json!({"fixed": {"amount": 6}}),
            "approve r",
        ),
        (
            json!({}),
            json!({"amount": 5}),
            json!({"fixed": {"to": "a\u{202e}b"}}),
            "ask",
        ),
        (
            json!({"when": "args.amount < 100"}),
            json!({"amount": 5}),
            json!({"fixed": {"amount": 500}}),
            "ask",
        ),
        (
            json!({"when": "risk == 'low'"}),
            json!({"amount": 5}),
            json!({"fixed": {"amount": 500}}),
            "approve r",
        ),
        (
            json!({"args_digest": digest}),
            json!({"amount": 5}),
            json!({"fixed": {"amount": 6}}),
            "ask",
        ),
        (
            json!({"args_digest": digest}),
            json!({"amount": 5}),
            json!({"fixed": {"amount": 5}}),
            "approve r",
        ),
        (
            json!({"sum": {"pointer": "/amount", "max": 100, "per": "1h"}}),
            json!({"amount": 5}),
            json!({"fixed": {"amount": 500}}),
            "ask r 1",
        ),
    ] {
        let rules = vec![rule("r", "approve", more.clone())];
        let found = judged(rules, &args, effective.clone());
        assert_eq!(found, says, "{more} {args} {effective}");
    }
}

#[test]
fn a_deny_or_an_ask_holds_for_the_arguments_at_the_gate_or_those_that_run() {
    let prod = json!({"args": {"/env": {"eq": "prod"}}});
    let when = json!({"when": "args.env == 'prod'"});
    for more in [&prod, &when] {
        for (args, effective, says) in [
            (
                json!({"env": "prod"}),
                json!({"fixed": {"env": "test"}}),
                "deny d",
            ),
            (
                json!({"env": "test"}),
                json!({"fixed": {"env": "prod"}}),
                "deny d",
            ),
            (
                json!({"env": "test"}),
                json!({"fixed": {"env": "dev"}}),
                "approve a",
            ),
            (
                json!({"env": "test"}),
                json!({"defaults": {"env": "prod"}}),
                "approve a",
            ),
            (json!({}), json!({"defaults": {"env": "prod"}}), "deny d"),
            (json!({"env": "test"}), json!({"fixed": 5}), "ask d 1"),
            (
                json!({"env": "test"}),
                json!({"coerced": ["env"]}),
                "ask d 1",
            ),
        ] {
            let rules = vec![
                rule("d", "deny", more.clone()),
                rule("a", "approve", json!({})),
            ];
            let found = judged(rules, &args, effective.clone());
            assert_eq!(found, says, "{more} {args} {effective}");
        }
    }
}

#[test]
fn what_nearly_matched_misses_one_thing_in_either() {
    let policy = set(vec![rule(
        "r",
        "approve",
        json!({"args": {"/a": {"eq": 1}, "/b": {"eq": 1}}}),
    )]);
    for (args, effective, near) in [
        (
            json!({"a": 1, "b": 1}),
            json!({"fixed": {"a": 2}}),
            Some("args./a"),
        ),
        (
            json!({"a": 2, "b": 1}),
            json!({"fixed": {"a": 3}}),
            Some("args./a"),
        ),
        (
            json!({"a": 2, "b": 1}),
            json!({"fixed": {"a": 1, "b": 2}}),
            None,
        ),
        (json!({"a": 2, "b": 1}), json!({"fixed": {"b": 2}}), None),
    ] {
        let effective = reported(effective);
        let asked = Asked {
            effective: Some(&effective),
            ..pay(&args)
        };
        let found = judge_in(&policy, &asked, |setting| setting.explain = true);
        let reported = found
            .near
            .first()
            .map(|near| near.matcher.word(&policy.rules()[0].rule));
        assert_eq!(reported.as_deref(), near, "{args}");
    }
}

#[test]
fn the_larger_amount_counts_and_no_card_drafts_what_would_not_cover_it() {
    let args = json!({"amount": 5});
    for (effective, amount) in [
        (json!({}), Some(5.0)),
        (json!({"fixed": {"amount": 7}}), Some(7.0)),
        (json!({"fixed": {"amount": 3}}), Some(5.0)),
        (json!({"fixed": {"amount": -3}}), None),
        (json!({"dropped_names": ["amount"]}), None),
    ] {
        let effective = reported(effective);
        let found = evaluate::amount(Some(&args), Some(&effective), "/amount");
        assert_eq!(found, amount, "{effective:?}");
        let asked = Asked {
            effective: Some(&effective),
            ..pay(&args)
        };
        let grant = draft::Grant::Until(noon().plus_ms(1_000));
        let drafted = draft::draft(&asked, grant, noon(), |_| false);
        let changes = effective != reported(json!({}));
        assert_eq!(drafted == Err(draft::DraftFault::Changed), changes);
    }
}
