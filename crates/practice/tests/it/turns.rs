//! When a card may come.

use countersign_practice::{MOST_WAITING, Queue, SOON_MS, Turns};
use rand::SeedableRng;
use rand::rngs::StdRng;

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
        let queue = Queue { waiting, first_due };
        assert_eq!(queue.has_room(NOW), room, "{queue:?}");
    }
}

#[test]
fn about_one_card_in_n_is_practice() {
    let mut rng = StdRng::seed_from_u64(7);
    for one_in in [2, 10, 40] {
        let mut turns = Turns::default();
        let real = 40_000;
        let mut practice = 0;
        for _ in 0..real {
            turns.arrived(1, one_in, &mut rng);
            practice += u32::from(turns.take(Queue::default(), NOW));
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
    let mut rng = StdRng::seed_from_u64(7);
    let mut turns = Turns::default();
    turns.arrived(1_000, 2, &mut rng);
    let full = Queue {
        waiting: 51,
        first_due: None,
    };
    assert!(!turns.take(full, NOW));
    assert!(turns.take(Queue::default(), NOW));
    assert!(!turns.take(Queue::default(), NOW));
}
