//! Additions to the list by a signer who may not edit it: new keys, and an heir that the signer's own key has named.
//!
//! Nobody's role, limits or name change.

use countersign_wire::{KeyRole, OperatorEntry, OperatorList, WaitingKey};
use uuid::Uuid;

use super::lawful::{CLOCK_SLACK_MS, NEWCOMER_SLACK_MS, ends, hands_over, is_operator, terms};
use crate::domain::Timestamp;

/// A list to be judged, against the one before it.
pub(super) struct Added<'l> {
    pub(super) realm: &'l Uuid,
    pub(super) known: &'l OperatorList,
    pub(super) next: &'l OperatorList,
    pub(super) signer: &'l str,
    pub(super) stored_at: Timestamp,
}

impl Added<'_> {
    /// Whether everything that `next` adds may be added by its signer.
    pub(super) fn is_lawful(&self) -> bool {
        let known = &self.known.operators;
        let own = |entry: &OperatorEntry| {
            entry.key.as_str() == self.signer
                && is_operator(self.known, self.signer, self.stored_at)
        };
        let ended = |entry: &OperatorEntry| {
            let mut before = known.iter().filter(|before| own(before));
            before.any(|before| ends(before, entry, self.stored_at))
        };
        let mut heirs = 0;
        let mut added = self.next.operators.iter();
        let mut waits = self.next.waiting.iter();
        added.all(|entry| {
            if known.contains(entry) || ended(entry) {
                return true;
            }
            let from = Timestamp::from(entry.from.get());
            // Nor for later: what begins then would outlast who ends all that counts now.
            let slack = |at: Timestamp| at.plus_ms(NEWCOMER_SLACK_MS);
            if slack(from) < self.stored_at || slack(self.stored_at) < from {
                return false;
            }
            // One key takes over from one: with two of them a person would vote twice.
            if heirs == 0 && self.is_heir(entry) {
                heirs += 1;
                return true;
            }
            self.begins_earlier(entry) || (!self.known.operator_approval && self.is_newcomer(entry))
        }) && waits.all(|waiting| {
            self.known.waiting.contains(waiting) || self.is_new(waiting.key.as_str())
        })
    }

    fn is_new(&self, key: &str) -> bool {
        !self
            .known
            .operators
            .iter()
            .any(|entry| entry.key.as_str() == key)
            && !self.known.is_waiting(key)
    }

    /// A key that nobody has heard of, or one of the signer's own console that waited while keys had to be accepted.
    fn is_newcomer(&self, entry: &OperatorEntry) -> bool {
        let key = entry.key.as_str();
        let asked = |waiting: &WaitingKey| {
            waiting.role == entry.role
                && waiting.name == entry.name
                && waiting.console == entry.console
                && !entry.is_limited()
                && self.is_of_the_signer(waiting)
        };
        let waiting = self
            .known
            .waiting
            .iter()
            .filter(|waiting| waiting.key == entry.key);
        let listed = self
            .known
            .operators
            .iter()
            .any(|entry| entry.key.as_str() == key);
        !listed && waiting.into_iter().all(asked)
    }

    fn is_of_the_signer(&self, waiting: &WaitingKey) -> bool {
        let registered = |key: &str, console: Option<&String>| {
            key == self.signer && console.is_some() && console == waiting.console.as_ref()
        };
        let known = self.known;
        waiting.key.as_str() == self.signer
            || known
                .waiting
                .iter()
                .any(|own| registered(own.key.as_str(), own.console.as_ref()))
            || known
                .operators
                .iter()
                .any(|own| registered(own.key.as_str(), own.console.as_ref()))
    }

    /// The next key of the signer: as the one before it, and named by it. It is the only one.
    fn is_heir(&self, entry: &OperatorEntry) -> bool {
        let named = |entry: &OperatorEntry| {
            let before = entry.predecessor(self.realm);
            before.is_some_and(|before| before.as_str() == self.signer)
        };
        let mut terms = terms(self.known, self.signer, self.stored_at).peekable();
        entry.role == KeyRole::Human
            && self.is_new(entry.key.as_str())
            && is_operator(self.known, self.signer, self.stored_at)
            && hands_over(self.next, self.signer, self.stored_at)
            && terms.peek().is_some()
            && terms.all(|term| {
                term.workspaces == entry.workspaces
                    && term.max_risk == entry.max_risk
                    && term.name == entry.name
                    && term.console == entry.console
            })
            && named(entry)
            && !self.known.operators.iter().any(named)
    }

    /// A key that was entered while the server's clock was ahead, and counts now as it would have then.
    fn begins_earlier(&self, entry: &OperatorEntry) -> bool {
        not_yet(self.known, entry.key.as_str(), self.stored_at).is_some_and(|later| {
            let same = OperatorEntry {
                from: later.from,
                ..entry.clone()
            };
            same == *later
        })
    }
}

/// The term of a key that only begins after `now`, more than clocks differ, and is its only kind; none for one that
/// has ended.
pub(super) fn not_yet<'l>(
    list: &'l OperatorList,
    key: &str,
    now: Timestamp,
) -> Option<&'l OperatorEntry> {
    let mut terms = list
        .operators
        .iter()
        .filter(|entry| entry.key.as_str() == key);
    let last = terms.clone().next_back()?;
    let soon = now.plus_ms(CLOCK_SLACK_MS);
    let later = terms.all(|term| Timestamp::from(term.from.get()) > soon);
    (later && last.until.is_none()).then_some(last)
}
