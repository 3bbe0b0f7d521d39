//! One register: the values of a kind, and what becomes of each change. Pure.

use std::collections::BTreeMap;

use countersign_rules::Replaced;

use super::kind::{Around, Kind, workspace_of};
use super::signed::{Found, Place};
use crate::domain::Timestamp;
use crate::in_force::Author;
use crate::store::policy::PolicyRow;

/// Who set a value that does not verify, for display.
const UNVERIFIED: &str = "unverified";

/// A value as it counts here.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<V> {
    /// Its revision: a lower one is older.
    pub revision: u64,
    /// What counts.
    pub value: V,
    /// Who signed it.
    pub author: Option<Author>,
    /// The operator's name, for display.
    pub by: String,
    /// When it was set, for display: the server's stamp once the bus was read.
    pub at: Timestamp,
    /// The bucket holds something else, which does not count.
    pub bad: Option<Replaced>,
}

/// What the value in the bucket is, beside the one in force.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    /// An operator in force signed it, after what was in force or as that.
    Valid(PolicyRow),
    /// An operator signed it before the value in force.
    Stale(PolicyRow),
    /// Nobody signed it who may relax what it relaxes.
    Invalid,
    /// The key has no value any more.
    Deleted,
}

impl Incoming {
    /// What the register of its kind makes of it. `lets` says whether it was signed after the value in force.
    pub(super) fn of<K: Kind>(
        found: Found,
        lets: impl Fn(&PolicyRow) -> bool,
        (key, last): (&K::Key, &K::Value),
        around: Around<'_>,
    ) -> Self {
        match found {
            Found::Deleted => Self::Deleted,
            Found::Unsigned => Self::Invalid,
            Found::Signed(row, _) if !lets(&row) => Self::Stale(row),
            Found::Signed(row, term) => {
                let may = K::RIGHT.is_of(&term, workspace_of(&K::name(key)));
                match may || !K::relaxes(last, K::read(&row.payload).as_ref(), around) {
                    true => Self::Valid(row),
                    false => Self::Invalid,
                }
            }
        }
    }

    /// The value that counts.
    pub(super) fn valid(&self) -> Option<&PolicyRow> {
        match self {
            Self::Valid(row) => Some(row),
            Self::Stale(_) | Self::Invalid | Self::Deleted => None,
        }
    }
}

/// The values of a kind that this console knows.
pub struct Register<K: Kind>(BTreeMap<K::Key, Entry<K::Value>>);

impl<K: Kind> Default for Register<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Kind> Register<K> {
    /// What is known under a key.
    pub fn get(&self, key: &K::Key) -> Option<&Entry<K::Value>> {
        self.0.get(key)
    }

    /// What counts under a key.
    pub fn value(&self, key: &K::Key) -> K::Value {
        let known = self.0.get(key);
        known.map_or_else(K::unset, |known| known.value.clone())
    }

    /// Everything that is known.
    pub fn entries(&self) -> impl Iterator<Item = (&K::Key, &Entry<K::Value>)> {
        self.0.iter()
    }

    /// What counts under a key once `came` is there; `read` is its value, `by` names who signed it.
    pub(super) fn next(
        &self,
        key: &K::Key,
        (came, read): (&Incoming, Option<K::Value>),
        (place, by): (Place, impl FnOnce(&PolicyRow) -> String),
    ) -> Entry<K::Value> {
        let last = self.value(key);
        let entry = |value, bad| Entry {
            revision: place.revision,
            value,
            author: None,
            by: String::new(),
            at: Timestamp(0),
            bad,
        };
        let mut next = match (came, read) {
            (Incoming::Valid(_), Some(value)) => entry(value, None),
            (Incoming::Deleted, _) if K::may_be_deleted(&last) => entry(K::unset(), None),
            (Incoming::Valid(_), None) => {
                entry(K::cautious(&last, None), Some(Replaced::Unreadable))
            }
            (Incoming::Stale(_), stale) => {
                entry(K::cautious(&last, stale.as_ref()), Some(Replaced::Unsigned))
            }
            (Incoming::Invalid | Incoming::Deleted, _) => {
                entry(K::cautious(&last, None), Some(Replaced::Unsigned))
            }
        };
        next.author = came.valid().map(|row| (row.signer.clone(), place.revision));
        if K::SHOWN {
            next.at = place.stored_at;
            next.by = match came.valid().filter(|_| next.bad.is_none()) {
                Some(row) => by(row),
                None => UNVERIFIED.to_owned(),
            };
        }
        next
    }

    /// The bucket holds a value that does not count and left nothing but the word that it does not.
    pub(super) fn unverified(&self, key: &K::Key, at: Timestamp) -> Entry<K::Value> {
        let place = Place {
            revision: u64::MAX,
            stored_at: at,
        };
        let bad = self.0.get(key).and_then(|known| known.bad);
        let next = self.next(key, (&Incoming::Invalid, None), (place, |_| String::new()));
        Entry {
            bad: bad.or(next.bad),
            ..next
        }
    }

    /// Takes a value over, unless it or a newer one is known. Returns whether it did. A store keeps no stamp of the
    /// server, the bus does: the same revision may say more than was known.
    pub(super) fn set(&mut self, key: &K::Key, entry: Entry<K::Value>) -> bool {
        let is_news = self.0.get(key).is_none_or(|known| {
            known.revision < entry.revision || (known.revision == entry.revision && *known != entry)
        });
        if is_news {
            self.0.insert(key.clone(), entry);
        }
        is_news
    }

    /// The bucket counts its revisions anew: whatever it brings is newer than what is known, which stays in force until
    /// then.
    pub(super) fn forget_revisions(&mut self) {
        self.0.values_mut().for_each(|known| known.revision = 0);
    }
}
