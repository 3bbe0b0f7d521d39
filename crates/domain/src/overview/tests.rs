//! What is counted, and where.
#![allow(clippy::unwrap_used)]

use super::*;

fn counting(since: i64, until: i64, pieces: usize) -> Counting {
    Counting::over((Timestamp(since), Timestamp(until)), pieces).unwrap()
}

fn fact(stored: i64, state: State, verdict: &str, origin: &str, took: Option<i64>) -> Fact {
    Fact {
        agent: "acme/bot".into(),
        tool: Some("t".into()),
        fate: Fate {
            state,
            verdict: Some(verdict.into()),
            origin: Some(origin.into()),
            stored_at: Timestamp(stored),
            decided_at: took.map(|took| Timestamp(stored + took)),
        },
        front: None,
    }
}

#[test]
fn hasty_is_what_was_in_front_for_less_than_it_takes_to_read_however_long_it_waited() {
    let mut counted = counting(0, 100, 1);
    for (origin, waited, front) in [
        ("operator", 90_000, Some(1_999)),
        ("operator", 90_000, Some(0)),
        ("operator", 90_000, Some(2_000)),
        ("operator", 90_000, Some(9_000)),
        // By the command line, and at another console.
        ("operator", 1, None),
        ("rule", 0, None),
    ] {
        let front = front.map(|front_ms| InFront {
            front_ms,
            read_ms: 2_000,
        });
        counted.add(Fact {
            front,
            ..fact(1, State::Decided, "approve", origin, Some(waited))
        });
    }
    let seen = counted.finish();
    assert_eq!((seen.human, seen.in_window, seen.hasty), (5, 4, 2));
    assert_eq!(seen.front_ms, Some(1_999));
    assert_eq!(seen.pace.map(|pace| pace.median_ms), Some(90_000));
    assert_eq!(counting(0, 1, 1).finish().front_ms, None);
}

#[test]
fn each_request_is_counted_where_it_belongs() {
    let mut counted = counting(1_000, 1_200, 2);
    for (stored, state, verdict, origin, took) in [
        (999, State::Decided, "approve", "operator", Some(1)),
        (1_000, State::Decided, "approve", "operator", Some(1_999)),
        (1_099, State::Decided, "modify", "operator", Some(2_000)),
        (1_100, State::Decided, "deny", "rule", Some(5)),
        (1_150, State::Expired, "expired", "timeout", None),
        (1_199, State::Withdrawn, "withdrawn", "agent", None),
        (1_200, State::Decided, "approve", "operator", Some(1)),
    ] {
        counted.add(fact(stored, state, verdict, origin, took));
    }
    let seen = counted.finish();
    let volume = |arrived, allowed, denied, expired| Volume {
        arrived,
        allowed,
        denied,
        expired,
    };
    assert_eq!(seen.volume, [volume(2, 2, 0, 0), volume(3, 0, 1, 1)]);
    assert_eq!(
        (
            seen.human,
            seen.automatic,
            seen.hasty,
            seen.caught,
            seen.expired
        ),
        (2, 1, 0, 1, 1)
    );
    assert_eq!(seen.verdicts.iter().map(|(_, count)| count).sum::<u64>(), 5);
    let pace = seen
        .pace
        .map(|pace| (pace.decided, pace.median_ms, pace.p95_ms));
    assert_eq!(pace, Some((2, 1_999, 2_000)));
    assert_eq!(counting(0, 1, 1).finish().pace, None);
}

#[test]
fn half_and_ninety_five_of_a_hundred_took_no_longer() {
    let mut times: Vec<i64> = (1..=100).rev().collect();
    let found = pace(String::new(), None, &mut times).map(|pace| (pace.median_ms, pace.p95_ms));
    assert_eq!(found, Some((50, 95)));
}

#[test]
fn many_pairs_stay_bounded() {
    let mut counted = counting(0, 100, 1);
    for number in 0..2_000 {
        let tool = Some(format!("tool-{number}"));
        counted.add(Fact {
            tool,
            ..fact(1, State::Decided, "deny", "operator", Some(1))
        });
    }
    let seen = counted.finish();
    assert_eq!(seen.paces.len(), PAIRS + 1);
    assert_eq!(
        seen.paces.iter().map(|pace| pace.decided).sum::<u64>(),
        2_000
    );
}
