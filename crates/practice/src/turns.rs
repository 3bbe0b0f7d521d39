//! When a practice card may come.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// None comes while a real card is due within this time, ms.
pub const SOON_MS: i64 = 5 * 60_000;
/// None comes while more real cards wait than this.
pub const MOST_WAITING: u64 = 50;

/// The real cards that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queue {
    /// How many.
    pub waiting: u64,
    /// When the first one is due, ms.
    pub first_due: Option<i64>,
    /// When the last one is due, ms.
    pub last_due: Option<i64>,
}

impl Queue {
    /// Whether there is time for practice.
    #[must_use]
    pub fn has_room(self, now: i64) -> bool {
        let due = self.first_due.is_some_and(|due| due - now <= SOON_MS);
        self.waiting <= MOST_WAITING && !due
    }
}

/// Draws for every real card whether practice follows. What had no room comes later; it never piles up.
#[derive(Debug)]
pub struct Turns {
    rng: StdRng,
    owed: bool,
}

impl Turns {
    /// Draws the same for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            rng: StdRng::seed_from_u64(seed),
            owed: false,
        }
    }

    /// Real cards arrived: about one card in `one_in` is practice.
    pub fn arrived(&mut self, cards: usize, one_in: u32) {
        let real = one_in.max(2) - 1;
        self.owed |= (0..cards).any(|_| self.rng.random_range(0..real) == 0);
    }

    /// Whether one is to come.
    #[must_use]
    pub fn owes(&self) -> bool {
        self.owed
    }

    /// The seed of the card, if one comes now; it is owed no longer then.
    pub fn take(&mut self, queue: Queue, now: i64) -> Option<u64> {
        let comes = self.owed && queue.has_room(now) && std::mem::take(&mut self.owed);
        comes.then(|| self.rng.random())
    }
}
