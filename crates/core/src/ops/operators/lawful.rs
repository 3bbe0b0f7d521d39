//! The rules by which a list of operators may replace the known one.
//!
//! A newcomer adds only its own keys, an operator under limits edits nobody, a retired key signs no list, and a past
//! term never changes.

use std::collections::HashSet;

use countersign_wire::{KeyRole, OperatorEntry, OperatorList};
use uuid::Uuid;

use super::added::Added;
use crate::domain::Timestamp;

/// A newcomer's keys count from about now: its clock is an estimate, and its list may have waited.
pub(super) const NEWCOMER_SLACK_MS: i64 = 60_000;
/// Terms begin by an estimate of the server's time.
pub(super) const CLOCK_SLACK_MS: i64 = 5_000;

/// Ends are set by such an estimate, too, and the list that says so may have waited.
const END_SLACK_MS: i64 = 60_000;

/// How long a key that has handed over may count beside the one after it.
const HANDOVER_MS: i64 = 10_000;

/// What a list is to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// Signed by an operator in force without limits; it keeps every term that is known, or ends it.
    Operator,
    /// It only adds what anybody who may write the bucket can add, or gives an operator under limits his next key.
    /// Agents do not take it over before an operator without limits signs it again.
    Newcomer,
    /// It does what its signer may not do.
    Denied,
}

/// Whether `key` is a person's key that counts at `at`.
pub(crate) fn is_operator(list: &OperatorList, key: &str, at: Timestamp) -> bool {
    role(list, key, at) == Some(KeyRole::Human)
}

/// Whether `key` may edit the list: a person's key in force, without limits.
pub(crate) fn may_edit(list: &OperatorList, key: &str, at: Timestamp) -> bool {
    is_operator(list, key, at) && terms(list, key, at).all(|term| !term.is_limited())
}

pub(super) fn terms<'l>(
    list: &'l OperatorList,
    key: &'l str,
    at: Timestamp,
) -> impl Iterator<Item = &'l OperatorEntry> {
    let soon = at.plus_ms(CLOCK_SLACK_MS);
    list.operators.iter().filter(move |entry| {
        entry.key.as_str() == key && (entry.counts_at(at.into()) || entry.counts_at(soon.into()))
    })
}

fn role(list: &OperatorList, key: &str, at: Timestamp) -> Option<KeyRole> {
    list.role_at(key, at.into())
        .or_else(|| list.role_at(key, at.plus_ms(CLOCK_SLACK_MS).into()))
}

/// Judges `next`, signed by `signer` and stored at `stored_at`, against the list before it.
pub(crate) fn judge(
    realm: &Uuid,
    known: &OperatorList,
    next: &OperatorList,
    signer: &str,
    stored_at: Timestamp,
) -> Permission {
    if may_edit(known, stands_for(realm, known, next, signer), stored_at) {
        return match known
            .operators
            .iter()
            .all(|entry| stays(known, entry, (next, stored_at)))
        {
            true => Permission::Operator,
            false => Permission::Denied,
        };
    }
    let operator = is_operator(known, signer, stored_at);
    let own = |entry: &&OperatorEntry| operator && entry.key.as_str() == signer;
    let kept = known.operators.iter().all(|entry| {
        next.operators.contains(entry)
            || (own(&entry)
                && next
                    .operators
                    .iter()
                    .any(|after| ends(entry, after, stored_at)))
    });
    let added = Added {
        realm,
        known,
        next,
        signer,
        stored_at,
    };
    let waits = known.waiting.iter().all(|waiting| {
        next.waiting.contains(waiting)
            || (!known.operator_approval && has_key(next, waiting.key.as_str()))
    });
    let setting = known.operator_approval == next.operator_approval;
    let vouched = keeps_words(known, next);
    match kept && waits && setting && vouched && added.is_lawful() {
        true => Permission::Newcomer,
        false => Permission::Denied,
    }
}

/// The listed key for which a signer acts whom `known` does not list: the one that it took over from, as `next` shows,
/// link by link. A bus that lost a rotation knows only that one.
fn stands_for<'l>(
    realm: &Uuid,
    known: &OperatorList,
    next: &'l OperatorList,
    signer: &'l str,
) -> &'l str {
    let mut key = signer;
    let mut seen = HashSet::new();
    while !has_key(known, key) && seen.insert(key) {
        let mut terms = next.operators.iter();
        let heir = terms.find(|entry| entry.key.as_str() == key && entry.takes_over.is_some());
        let before = heir.and_then(|entry| entry.predecessor(realm));
        let mut all = next.operators.iter().map(|entry| entry.key.as_str());
        match before.and_then(|before| all.find(|key| *key == before.as_str())) {
            Some(before) => key = before,
            None => return signer,
        }
    }
    key
}

/// Whether `next` keeps a known term as it was, or with its end: one that was not there, or came later, and that takes
/// nothing from the time up to the known list. That may have been signed ahead of the server's clock: what ends when it
/// is stored takes nothing either.
fn stays(
    known: &OperatorList,
    before: &OperatorEntry,
    (next, stored_at): (&OperatorList, Timestamp),
) -> bool {
    let ended = |after: &OperatorEntry| {
        let Some(until) = after.until else {
            return false;
        };
        let reaches_back = known.at.is_some_and(|at| {
            let passed = Timestamp::from(at.get()).min(stored_at);
            Timestamp::from(until.get()).plus_ms(END_SLACK_MS) < passed
        });
        let begun = OperatorEntry {
            until: before.until,
            ..after.clone()
        };
        begun == *before && before.until.is_none_or(|end| until <= end) && !reaches_back
    };
    let mut after = next.operators.iter();
    after.any(|after| after == before || ended(after))
}

/// Whether a key counts no longer, or only for a moment more.
pub(super) fn hands_over(list: &OperatorList, key: &str, stored_at: Timestamp) -> bool {
    let soon = stored_at.plus_ms(HANDOVER_MS);
    list.terms_at(key, soon.into()).next().is_none()
}

/// Whether no word is left out by which agents follow the list: who gave it may be gone.
fn keeps_words(known: &OperatorList, next: &OperatorList) -> bool {
    let mut words = known.vouched.iter();
    words.all(|word| next.vouched.contains(word))
}

pub(super) fn has_key(list: &OperatorList, key: &str) -> bool {
    list.operators.iter().any(|entry| entry.key.as_str() == key)
}

/// Whether `after` is `before` with an end that was set about now.
pub(super) fn ends(before: &OperatorEntry, after: &OperatorEntry, stored_at: Timestamp) -> bool {
    let Some(until) = after.until else {
        return false;
    };
    let same = OperatorEntry {
        until: None,
        ..after.clone()
    };
    before.until.is_none()
        && *before == same
        && Timestamp::from(until.get()).plus_ms(NEWCOMER_SLACK_MS) >= stored_at
}

/// Whether `next` leaves out or changes what is known, so that older decisions could lose their signer.
pub(crate) fn loses(known: &OperatorList, next: &OperatorList) -> bool {
    !known
        .operators
        .iter()
        .all(|entry| next.operators.contains(entry))
        || known.operator_approval != next.operator_approval
        || !keeps_words(known, next)
}

/// What is known, with the keys that a refused list would have added, as newcomers.
pub(crate) fn merged(
    known: &OperatorList,
    refused: &OperatorList,
    stored_at: Timestamp,
) -> OperatorList {
    let mut list = known.clone();
    for entry in &refused.operators {
        if has_key(&list, entry.key.as_str()) || list.is_waiting(entry.key.as_str()) {
            continue;
        }
        let from = Timestamp::from(entry.from.get()).max(stored_at);
        super::change::arrive(&mut list, entry.clone(), from);
    }
    for waiting in &refused.waiting {
        let key = waiting.key.as_str();
        if !has_key(&list, key) && !list.is_waiting(key) {
            list.waiting.push(waiting.clone());
        }
    }
    list
}

#[cfg(test)]
mod tests;
