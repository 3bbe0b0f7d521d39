//! How long an approval is held back so that it can be undone.

use super::Timestamp;

/// The longest hold (the operator's desk, "Deciding").
pub const LONGEST_HOLD_MS: i64 = 3_000;

/// When an approval given at `now` is released: after three seconds or half the time left, whichever
/// is sooner, so that a hold can never eat the deadline.
#[must_use]
pub fn release_at(now: Timestamp, deadline: Timestamp) -> Timestamp {
    let half_left = deadline.since_ms(now).max(0) / 2;
    now.plus_ms(half_left.min(LONGEST_HOLD_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_ends_before_the_deadline_and_within_three_seconds() {
        for (left, hold) in [
            (60_000, 3_000),
            (6_000, 3_000),
            (5_000, 2_500),
            (1, 0),
            (0, 0),
            (-9, 0),
        ] {
            let now = Timestamp(1_000_000);
            assert_eq!(
                release_at(now, now.plus_ms(left)),
                now.plus_ms(hold),
                "{left} ms left"
            );
        }
    }
}
