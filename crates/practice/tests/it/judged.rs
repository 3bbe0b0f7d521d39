//! What a verdict on a card is worth.

use countersign_practice::{Answer, ApprovedCall, Outcome, PracticeCard, make};
use serde_json::{Value, json};

fn card(changed: bool) -> PracticeCard {
    let call = ApprovedCall {
        key: "acme/payer/req-71".to_owned(),
        tool: "pay".to_owned(),
        args: json!({"payee": "Hallberg", "iban": "DE89370400440532013000", "amount": 1250}),
    };
    (0..100)
        .filter_map(|seed| make(std::slice::from_ref(&call), seed))
        .find(|card| card.change().is_some() == changed)
        .unwrap()
}

#[test]
fn denied_skipped_or_edited_right_is_caught_and_approved_is_missed() {
    let card = card(true);
    let right = card.source().args.clone();
    let as_shown = card.args().clone();
    let mut otherwise = as_shown.clone();
    otherwise["note"] = Value::from("seen");
    let mut right_and_more = right.clone();
    right_and_more["note"] = Value::from("seen");
    for (answer, outcome) in [
        (Answer::Refused, Outcome::Caught),
        (Answer::Approved, Outcome::Missed),
        (Answer::Edited(&right), Outcome::Caught),
        (Answer::Edited(&right_and_more), Outcome::Caught),
        (Answer::Edited(&as_shown), Outcome::Missed),
        (Answer::Edited(&otherwise), Outcome::Missed),
    ] {
        assert_eq!(card.judge(answer), outcome, "{answer:?}");
    }
}

#[test]
fn refusing_an_unchanged_card_is_a_false_alarm() {
    let card = card(false);
    let edited = json!({});
    for (answer, outcome) in [
        (Answer::Refused, Outcome::FalseAlarm),
        (Answer::Approved, Outcome::Passed),
        (Answer::Edited(&edited), Outcome::Passed),
    ] {
        assert_eq!(card.judge(answer), outcome, "{answer:?}");
    }
}

#[test]
fn every_outcome_reads_back() {
    for outcome in [
        Outcome::Caught,
        Outcome::Missed,
        Outcome::FalseAlarm,
        Outcome::Passed,
    ] {
        assert_eq!(Outcome::parse(outcome.as_str()), Some(outcome));
    }
}
