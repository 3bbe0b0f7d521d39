//! The keys that may decide, since when and how much.
//!
//! Neither a pending nor a retired key may, and every answer is for a point in time.

use std::collections::HashMap;
use std::sync::Arc;

use countersign_wire::{KeyRole, OperatorEntry, OperatorList, Risk, WorkspaceName, voter};
use parking_lot::RwLock;
use uuid::Uuid;

use crate::domain::Timestamp;
use crate::identity::Identity;

/// A registration is stamped with an estimate of the server's time; a decision may be stored a moment
/// before that estimate.
const CLOCK_SLACK_MS: i64 = 5_000;

/// What a key may do at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStatus {
    /// It may sign.
    Active,
    /// It waits for an operator to accept it.
    Pending,
    /// Its term begins at this moment only: the bus's clock was ahead when it was entered.
    NotYetActive(Timestamp),
    /// It was retired at this moment.
    Retired(Timestamp),
    /// The list does not know it.
    Unknown,
}

#[derive(Debug, Clone, Default)]
struct KeyTerms {
    terms: Vec<OperatorEntry>,
    waits: bool,
}

/// The keys of the realm as this console accepted them. A cheap clone shares one list.
#[derive(Clone)]
pub struct TrustedKeys(Arc<RwLock<HashMap<String, KeyTerms>>>);

impl TrustedKeys {
    /// Trusts this console's own keys until a list says more about them.
    #[must_use]
    pub fn of(identity: &Identity) -> Self {
        let since = countersign_wire::Timestamp::new(time::OffsetDateTime::UNIX_EPOCH);
        let own = identity.trusted_keys().into_iter().map(|trusted| {
            let term = OperatorEntry::new(trusted.key, trusted.name, trusted.role, since);
            let known = KeyTerms {
                terms: vec![term],
                waits: false,
            };
            (known.terms[0].key.to_string(), known)
        });
        Self(Arc::new(RwLock::new(own.collect())))
    }

    /// Takes over a list; keys that are not in it stay as they are.
    pub fn accept(&self, list: &OperatorList) {
        let mut reported: HashMap<String, KeyTerms> = HashMap::new();
        for entry in &list.operators {
            let known = reported.entry(entry.key.to_string()).or_default();
            known.terms.push(entry.clone());
        }
        for waiting in &list.waiting {
            reported.entry(waiting.key.to_string()).or_default().waits = true;
        }
        self.0.write().extend(reported);
    }

    /// The role of a key for a decision stored at `stored_at`.
    #[must_use]
    pub fn role(&self, key: &str, stored_at: Timestamp) -> Option<KeyRole> {
        let keys = self.0.read();
        let terms = in_force(&keys.get(key)?.terms, stored_at);
        KeyRole::of_all(terms.iter().map(|term| term.role))
    }

    /// Whether a key is active at `stored_at` and under no limit that keeps it from saying more than no to such a
    /// request.
    #[must_use]
    pub fn may_allow(
        &self,
        key: &str,
        stored_at: Timestamp,
        workspace: &WorkspaceName,
        risk: Risk,
    ) -> bool {
        let keys = self.0.read();
        keys.get(key).is_some_and(|known| {
            let terms = in_force(&known.terms, stored_at);
            !terms.is_empty() && terms.iter().all(|term| term.may_allow(workspace, risk))
        })
    }

    /// The name that the list has for a key, of the term in force at `stored_at` or else its last one.
    #[must_use]
    pub fn name(&self, key: &str, stored_at: Timestamp) -> Option<String> {
        let keys = self.0.read();
        let terms = &keys.get(key)?.terms;
        let term = in_force(terms, stored_at).last().copied();
        term.or(terms.last()).map(|term| term.name.clone())
    }

    /// Whether a key is active at `stored_at` and under no limit.
    #[must_use]
    pub fn is_free(&self, key: &str, stored_at: Timestamp) -> bool {
        let keys = self.0.read();
        keys.get(key).is_some_and(|known| {
            let terms = in_force(&known.terms, stored_at);
            !terms.is_empty() && !terms.iter().any(|term| term.is_limited())
        })
    }

    /// The console that a key is of by the list: none where the list does not say.
    #[must_use]
    pub fn console(&self, key: &str, stored_at: Timestamp) -> Option<String> {
        let keys = self.0.read();
        let terms = in_force(&keys.get(key)?.terms, stored_at);
        terms.iter().find_map(|term| term.console.clone())
    }

    /// The key under which the votes of the person who has `key` count for a decision stored at `stored_at`.
    #[must_use]
    pub fn voter(&self, realm: &Uuid, key: &str, stored_at: Timestamp) -> String {
        let keys = self.0.read();
        let soon = stored_at.plus_ms(CLOCK_SLACK_MS).into();
        let entries = keys.values().flat_map(|known| &known.terms);
        voter(realm, key, soon, entries)
    }

    /// What a key may do now.
    #[must_use]
    pub fn standing(&self, key: &str, now: Timestamp) -> KeyStatus {
        if self.role(key, now).is_some() {
            return KeyStatus::Active;
        }
        let keys = self.0.read();
        let Some(known) = keys.get(key) else {
            return KeyStatus::Unknown;
        };
        let ends = known.terms.iter().filter_map(|term| term.until);
        let ended = ends.map(|until| Timestamp::from(until.get())).max();
        let open = known.terms.iter().filter(|term| term.until.is_none());
        let begins = open.map(|term| Timestamp::from(term.from.get())).min();
        match (begins, ended) {
            _ if known.waits => KeyStatus::Pending,
            (Some(from), _) if from > now => KeyStatus::NotYetActive(from),
            (_, Some(until)) if until <= now => KeyStatus::Retired(until),
            _ => KeyStatus::Unknown,
        }
    }

    /// Whether a key was ever on a list.
    #[must_use]
    pub fn knows(&self, key: &str) -> bool {
        self.0.read().contains_key(key)
    }
}

/// The terms that count at this moment; where there is none, the first one if it begins a moment later. One that follows
/// an end begins when an operator said so.
fn in_force(terms: &[OperatorEntry], at: Timestamp) -> Vec<&OperatorEntry> {
    let counts = |at: Timestamp| -> Vec<&OperatorEntry> {
        terms
            .iter()
            .filter(|term| term.counts_at(at.into()))
            .collect()
    };
    let now = counts(at);
    let ended = |term: &OperatorEntry| {
        let until = term.until.map(|until| Timestamp::from(until.get()));
        until.is_some_and(|until| until <= at)
    };
    if now.is_empty() && !terms.iter().any(ended) {
        counts(at.plus_ms(CLOCK_SLACK_MS))
            .into_iter()
            .filter(|term| Timestamp::from(term.from.get()) > at)
            .collect()
    } else {
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_dir::DataDir;

    fn at(ms: i64) -> countersign_wire::Timestamp {
        countersign_wire::Timestamp::new(Timestamp(ms).into())
    }

    #[test]
    fn only_a_first_term_begins_a_moment_before_it_says() {
        let key = nkeys::KeyPair::new_user().public_key();
        let term = |from, until: Option<i64>| OperatorEntry {
            until: until.map(at),
            ..OperatorEntry::new(key.parse().unwrap(), "Ada".into(), KeyRole::Human, at(from))
        };
        let terms = [term(50_000, Some(100_000)), term(150_000, None)];
        for (moment, counts) in [
            (50_000 - CLOCK_SLACK_MS - 1, false),
            (50_000 - CLOCK_SLACK_MS, true),
            (100_000, false),
            (149_999, false),
            (150_000, true),
        ] {
            let found = !in_force(&terms, Timestamp(moment)).is_empty();
            assert_eq!(found, counts, "{moment}");
        }
    }

    #[test]
    fn a_key_counts_in_its_terms_and_each_term_has_its_own_limits() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let identity = Identity::open(&data, "Ada", crate::identity::KeyChoice::File).unwrap();
        let trusted = TrustedKeys::of(&identity);
        let own_key = identity.human_key();
        let own = own_key.as_str();
        assert_eq!(trusted.standing(own, Timestamp(0)), KeyStatus::Active);
        let new = |from| {
            OperatorEntry::new(
                identity.human_key().clone(),
                "Ada".into(),
                KeyRole::Human,
                at(from),
            )
        };
        let mut list = OperatorList::new(vec![
            OperatorEntry {
                until: Some(at(100_000)),
                ..new(50_000)
            },
            OperatorEntry {
                until: Some(at(200_000)),
                max_risk: Some(Risk::Low),
                workspaces: Some(vec!["acme".parse().unwrap()]),
                ..new(100_000)
            },
        ]);
        trusted.accept(&list);
        let acme = "acme".parse().unwrap();
        let other = "other".parse().unwrap();
        let may = |ms, ws: &WorkspaceName, risk| trusted.may_allow(own, Timestamp(ms), ws, risk);
        let role = |ms| trusted.role(own, Timestamp(ms));
        assert_eq!((role(44_999), role(200_000)), (None, None));
        assert_eq!(role(45_000), Some(KeyRole::Human), "estimated clocks");
        let outside = [44_999, 200_000].map(|ms| may(ms, &acme, Risk::Low));
        assert_eq!(outside, [false, false], "no term, no word");
        assert!(may(99_999, &other, Risk::Critical));
        assert!(may(100_000, &acme, Risk::Low));
        assert!(!may(100_000, &acme, Risk::Medium));
        assert!(!may(100_000, &other, Risk::Low));
        assert_eq!(
            trusted.standing(own, Timestamp(200_000)),
            KeyStatus::Retired(Timestamp(200_000))
        );
        let mut later = list.clone();
        later.operators.retain(|entry| entry.until.is_none());
        later.operators.push(new(300_000));
        trusted.accept(&later);
        for (ms, standing) in [
            (250_000, KeyStatus::NotYetActive(Timestamp(300_000))),
            (295_000, KeyStatus::Active),
        ] {
            assert_eq!(trusted.standing(own, Timestamp(ms)), standing);
        }
        trusted.accept(&list);
        list.waiting.push(countersign_wire::WaitingKey {
            key: identity.human_key().clone(),
            name: "Ada".into(),
            role: KeyRole::Human,
            asked_at: at(200_000),
            console: None,
            extra: serde_json::Map::new(),
        });
        trusted.accept(&list);
        assert_eq!(
            trusted.standing(own, Timestamp(200_000)),
            KeyStatus::Pending
        );
        assert_eq!(trusted.standing("U", Timestamp(0)), KeyStatus::Unknown);
    }
}
