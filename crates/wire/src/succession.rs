//! Which of two values under one key of the shared policy came later, by the times that both were signed with
//! (protocol, section 8).
//!
//! A value that was signed before the one in force is stale: its bytes and signature stay good for ever, and whoever
//! may write the bucket can store them again.

use time::{Duration, OffsetDateTime};

use crate::Timestamp;

/// Signers know the server's time by an estimate. One who signed for a day far ahead would have the last word.
const AHEAD: Duration = Duration::seconds(60);

/// Whether a value that was signed at `next` and stored at `stored_at` is newer than the one in force, which was signed
/// at `known`. Of two without a time the order of the bucket counts.
pub fn is_newer_than(
    known: Option<Timestamp>,
    next: Option<Timestamp>,
    stored_at: OffsetDateTime,
) -> bool {
    let Some(next) = next else {
        return known.is_none();
    };
    known.is_none_or(|known| known < next) && is_timely(known, next, stored_at)
}

/// Whether a value was signed no further ahead of the server's time, or of the value in force, than clocks differ.
pub fn is_timely(
    known: Option<Timestamp>,
    signed_at: Timestamp,
    stored_at: OffsetDateTime,
) -> bool {
    let latest = known.map_or(stored_at, |known| known.get().max(stored_at));
    signed_at.get() - latest <= AHEAD
}

/// The time with which a writer signs: its own, and later than that of what it replaces.
pub fn time_to_sign(now: Timestamp, replaced: Option<Timestamp>) -> Timestamp {
    let next = replaced.and_then(|at| Timestamp::from_unix_millis(at.unix_millis() + 1));
    next.map_or(now, |next| next.max(now))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn at(text: &str) -> Option<Timestamp> {
        (!text.is_empty()).then(|| format!("2026-11-22T{text}Z").parse().unwrap())
    }

    #[test]
    fn a_value_comes_after_another_by_what_was_signed_and_by_nothing_else() {
        let stored = at("12:00:00").unwrap().get();
        for (known, next, comes_after) in [
            ("", "", true),
            ("", "11:00:00", true),
            ("11:00:00", "", false),
            ("11:00:00", "11:00:00.001", true),
            ("11:00:00", "11:00:00", false),
            ("11:00:00", "10:59:59.999", false),
            ("", "12:01:00", true),
            ("", "12:01:00.001", false),
            ("11:00:00", "12:01:00.001", false),
            ("12:30:00", "12:30:00.001", true),
            ("12:30:00", "12:31:00", true),
            ("12:30:00", "12:31:00.001", false),
        ] {
            let is = is_newer_than(at(known), at(next), stored);
            assert_eq!(is, comes_after, "{known:?} {next:?}");
        }
    }

    #[test]
    fn what_a_writer_signs_comes_after_what_it_replaces_whatever_its_clock_says() {
        let last = Timestamp::from_unix_millis(253_402_300_799_999).unwrap();
        for (now, replaced, signed) in [
            ("12:00:00", "", "12:00:00"),
            ("12:00:00", "11:00:00", "12:00:00"),
            ("12:00:00", "12:00:00", "12:00:00.001"),
            ("12:00:00", "12:00:30", "12:00:30.001"),
            ("12:00:00", "12:00:00.0005", "12:00:00.001"),
        ] {
            let got = time_to_sign(at(now).unwrap(), at(replaced));
            assert_eq!(Some(got), at(signed), "{now} {replaced}");
        }
        let now = at("12:00:00").unwrap();
        assert_eq!(
            time_to_sign(now, Some(last)),
            now,
            "no year comes after 9999"
        );
        let stored = now.get();
        assert!(
            !is_newer_than(None, Some(last), stored),
            "and nobody comes that far"
        );
    }
}
