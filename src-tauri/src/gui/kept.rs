//! The cards that the page read last, so that a decision on one of them reads nothing again.
//!
//! The writer holds the digest that was seen against the stored request. What a person did before an approval is held
//! against the kept card: of one that is not critical, that depends on the request alone.

use countersign_core::domain::State;
use std::collections::VecDeque;

use countersign_view::DecidePath;
use parking_lot::Mutex;

use countersign_view::window::{CardDetails, state_of};

/// The page reads the card behind the one on screen, and behind that one what comes meanwhile.
const CARDS: usize = 4;

/// Newest first.
#[derive(Default)]
pub(crate) struct Kept(Mutex<VecDeque<CardDetails>>);

impl Kept {
    /// Keeps a card that waits, in the place of the same one. Not a critical one: what must be typed may be chosen anew.
    pub(crate) fn keep(&self, card: CardDetails) {
        let mut cards = self.0.lock();
        cards.retain(|of| of.key != card.key);
        if state_of(&card.line) == State::Pending && card.path() != DecidePath::Critical {
            cards.push_front(card);
            cards.truncate(CARDS);
        }
    }

    /// Takes the card of this request, where it is the one that was seen. Two agents may ask with the same bytes.
    pub(crate) fn take(&self, key: &str, request_digest: &str) -> Option<CardDetails> {
        let mut cards = self.0.lock();
        let is_it =
            |of: &CardDetails| of.request_digest == request_digest && of.key.to_string() == key;
        let place = cards.iter().position(is_it)?;
        cards.remove(place)
    }
}
