//! The largest message that the bus takes from this console.
//!
//! The server's word alone is not enough: an account or a user may take less, and then the server ends the connection
//! over a larger message, without saying how much it had taken. A message that the server has answered is not blamed.

use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// No account of consoles takes less and is of use: what is smaller is never blamed.
const FLOOR: usize = 32 * 1024;
/// Unanswered messages that are remembered; each later one is smaller.
const UNANSWERED: usize = 64;

/// What is learned from messages that ended the connection; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Largest(Arc<Mutex<Sizes>>);

#[derive(Debug, Default)]
struct Sizes {
    /// Of the message that was sent last.
    turn: u64,
    /// Bytes of what was sent and is waited for, by its turn.
    on_the_way: BTreeMap<u64, usize>,
    unanswered: VecDeque<Unanswered>,
    /// The largest that was answered.
    taken: usize,
    most: Option<usize>,
}

/// A message that nobody waits for any more. The client keeps what it has not written when the connection is lost, and
/// sends it over the next one: it may be refused long after.
#[derive(Debug)]
struct Unanswered {
    /// The last turn before it was given up.
    until: u64,
    bytes: usize,
}

/// A message on its way.
pub(super) struct OnTheWay {
    largest: Largest,
    turn: u64,
    bytes: usize,
}

impl Largest {
    /// At most so many bytes are taken; none where nothing says so.
    pub(super) fn most(&self) -> Option<usize> {
        self.0.lock().most
    }

    pub(super) fn sends(&self, bytes: usize) -> OnTheWay {
        let mut sizes = self.0.lock();
        sizes.turn += 1;
        let turn = sizes.turn;
        sizes.on_the_way.insert(turn, bytes);
        OnTheWay {
            largest: self.clone(),
            turn,
            bytes,
        }
    }

    /// The server ended the connection over a message: the largest that it may have met is too large.
    pub(super) fn refused(&self) {
        self.0.lock().refused();
    }
}

impl Sizes {
    fn refused(&mut self) {
        let unanswered = self.unanswered.iter().map(|of| of.bytes);
        let met = self.on_the_way.values().copied().chain(unanswered);
        let Some(bytes) = met.max().filter(|bytes| *bytes > FLOOR) else {
            return;
        };
        if bytes <= self.taken {
            // Somebody lowered the limit, or none of these was it: the next refusal shows which.
            self.taken = 0;
            return;
        }
        let most = bytes - 1;
        self.most = Some(self.most.map_or(most, |known| known.min(most)));
    }

    fn answered(&mut self, turn: u64, bytes: usize) {
        self.taken = self.taken.max(bytes);
        if self.most.is_some_and(|most| bytes > most) {
            self.most = None;
        }
        // Messages are read in the order in which they were sent: those before it were taken, or lost with a connection.
        self.unanswered.retain(|of| of.until >= turn);
    }

    fn given_up(&mut self, bytes: usize) {
        if bytes <= FLOOR {
            return;
        }
        // It is answered for later than these, and is larger.
        while self.unanswered.back().is_some_and(|of| of.bytes <= bytes) {
            self.unanswered.pop_back();
        }
        if self.unanswered.len() < UNANSWERED {
            let until = self.turn;
            self.unanswered.push_back(Unanswered { until, bytes });
        }
    }
}

impl OnTheWay {
    /// The server has read it.
    pub(super) fn answered(self) {
        let mut sizes = self.largest.0.lock();
        sizes.on_the_way.remove(&self.turn);
        sizes.answered(self.turn, self.bytes);
    }
}

impl Drop for OnTheWay {
    fn drop(&mut self) {
        let mut sizes = self.largest.0.lock();
        if sizes.on_the_way.remove(&self.turn).is_some() {
            sizes.given_up(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    #[test]
    fn a_limit_is_below_the_largest_message_that_was_on_its_way_and_sinks_with_each() {
        let largest = Largest::default();
        largest.refused();
        assert_eq!(largest.most(), None, "nothing was on its way");
        let (_small, large) = (largest.sends(10), largest.sends(900 * KIB));
        largest.refused();
        assert_eq!(largest.most(), Some(900 * KIB - 1));
        large.answered();
        assert_eq!(largest.most(), None, "it was taken after all");
        let largest = Largest::default();
        for bytes in [900 * KIB, 800 * KIB] {
            let sent = largest.sends(bytes);
            largest.refused();
            assert_eq!(largest.most(), Some(bytes - 1));
            drop(sent);
            largest.sends(10).answered();
        }
    }

    #[test]
    fn a_message_that_is_sent_only_after_the_reconnect_is_blamed_and_no_small_question() {
        let largest = Largest::default();
        let sent: Vec<_> = (0..512).map(|of| largest.sends(200 * KIB + of)).collect();
        largest.refused();
        let most = largest.most();
        assert_eq!(most, Some(200 * KIB + 510));
        drop(sent);
        let question = largest.sends(2);
        for _ in 0..512 {
            largest.refused();
        }
        assert_eq!(largest.most(), most);
        question.answered();
        let _question = largest.sends(2);
        largest.refused();
        assert_eq!(largest.most(), most, "the bus has read what was before");
    }

    #[test]
    fn what_was_answered_is_no_longer_too_large_until_a_limit_was_lowered() {
        let largest = Largest::default();
        largest.sends(100 * KIB).answered();
        let sent = largest.sends(90 * KIB);
        largest.refused();
        assert_eq!(largest.most(), None, "a larger one was taken");
        drop(sent);
        let _again = largest.sends(90 * KIB);
        largest.refused();
        assert_eq!(largest.most(), Some(90 * KIB - 1));
    }

    #[test]
    fn of_what_nobody_waits_for_only_so_much_is_remembered() {
        let largest = Largest::default();
        for less in 0..1_000 {
            drop(largest.sends(200 * KIB - less));
        }
        let remembered = largest.0.lock().unanswered.len();
        assert_eq!(remembered, UNANSWERED);
        largest.refused();
        assert_eq!(largest.most(), Some(200 * KIB - 1));
    }
}
