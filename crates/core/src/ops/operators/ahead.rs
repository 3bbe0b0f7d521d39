//! Corrects terms that were ended by a clock that was ahead.
//!
//! The server's clock is the limit: what ends, ends now by it. While that clock is wrongly set back, an end that was
//! right lies ahead of it by less than a day and is moved to before what the key decided meanwhile.

use countersign_wire::{OperatorEntry, OperatorList, PublicKey};

use crate::domain::Timestamp;

/// More than clocks differ, and than a key that hands over counts on.
const ENDED_AHEAD_MS: i64 = 60_000;
const WRONG_BY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Ends now what a clock that was ahead has ended later than that: whoever gave a key up gave it up then. A key whose
/// next term was to begin there has that term from now on. False where no end lies ahead.
pub(super) fn end_what_was_ended(list: &mut OperatorList, now: Timestamp) -> bool {
    let mut ended: Vec<PublicKey> = Vec::new();
    for entry in &mut list.operators {
        if is_ended_ahead(entry, now) {
            entry.until = Some(wire(now));
            ended.push(entry.key.clone());
        }
    }
    ended.dedup();
    for key in &ended {
        let last = list.operators.iter().rfind(|entry| entry.key == *key);
        let next = last.filter(|last| last.until.is_none() && !last.counts_at(now.into()));
        list.operators
            .extend(next.cloned().map(|next| OperatorEntry {
                from: wire(now),
                ..next
            }));
    }
    !ended.is_empty()
}

/// Whether an end was set while the server's clock was ahead: nobody sets one that lies far ahead. One that lies
/// further ahead than clocks are wrong by their zone says that the clock is wrong now.
pub(super) fn is_ended_ahead(entry: &OperatorEntry, now: Timestamp) -> bool {
    entry.until.is_some_and(|until| {
        let ahead = until.unix_millis() - now.0;
        (ENDED_AHEAD_MS..WRONG_BY_MS).contains(&ahead)
    })
}

fn wire(at: Timestamp) -> countersign_wire::Timestamp {
    countersign_wire::Timestamp::new(at.into())
}

#[cfg(test)]
mod tests {
    use countersign_wire::{KeyRole, Risk};
    use nkeys::KeyPair;

    use super::*;

    fn key() -> PublicKey {
        PublicKey::of(&KeyPair::new_user()).unwrap()
    }

    #[test]
    fn what_a_clock_that_was_ahead_has_ended_ends_when_the_clock_is_right_again() {
        let (minute, hour, now) = (60_000, 3_600_000, Timestamp(1_000_000_000));
        let at = |offset: i64| wire(now.plus_ms(offset));
        let term = |from: i64, until: Option<i64>, max_risk| OperatorEntry {
            until: until.map(at),
            max_risk,
            ..OperatorEntry::new(key(), "x".into(), KeyRole::Human, at(from))
        };
        let low = Some(Risk::Low);
        for (what, terms, in_force) in [
            ("retired", vec![term(-hour, Some(hour), None)], None),
            ("long ago", vec![term(-hour, Some(-minute), None)], None),
            (
                "hands over",
                vec![term(-hour, Some(2_000), None)],
                Some(None),
            ),
            (
                "the clock is wrong now",
                vec![term(-hour, Some(24 * hour), None)],
                Some(None),
            ),
            (
                "limited",
                vec![term(-hour, Some(hour), None), term(hour, None, low)],
                Some(low),
            ),
            (
                "limited and retired",
                vec![term(-hour, Some(hour), None), term(hour, Some(hour), low)],
                None,
            ),
        ] {
            let one = key();
            let named = |term: OperatorEntry| OperatorEntry {
                key: one.clone(),
                ..term
            };
            let before = OperatorList::new(terms.into_iter().map(named).collect());
            let mut list = before.clone();
            let changed = end_what_was_ended(&mut list, now);
            let counts = list.terms_at(one.as_str(), now.into()).last();
            assert_eq!(counts.map(|term| term.max_risk), in_force, "{what}");
            assert_eq!(changed, list != before, "{what}");
            assert!(!end_what_was_ended(&mut list, now), "once: {what}");
            let before_now = now.plus_ms(-1).into();
            let passed = |list: &OperatorList| list.terms_at(one.as_str(), before_now).count();
            assert_eq!(passed(&list), passed(&before), "{what}");
        }
    }
}
