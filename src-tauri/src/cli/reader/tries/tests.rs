#![allow(clippy::unwrap_used)]
use std::collections::BTreeSet;

use countersign_core::domain::reader::ReaderMark;

use super::*;

fn mark(at: &str) -> Result<Answer, ReaderFault> {
    let mark = ReaderMark {
        at: at.to_owned(),
        code: "other".to_owned(),
        message: "m".to_owned(),
    };
    Ok(Answer {
        marks: vec![mark],
        ..Answer::default()
    })
}

#[test]
fn twelve_cards_of_six_lines_of_work_are_half_bad_at_a_place_that_is_there() {
    let cards = made_up();
    assert_eq!(cards.len(), 12);
    let tools: BTreeSet<String> = cards
        .iter()
        .map(|made| serde_json::from_str::<Value>(&made.card.text).unwrap()["tool"].to_string())
        .collect();
    assert_eq!(tools.len(), 6);
    assert_eq!(cards.iter().filter(|made| !made.bad.is_empty()).count(), 6);
    for made in &cards {
        for at in &made.bad {
            assert!(made.card.args.pointer(at).is_some(), "{at}");
        }
    }
}

#[test]
fn a_score_counts_places_false_marks_and_failures_apart() {
    let cards = made_up();
    let (bad, good) = (&cards[0], &cards[1]);
    let mut score = Score::default();
    score.add(bad, 3.0, &mark(&bad.bad[0]));
    score.add(bad, 1.0, &mark("/file"));
    score.add(bad, 2.0, &Ok(Answer::default()));
    score.add(good, 9.0, &mark("/file"));
    score.add(good, 1.0, &Ok(Answer::default()));
    score.add(good, 1.0, &Err(ReaderFault::Timeout));
    assert_eq!(
        (score.found, score.of, score.false_marks, score.of_good),
        (1, 3, 1, 3)
    );
    assert_eq!(
        (score.failed, score.why, score.seconds_p50()),
        (1, Some("timeout"), Some(2.0))
    );
}
