#![allow(clippy::unwrap_used, clippy::panic)]
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
    let mut queue = Queue::new(retry_s, Rest::new("soc", rest_s), (Vec::new(), false));
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
    assert_eq!(queue.changes.failing, Some(true), "one is lost still");
}

#[test]
fn the_alarm_of_dead_events_is_raised_for_each_and_ends_once_none_is_left() {
    let rest = || Rest::new("soc", &[1.]);
    let mut queue = Queue::new(&[], rest(), (Vec::new(), true));
    queue.push(vec![event(1, "a"), event(2, "b"), event(3, "c")]);
    let flying = seqs(&mut queue, 0);
    queue.done(&flying[0], Outcome::Taken, 0);
    assert_eq!(queue.changes.failing, None, "they are dead still");
    for next in &flying[1..] {
        queue.done(next, refused(), 0);
        let changes = std::mem::take(&mut queue.changes);
        assert_eq!(
            changes.failing,
            Some(true),
            "a person may have seen the last"
        );
    }
    let mut queue = Queue::new(&[], rest(), (Vec::new(), false));
    queue.push(vec![event(1, "a")]);
    let next = queue.next(0).unwrap();
    queue.done(&next, Outcome::Taken, 0);
    assert_eq!(queue.changes.failing, Some(false));
}

#[test]
fn what_is_sent_again_comes_before_what_is_kept_of_its_subject() {
    let kept = vec![waiting(&event(3, "a"), 0)];
    let mut queue = Queue::new(&[1.], Rest::new("soc", &[1.]), (kept, false));
    queue.push(vec![
        event(1, "a"),
        event(2, "a"),
        event(3, "a"),
        event(4, "a"),
    ]);
    for expected in 1..=4 {
        let next = queue.next(0).unwrap();
        assert_eq!((seq(&next), queue.next(0)), (expected, None));
        queue.done(&next, Outcome::Taken, 0);
    }
    assert_eq!((queue.next(0), queue.settled_to()), (None, None));
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
    assert!(queue.is_resting());
    let [kept] = queue.changes.kept.as_slice() else {
        panic!("{:?}", queue.changes);
    };
    assert_eq!(
        (kept.tries, kept.state.as_str(), kept.seq),
        (0, "retrying", 1)
    );
    assert_eq!(queue.settled_to(), Some(1), "the cursor goes on");
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
    let mut queue = Queue::new(&[1.], Rest::new("soc", &[1.]), (kept.collect(), false));
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
fn events_that_are_never_taken_hold_up_no_other_agent() {
    let subject = |n: i64| match n {
        601 => "acme/good/r".to_owned(),
        _ => format!("acme/evil/r{n}"),
    };
    let mut log = (1..=601).map(|n| event(n, &subject(n)));
    let mut queue = Queue::new(&[5.], Rest::new("soc", &[1.]), (Vec::new(), false));
    let (mut now, mut rests) = (0, 0);
    loop {
        // As the window is filled.
        if queue.len() <= 250 {
            queue.push(log.by_ref().take(500 - queue.len()).collect());
        }
        let Some(next) = queue.next(now) else {
            assert!(queue.is_resting());
            (now, rests) = (now + 1_200, rests + 1);
            assert!(rests < 6, "it does not come");
            continue;
        };
        if next.parts().1 == "acme/good/r" {
            queue.done(&next, Outcome::Taken, now);
            break;
        }
        queue.done(&next, refused(), now);
    }
    assert!(!queue.is_resting());
    assert_eq!(queue.settled_to(), Some(500), "those before it are kept");
    let kept: std::collections::BTreeSet<i64> =
        queue.changes.kept.iter().map(|kept| kept.seq).collect();
    assert!(kept.into_iter().eq(1..=500));
}

#[test]
fn an_event_whose_row_is_gone_ends_no_rest() {
    let mut queue = Queue::new(
        &[1.],
        Rest::new("soc", &[1.]),
        (vec![waiting(&event(1, "a"), 0)], false),
    );
    queue.push(vec![event(2, "b")]);
    let flying = seqs(&mut queue, 0);
    flying.iter().for_each(|next| queue.done(next, away(), 0));
    let probe = queue.next(1_200).unwrap();
    queue.done(&probe, Outcome::Missing, 1_200);
    assert_eq!(queue.changes.settled, ["evt_1"]);
    assert!(queue.is_resting() && queue.last_taken_at.is_none());
    assert_eq!(queue.next(1_200).as_ref().map(seq), Some(2));
}

#[test]
fn a_state_is_reported_once() {
    let mut queue = queue(&[1.], &[1.], &["a", "b"]);
    let flying = seqs(&mut queue, 0);
    queue.done(&flying[0], Outcome::Taken, 0);
    assert_eq!(std::mem::take(&mut queue.changes).failing, Some(false));
    queue.done(&flying[1], Outcome::Taken, 0);
    assert_eq!(queue.changes, Changes::default());
}

#[test]
fn a_clock_that_went_back_makes_no_rest_longer() {
    let mut queue = queue(&[1.], &[1.], &["a"]);
    let next = queue.next(1_000_000).unwrap();
    queue.done(&next, away(), 1_000_000);
    assert_eq!(queue.next(0), None);
    assert!(queue.next(1_200).is_some());
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
    let mut queue = Queue::new(&[1.], Rest::new("soc", &[1.]), (kept, false));
    queue.push(vec![event(1, "a"), event(2, "b")]);
    assert_eq!(queue.next(0).as_ref().map(seq), Some(2));
    assert!(queue.changes.kept.is_empty());
    assert_eq!(queue.next(50).as_ref().map(seq), Some(1));
}

/// What a feed has written, as it is read by the next start.
#[derive(Default)]
struct Table {
    kept: std::collections::BTreeMap<(i64, String), KeptEvent>,
    cursor: i64,
}

impl Table {
    fn write(&mut self, queue: &mut Queue, head: i64) {
        let changes = std::mem::take(&mut queue.changes);
        let kept = changes.kept.into_iter();
        self.kept
            .extend(kept.map(|kept| ((kept.seq, kept.id.clone()), kept)));
        self.kept
            .retain(|_, kept| !changes.settled.contains(&kept.id));
        self.cursor = queue.settled_to().unwrap_or(head);
    }

    fn start(&self, all: &[Event]) -> Queue {
        let (dead, kept): (Vec<_>, Vec<_>) = self
            .kept
            .values()
            .cloned()
            .partition(|kept| kept.state == "dead");
        let rest = Rest::new("soc", &[1.]);
        let mut queue = Queue::new(&[1., 2.], rest, (kept, !dead.is_empty()));
        let left = all.iter().filter(|event| event.seq > self.cursor);
        queue.push(left.cloned().collect());
        queue
    }
}

proptest! {
    /// A receiver that answers at random, also many calls at a time: each event is taken or dead in the end, in the order
    /// of its subject, and once but for what a start repeats.
    #[test]
    fn whatever_a_receiver_says_order_holds_and_nothing_is_lost(
        subjects in proptest::collection::vec(0_u8..4, 1..60),
        answers in proptest::collection::vec((0_u8..10, 0_usize..8), 40..400),
        restarts in proptest::collection::vec(0_usize..200, 0..3),
    ) {
        let name = |of: &u8| format!("acme/bot{}/r{of}", of % 2);
        let all: Vec<Event> = (1..).zip(&subjects).map(|(seq, of)| event(seq, &name(of))).collect();
        let mut table = Table::default();
        let mut queue = table.start(&all);
        let (mut now, mut answer) = (0, answers.into_iter());
        let mut flying: Vec<Next> = Vec::new();
        let mut runs: Vec<Vec<i64>> = vec![Vec::new()];
        for turn in 0.. {
            prop_assert!(turn < 20_000);
            if restarts.contains(&turn) {
                // What was written is all that is left, and the receiver may have taken what was under way.
                runs.last_mut().unwrap().extend(flying.drain(..).map(|next| seq(&next)));
                runs.push(Vec::new());
                queue = table.start(&all);
            }
            flying.extend(std::iter::from_fn(|| queue.next(now)));
            table.write(&mut queue, all.len() as i64);
            if flying.is_empty() {
                match queue.due_at() {
                    Some(at) => now = at.max(now + 1),
                    None => break,
                }
                continue;
            }
            let (says, which) = answer.next().unwrap_or((9, 0));
            let next = flying.remove(which % flying.len());
            let outcome = match says {
                0 | 1 => refused(),
                2 => away(),
                _ => Outcome::Taken,
            };
            if outcome == Outcome::Taken {
                runs.last_mut().unwrap().push(seq(&next));
            }
            queue.done(&next, outcome, now);
            table.write(&mut queue, all.len() as i64);
        }
        prop_assert!(table.kept.values().all(|kept| kept.state == "dead"));
        let taken: Vec<i64> = runs.iter().flatten().copied().collect();
        let is_dead = |seq| table.kept.values().any(|kept| kept.seq == seq);
        for event in &all {
            prop_assert!(taken.contains(&event.seq) || is_dead(event.seq), "{} is lost", event.seq);
        }
        for of in &subjects {
            let is_of = |seq: &&i64| all[(**seq - 1) as usize].subject == name(of);
            for run in &runs {
                let run: Vec<&i64> = run.iter().filter(is_of).collect();
                prop_assert!(run.is_sorted_by(|before, after| before < after), "{run:?}");
            }
            // None comes before the one before it came at least once.
            let mut newest = 0;
            for seq in taken.iter().filter(is_of) {
                let between = |event: &&Event| (newest + 1..*seq).contains(&event.seq) && event.subject == name(of);
                prop_assert!(all.iter().filter(between).all(|event| is_dead(event.seq)), "{taken:?}");
                newest = newest.max(*seq);
            }
        }
    }
}
