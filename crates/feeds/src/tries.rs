//! Tries since the process began, for metrics.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Key = (String, &'static str);

/// What may come of a try.
pub const RESULTS: [&str; 4] = ["taken", "refused", "away", "dead"];

static TRIES: Mutex<BTreeMap<Key, u64>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<Key, u64>> {
    TRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts `events` that were tried with this result.
pub(crate) fn count(feed: &str, result: &'static str, events: u64) {
    *all().entry((feed.to_owned(), result)).or_default() += events;
}

/// The tries of a feed, in the order of [`RESULTS`].
#[must_use]
pub fn tries(feed: &str) -> [u64; 4] {
    let all = all();
    RESULTS.map(|result| all.get(&(feed.to_owned(), result)).copied().unwrap_or(0))
}
