#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

fn event(seq: i64, subject: &str) -> Event {
    Event {
        id: format!("evt_{seq}"),
        seq,
        kind: "audit.request".to_owned(),
        subject: subject.to_owned(),
        workspace: None,
        at: String::new(),
        body: String::new(),
    }
}

fn queue(retry_s: &[f64], rest_s: &[f64], subjects: &[&str]) -> Queue {
    let mut queue = Queue::new(retry_s, Rest::new("soc", rest_s), Vec::new());
    let events = (1..)
        .zip(subjects)
        .map(|(seq, subject)| event(seq, subject));
    queue.push(events.collect());
    queue
}

fn seqs(queue: &mut Queue, now: i64) -> Vec<Next> {
    std::iter::from_fn(|| queue.next(now)).collect()
}

fn seq(next: &Next) -> i64 {
    next.parts().2
}

fn refused() -> Outcome {
    Outcome::Refused("400".to_owned())
}

fn away() -> Outcome {
    Outcome::Away("503".to_owned(), None)
}

#[test]
fn eight_fly_at_a_time_and_one_of_a_subject() {
    let mut queue = queue(
        &[1.],
        &[1.],
        &["a", "a", "b", "c", "d", "e", "f", "g", "h", "i"],
    );
    let flying = seqs(&mut queue, 0);
    assert_eq!(
        flying.iter().map(seq).collect::<Vec<_>>(),
        [1, 3, 4, 5, 6, 7, 8, 9]
    );
    queue.done(&flying[1], Outcome::Taken, 0);
    assert_eq!(queue.settled_to(), Some(0), "the first is not settled");
    assert_eq!(queue.next(0).as_ref().map(seq), Some(10));
    queue.done(&flying[0], Outcome::Taken, 0);
    assert_eq!(queue.settled_to(), Some(1));
    assert_eq!(
        queue.next(0).as_ref().map(seq),
        Some(2),
        "it waited for the one before it"
    );
}

#[test]
fn a_refused_event_is_tried_after_each_pause_and_then_is_dead() {
    let mut queue = queue(&[10., 100.], &[1.], &["a", "a", "b"]);
    let flying = seqs(&mut queue, 0);
    queue.done(&flying[0], refused(), 0);
    queue.done(&flying[1], Outcome::Taken, 0);
    assert_eq!(queue.next(0), None, "the second one about it waits");
    assert_eq!(
        queue.settled_to(),
        None,
        "both are kept, so the cursor goes on"
    );
    assert_eq!(queue.changes.kept.len(), 2);
    assert_eq!(
        (queue.changes.kept[0].tries, queue.changes.kept[1].tries),
        (1, 0)
    );
    let mut now = 0;
    for (tries, seconds) in [(2, 10), (3, 100)] {
        assert_eq!(queue.next(now + seconds * 800 - 1), None);
        now += seconds * 1_200;
        let next = queue.next(now).unwrap();
        assert_eq!(seq(&next), 1);
        queue.changes = Changes::default();
        queue.done(&next, refused(), now);
        assert_eq!(queue.changes.kept[0].tries, tries);
    }
    let dead = &queue.changes.kept[0];
    assert_eq!(
        (dead.state.as_str(), dead.last_error.as_deref()),
        ("dead", Some("400"))
    );
    assert_eq!(queue.changes.failing, Some(true));
    let next = queue.next(now).unwrap();
    assert_eq!(seq(&next), 2, "the one behind a dead one is sent");
    queue.done(&next, Outcome::Taken, now);
    assert_eq!(queue.changes.settled, ["evt_2"]);
    assert_eq!(queue.changes.failing, Some(false));
}

#[test]
fn a_rest_tries_the_oldest_alone_and_ends_for_all_with_the_first_that_is_taken() {
    let mut queue = queue(&[1.], &[1., 10.], &["a", "b", "c"]);
    let flying = seqs(&mut queue, 0);
    flying.iter().for_each(|next| queue.done(next, away(), 0));
    assert!(queue.is_resting());
    assert_eq!(queue.next(799), None);
    let probe = queue.next(1_200).unwrap();
    assert_eq!((seq(&probe), queue.next(1_200)), (1, None));
    assert_eq!(queue.changes.failing, None);
    queue.done(&probe, away(), 1_200);
    assert_eq!(queue.changes.failing, Some(true), "at the last pause");
    assert_eq!(queue.next(1_200 + 7_999), None);
    let probe = queue.next(1_200 + 12_000).unwrap();
    // A try that ends a rest never makes an event dead.
    queue.done(&probe, refused(), 13_200);
    assert!(queue.changes.kept.is_empty() && queue.is_resting());
    let probe = queue.next(13_200 + 12_000).unwrap();
    assert_eq!(seq(&probe), 2, "the receiver may never take the first one");
    queue.done(&probe, Outcome::Taken, 30_000);
    assert_eq!(queue.changes.failing, Some(false));
    assert_eq!(seqs(&mut queue, 30_000).len(), 2);
}

#[test]
fn retry_after_makes_a_pause_longer_up_to_an_hour() {
    for (asked_ms, until) in [(500, 800), (5_000, 5_000), (90_000_000, 3_600_000)] {
        let mut queue = queue(&[1.], &[1.], &["a"]);
        let next = queue.next(0).unwrap();
        queue.done(&next, Outcome::Away("429".to_owned(), Some(asked_ms)), 0);
        assert_eq!(queue.next(until - 1), None);
        assert!(queue.next(until.max(1_200)).is_some());
    }
}

#[test]
fn twenty_refusals_in_a_row_are_away() {
    let subjects: Vec<String> = (0..30).map(|n| n.to_string()).collect();
    let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
    let mut queue = queue(&[1_000.], &[1.], &subjects);
    for _ in 0..19 {
        let next = queue.next(0).unwrap();
        queue.done(&next, refused(), 0);
    }
    assert!(!queue.is_resting());
    let next = queue.next(0).unwrap();
    queue.done(&next, refused(), 0);
    assert!(queue.is_resting());
    let probe = queue.next(1_200).unwrap();
    assert_eq!(seq(&probe), 1, "the oldest, before its own time");
    queue.done(&probe, Outcome::Taken, 1_200);
    assert_eq!(queue.next(1_200).as_ref().map(seq), Some(21));
}

#[test]
fn ten_thousand_kept_events_are_away_and_no_more_are_kept() {
    let kept = (1..=9_999).map(|n| KeptEvent {
        due_at: i64::MAX,
        ..waiting(&event(n, &n.to_string()), 0)
    });
    let mut queue = Queue::new(&[1.], Rest::new("soc", &[1.]), kept.collect());
    queue.push(vec![
        event(20_000, "x"),
        event(20_001, "x"),
        event(20_002, "x"),
    ]);
    let next = queue.next(0).unwrap();
    queue.done(&next, refused(), 0);
    assert!(queue.is_resting());
    assert_eq!(queue.len(), 2, "they wait in the log");
}

#[test]
fn status_410_ends_it() {
    let mut queue = queue(&[1.], &[1.], &["a"]);
    let next = queue.next(0).unwrap();
    queue.done(&next, Outcome::Gone, 0);
    assert!(queue.is_gone);
    assert_eq!(
        (queue.changes.failing, queue.settled_to()),
        (Some(true), Some(0))
    );
}

#[test]
fn an_event_that_is_kept_and_sent_again_is_kept_once() {
    let kept = vec![KeptEvent {
        due_at: 50,
        ..waiting(&event(1, "a"), 0)
    }];
    let mut queue = Queue::new(&[1.], Rest::new("soc", &[1.]), kept);
    queue.push(vec![event(1, "a"), event(2, "b")]);
    assert_eq!(queue.next(0).as_ref().map(seq), Some(2));
    assert!(queue.changes.kept.is_empty());
    assert_eq!(queue.next(50).as_ref().map(seq), Some(1));
}

proptest! {
    /// A receiver that answers at random: each event is taken or dead in the end, in the order of its subject.
    #[test]
    fn whatever_a_receiver_says_order_holds_and_nothing_is_lost(
        subjects in proptest::collection::vec(0_u8..4, 1..60),
        answers in proptest::collection::vec(0_u8..10, 40..400),
        restarts in proptest::collection::vec(0_usize..200, 0..3),
    ) {
        let names: Vec<String> = subjects.iter().map(u8::to_string).collect();
        let all: Vec<Event> = (1..).zip(&names).map(|(seq, name)| event(seq, name)).collect();
        let mut queue = Queue::new(&[1., 2.], Rest::new("soc", &[1.]), Vec::new());
        queue.push(all.clone());
        let mut table: std::collections::BTreeMap<(i64, String), KeptEvent> = Default::default();
        let (mut now, mut answer, mut cursor) = (0, answers.into_iter(), 0);
        let mut taken: Vec<i64> = Vec::new();
        for turn in 0.. {
            prop_assert!(turn < 20_000);
            if restarts.contains(&turn) {
                // What was written is all that is left.
                let kept = table.values().cloned().collect();
                queue = Queue::new(&[1., 2.], Rest::new("soc", &[1.]), kept);
                queue.push(all.iter().filter(|event| event.seq > cursor).cloned().collect());
            }
            let Some(next) = queue.next(now) else {
                match queue.due_at() {
                    Some(at) => now = at.max(now + 1),
                    None => break,
                }
                continue;
            };
            let outcome = match answer.next().unwrap_or(9) {
                0 | 1 => refused(),
                2 => away(),
                _ => Outcome::Taken,
            };
            if outcome == Outcome::Taken {
                taken.push(seq(&next));
            }
            queue.done(&next, outcome, now);
            let changes = std::mem::take(&mut queue.changes);
            for kept in changes.kept {
                table.insert((kept.seq, kept.id.clone()), kept);
            }
            table.retain(|_, kept| !changes.settled.contains(&kept.id));
            cursor = queue.settled_to().unwrap_or(all.len() as i64);
        }
        let dead: Vec<i64> = table.values().filter(|kept| kept.state == "dead").map(|kept| kept.seq).collect();
        prop_assert_eq!(table.len(), dead.len());
        for event in &all {
            prop_assert!(taken.contains(&event.seq) || dead.contains(&event.seq), "{} is lost", event.seq);
        }
        for name in &names {
            let of: Vec<i64> = taken.iter().copied().filter(|seq| &all[(*seq - 1) as usize].subject == name).collect();
            prop_assert!(of.is_sorted(), "{of:?}");
        }
    }
}
