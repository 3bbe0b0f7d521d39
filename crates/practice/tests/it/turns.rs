//! When a card may come.

use countersign_practice::{MOST_WAITING, Queue, SOON_MS, Turns};

const NOW: i64 = 1_000_000_000;

#[test]
fn none_comes_while_a_real_card_is_due_soon_or_too_many_wait() {
    let due = |in_ms: i64| Some(NOW + in_ms);
    for (waiting, first_due, room) in [
        (0, None, true),
        (1, due(SOON_MS + 1), true),
        (1, due(SOON_MS), false),
        (1, due(1), false),
        (1, due(-1), false),
        (MOST_WAITING, due(SOON_MS * 10), true),
        (MOST_WAITING + 1, due(SOON_MS * 10), false),
        (MOST_WAITING + 1, None, false),
    ] {
        let queue = Queue {
            waiting,
            first_due,
            last_due: None,
        };
        assert_eq!(queue.has_room(NOW), room, "{queue:?}");
    }
}

#[test]
fn about_one_card_in_n_is_practice() {
    for one_in in [2, 10, 40] {
        let mut turns = Turns::new(7);
        let real = 40_000;
        let mut practice = 0;
        for _ in 0..real {
            turns.arrived(1, one_in);
            practice += u32::from(turns.take(Queue::default(), NOW).is_some());
        }
        let share = f64::from(real + practice) / f64::from(practice);
        assert!(
            (share / f64::from(one_in) - 1.0).abs() < 0.1,
            "{share} of {one_in}"
        );
    }
}

#[test]
fn what_had_no_room_comes_later_and_once() {
    let mut turns = Turns::new(7);
    turns.arrived(1_000, 2);
    let full = Queue {
        waiting: 51,
        ..Queue::default()
    };
    assert_eq!(turns.take(full, NOW), None);
    assert!(turns.owes());
    assert!(turns.take(Queue::default(), NOW).is_some());
    assert_eq!(turns.take(Queue::default(), NOW), None);
}
