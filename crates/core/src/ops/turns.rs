//! The claim on an automatic answer: whose turn it is, and when this console looks again.
//!
//! A silent console only costs its turn: every answer reaches its agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_wire::{ConsoleId, RequestKey};
use parking_lot::RwLock;

use crate::domain::Timestamp;
use crate::domain::presence::{Consoles, HeardConsole};
use crate::domain::rank::{rank, turn_ms};

/// Rows that are left to other consoles for a while.
#[derive(Default)]
pub(crate) struct Turns(BTreeMap<i64, Timestamp>);

/// Whether a row may be answered now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Mine,
    /// Others come first; it is looked at again then.
    Later(Timestamp),
}

impl Turns {
    /// Whose turn a row is. One that this console comes later for is remembered until its time.
    pub(crate) fn of(&mut self, id: i64, rank: u32, now: Timestamp) -> Turn {
        if rank == 0 {
            self.0.remove(&id);
            return Turn::Mine;
        }
        let at = *self
            .0
            .entry(id)
            .or_insert_with(|| now.plus_ms(turn_ms(rank)));
        if at <= now {
            self.0.remove(&id);
            return Turn::Mine;
        }
        Turn::Later(at)
    }

    /// The rows whose time has come, at most `limit`.
    pub(crate) fn due(&self, now: Timestamp, limit: usize) -> Vec<i64> {
        let come = self.0.iter().filter(|(_, at)| **at <= now);
        come.map(|(id, _)| *id).take(limit).collect()
    }

    /// These rows need no second look.
    pub(crate) fn forget(&mut self, ids: &[i64]) {
        for id in ids {
            self.0.remove(id);
        }
    }

    /// Only these rows need a second look.
    pub(crate) fn keep(&mut self, wanted: impl Fn(i64) -> bool) {
        self.0.retain(|id, _| wanted(*id));
    }

    /// When to look next.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.0.values().min().copied()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The live consoles of the realm as one of them sees them.
#[derive(Clone)]
pub(crate) struct Peers {
    pub(crate) me: ConsoleId,
    pub(crate) consoles: Arc<RwLock<Consoles>>,
}

impl Peers {
    /// This console's rank for a request, among those of the live consoles that `counts` accepts.
    pub(crate) fn rank(
        &self,
        request: &RequestKey,
        now: Timestamp,
        counts: impl Fn(&HeardConsole) -> bool,
    ) -> u32 {
        let consoles = self.consoles.read();
        let live = consoles.live(now).filter(|(_, console)| counts(console));
        rank(&self.me, live.map(|(id, _)| id), request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_0_answers_at_once_and_the_others_when_their_time_has_come() {
        let mut turns = Turns::default();
        let now = Timestamp(1_000);
        assert_eq!(turns.of(1, 0, now), Turn::Mine);
        assert_eq!(turns.of(2, 2, now), Turn::Later(Timestamp(1_800)));
        assert_eq!(
            turns.of(2, 2, Timestamp(1_500)),
            Turn::Later(Timestamp(1_800)),
            "a second look does not begin the wait again"
        );
        assert_eq!(turns.next(), Some(Timestamp(1_800)));
        assert!(turns.due(Timestamp(1_799), 10).is_empty());
        assert_eq!(turns.due(Timestamp(1_800), 10), [2]);
        assert_eq!(turns.of(2, 2, Timestamp(1_800)), Turn::Mine);
        assert_eq!(turns.next(), None);
    }

    #[test]
    fn who_becomes_first_meanwhile_does_not_wait_on() {
        let mut turns = Turns::default();
        turns.of(1, 3, Timestamp(0));
        assert_eq!(turns.of(1, 0, Timestamp(1)), Turn::Mine);
        assert_eq!(turns.next(), None);
    }
}
