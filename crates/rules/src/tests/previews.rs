//! What a person is informed of a rule before it acts.

use countersign_wire::Verdict;

use super::*;
use crate::preview::{Preview, Tally};
use crate::what_if::{Past, Trial, what_if};

/// (amount, risk, what a person decided, whether it ran)
type Call = (Value, Risk, Option<Verdict>, bool);

fn preview(rule: Rule, calls: &[Call]) -> Preview {
    let policy = set(vec![rule]);
    let conditions = Conditions::default();
    let mut trial = Trial::new(&policy, &conditions);
    let mut tally = Tally::default();
    for ((amount, risk, person, ran), row) in calls.iter().zip(0..) {
        let args = json!({ "amount": amount });
        let asked = Asked {
            risk: *risk,
            ..pay(&args)
        };
        let past = Past {
            asked: &asked,
            request: row,
            request_id: "r",
            at: noon(),
            person: *person,
            ran: *ran,
            waits: person.is_none() && !ran,
            strict: *risk == Risk::High,
        };
        tally.add(&past, &what_if(None, &mut trial, &past).after);
    }
    tally.finish()
}

#[test]
fn an_approve_is_held_against_what_people_decided_and_what_nobody_saw() {
    use Verdict::{Approve, Deny, Modify};
    let small = || {
        rule(
            "r",
            "approve",
            json!({"args": {"/amount": {"lt": 50}}, "limit": {"count": 6, "per": "1h"}}),
        )
    };
    let found = preview(
        small(),
        &[
            (json!(1), Risk::Low, Some(Approve), true),
            (json!(2), Risk::Low, Some(Modify), true),
            (json!(3), Risk::High, None, false),
            (json!(4), Risk::Low, Some(Deny), false),
            (json!(90), Risk::Low, Some(Deny), false),
            (json!("5"), Risk::Low, None, false),
            (json!(6), Risk::Low, None, true),
            (json!(7), Risk::High, Some(Approve), true),
            (json!(8), Risk::Low, Some(Approve), true),
        ],
    );
    assert_eq!(
        (found.total, found.approve, found.ask, found.deny),
        (9, 6, 1, 0)
    );
    assert_eq!(
        (found.agreed, found.denied, found.refused, found.unseen),
        (3, 1, 0, 2)
    );
    assert_eq!(found.waiting, 1, "the other was let run by a rule");
    assert_eq!(
        found.strict,
        Some(7),
        "the newest that takes every step, of those that it approves"
    );
    assert_eq!((found.newly_high, found.newly_critical), (1, 0));
    assert_eq!(
        found
            .flips
            .iter()
            .map(|case| case.request)
            .collect::<Vec<_>>(),
        [3]
    );
    assert_eq!(
        found
            .newly
            .iter()
            .map(|case| case.request)
            .collect::<Vec<_>>(),
        [2]
    );
    assert_eq!(found.samples[0].request, 8, "the newest first");
    assert_eq!(found.unsure, 1);
    assert!(found.unsure_why.unwrap().contains("its type is not"));
}

#[test]
fn a_deny_is_held_against_what_people_let_run() {
    let found = preview(
        rule("r", "deny", json!({"tool": ["pay"]})),
        &[
            (json!(1), Risk::Low, Some(Verdict::Approve), true),
            (json!(2), Risk::Low, Some(Verdict::Deny), false),
            (json!(3), Risk::Low, None, false),
        ],
    );
    assert_eq!(
        (found.deny, found.agreed, found.refused, found.denied),
        (3, 1, 1, 0)
    );
    assert_eq!(
        (found.flips[0].request, found.flips[0].rule),
        (0, Effect::Deny)
    );
}
