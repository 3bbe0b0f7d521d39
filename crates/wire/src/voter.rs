//! Whose vote it is: a person has one, whatever keys it is signed with (protocol, section 5, "Votes").
//!
//! A key beside one from which it has taken over does not count: both are in force for a moment.

use time::OffsetDateTime;
use uuid::Uuid;

use crate::{KeyRole, OperatorEntry, OperatorList};

/// The key under which a person's votes count: the first of those that handed over, one to the next, up to `key`,
/// by what had begun when the decision was stored. Keys of a ring, which nobody can make by rotating, are one person.
pub fn voter<'l>(
    realm: &Uuid,
    key: &str,
    stored_at: OffsetDateTime,
    entries: impl Iterator<Item = &'l OperatorEntry> + Clone,
) -> String {
    let before = |key: &str| {
        let mut terms = entries.clone().filter(|entry| {
            entry.key.as_str() == key
                && entry.role == KeyRole::Human
                && entry.from.get() <= stored_at
        });
        terms.find_map(|entry| entry.predecessor(realm))
    };
    let mut keys = vec![key.to_owned()];
    let mut last = key.to_owned();
    while let Some(next) = before(&last) {
        next.as_str().clone_into(&mut last);
        if let Some(ring) = keys.iter().position(|key| *key == last) {
            return keys.split_off(ring).into_iter().min().unwrap_or(last);
        }
        keys.push(last.clone());
    }
    last
}

impl OperatorList {
    /// The key under which the votes of the person who has `key` count for what was stored at this moment.
    pub fn voter_at(&self, realm: &Uuid, key: &str, stored_at: OffsetDateTime) -> String {
        voter(realm, key, stored_at, self.operators.iter())
    }
}
