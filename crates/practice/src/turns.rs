//! When a practice card may come.

use rand::RngExt;
use rand::rngs::StdRng;

/// None comes while a real card is due within this time, ms.
pub const SOON_MS: i64 = 5 * 60_000;
/// None comes while more real cards wait than this.
pub const MOST_WAITING: usize = 50;

/// The real cards that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queue {
    /// How many.
    pub waiting: usize,
    /// When the first one is due, ms.
    pub first_due: Option<i64>,
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
#[derive(Debug, Default)]
pub struct Turns {
    owed: bool,
}

impl Turns {
    /// Real cards arrived: about one card in `one_in` is practice.
    pub fn arrived(&mut self, cards: usize, one_in: u32, rng: &mut StdRng) {
        let real = one_in.max(2) - 1;
        self.owed |= (0..cards).any(|_| rng.random_range(0..real) == 0);
    }

    /// Whether one comes now; it is owed no longer then.
    pub fn take(&mut self, queue: Queue, now: i64) -> bool {
        self.owed && queue.has_room(now) && std::mem::take(&mut self.owed)
    }
}
