//! Limits, sums and their windows.

use super::*;
use crate::what_if::{Situation, Trial};

#[test]
fn past_its_limit_or_its_sum_a_rule_asks() {
    let args = json!({"amount": 10});
    let policy = set(vec![
        rule(
            "r",
            "approve",
            json!({
                "limit": {"count": 3, "per": "1h"},
                "sum": {"pointer": "/amount", "max": 100, "per": "1h"},
            }),
        ),
        rule("zz", "approve", json!({})),
    ]);
    for (count, sum, wanted) in [
        (0, 0.0, "approve r"),
        (2, 90.0, "approve r"),
        (3, 0.0, "ask r 1"),
        (0, 90.1, "ask r 1"),
    ] {
        let uses: Uses = [("r".to_owned(), Used { count, sum })].into();
        let conditions = Conditions::default();
        let setting = Setting {
            now: noon(),
            approves_off: None,
            author_may: true,
            bypass: None,
            uses: &uses,
            explain: false,
            conditions: &conditions,
        };
        let found = evaluate(&policy, &pay(&args), &setting);
        assert_eq!(word(&policy, &found), wanted, "{count} {sum}");
    }
}

#[test]
fn a_limited_rule_of_which_nothing_is_known_asks_and_says_so() {
    let args = json!({"amount": 10});
    let policy = set(vec![rule(
        "r",
        "approve",
        json!({"limit": {"count": 3, "per": "1h"}}),
    )]);
    let uses = Uses::new();
    let conditions = Conditions::default();
    let setting = Setting {
        now: noon(),
        approves_off: None,
        author_may: true,
        bypass: None,
        uses: &uses,
        explain: false,
        conditions: &conditions,
    };
    let found = evaluate(&policy, &pay(&args), &setting);
    assert_eq!(word(&policy, &found), "ask r 1");
    assert_eq!(found.unknown_uses, [0]);
}

#[test]
fn an_amount_that_cannot_count_asks() {
    let sum = json!({"sum": {"pointer": "/amount", "max": 100, "per": "1h"}});
    let policy = set(vec![rule("r", "approve", sum)]);
    for args in [
        json!({"amount": -1}),
        json!({"amount": "10"}),
        json!({"amount": null}),
        json!({"amount": [1]}),
        json!({}),
    ] {
        let found = judge(&policy, &pay(&args));
        assert_eq!(word(&policy, &found), "ask r 1", "{args}");
        assert_eq!(found.troubles, [(0, Trouble::Amount)]);
    }
}

#[test]
fn a_window_lets_go_of_what_is_older() {
    let policy = set(vec![rule(
        "r",
        "approve",
        json!({"limit": {"count": 2, "per": "1m"}}),
    )]);
    let conditions = Conditions::default();
    let mut trial = Trial::new(&policy, &conditions);
    let args = json!({"amount": 10});
    let asked = pay(&args);
    let mut decided = Vec::new();
    for second in [0, 10, 20, 59, 60, 61, 69, 70, 200] {
        let at = noon().plus_ms(second * 1_000);
        let found = trial.judge(&asked, &Situation::plain(at));
        decided.push((second, word(&policy, &found)));
    }
    let approved: Vec<i64> = decided
        .iter()
        .filter(|(_, word)| word == "approve r")
        .map(|(second, _)| *second)
        .collect();
    assert_eq!(approved, [0, 10, 60, 70, 200]);
}

#[test]
fn what_a_rule_approved_before_the_walk_counts_once_it_is_known() {
    let policy = set(vec![rule(
        "r",
        "approve",
        json!({"limit": {"count": 3, "per": "1m"}, "sum": {"pointer": "/amount", "max": 45, "per": "1m"}}),
    )]);
    let conditions = Conditions::default();
    let mut trial = Trial::uncounted(&policy, &conditions);
    let args = json!({"amount": 10});
    let asked = pay(&args);
    let situation = Situation::plain(noon());
    let unknown = trial.judge(&asked, &situation);
    assert_eq!(
        (
            unknown.unknown_uses.as_slice(),
            word(&policy, &unknown).as_str()
        ),
        (&[0][..], "ask r 1")
    );
    trial.count(
        0,
        Used {
            count: 1,
            sum: 20.0,
        },
    );
    let words: Vec<String> = (0..3)
        .map(|_| word(&policy, &trial.judge(&asked, &situation)))
        .collect();
    assert_eq!(words, ["approve r", "approve r", "ask r 1"]);
}

#[test]
fn a_limit_is_no_condition_of_the_other_rules() {
    let args = json!({"amount": 10});
    let policy = set(vec![rule(
        "r",
        "deny",
        json!({"args": {"/amount": {"gt": 5}}}),
    )]);
    assert_eq!(word(&policy, &judge(&policy, &pay(&args))), "deny r");
    let instead = Says::Ask {
        approvals: 1,
        instead: Some(Instead::Limit),
    };
    assert_ne!(instead, Says::Approve);
}

#[test]
fn a_call_that_is_judged_again_because_of_a_shadow_rule_counts_once() {
    let limit = json!({"count": 2, "per": "1m"});
    let policy = set(vec![
        rule("r", "approve", json!({"limit": limit})),
        rule("s", "approve", json!({"limit": limit, "enabled": "shadow"})),
    ]);
    let conditions = Conditions::default();
    let mut trial = Trial::uncounted(&policy, &conditions);
    trial.count(0, Used::default());
    let args = json!({"amount": 10});
    let (asked, situation) = (pay(&args), Situation::plain(noon()));
    let unknown = trial.judge(&asked, &situation);
    assert_eq!(unknown.unknown_uses, [1]);
    trial.count(1, Used::default());
    let words: Vec<String> = (0..3)
        .map(|_| word(&policy, &trial.judge(&asked, &situation)))
        .collect();
    assert_eq!(words, ["approve r", "approve r", "ask r 1"]);
}
