//! Signing times of the values in force.
//!
//! A value that was signed before the one in force never replaces it: its bytes and signature stay good for ever, and
//! whoever may write the bucket can store them again.

use std::collections::BTreeMap;

use countersign_wire::{PolicyKey, Timestamp as Signed, is_newer_than};
use serde::Deserialize;

use crate::domain::Timestamp;
use crate::store::policy::PolicyRow;

/// What is known of the value in force.
#[derive(Debug, Clone, Default)]
struct Last {
    at: Option<Signed>,
    /// What is put back after a loss has the same. None when the key was deleted since.
    sig: Option<String>,
    /// The revision of an older value that was stored over it.
    under: Option<u64>,
}

/// A value over which an older one was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Covered {
    pub(super) key: String,
    pub(super) sig: String,
    /// The revision of the older one.
    pub(super) over: u64,
}

/// The last value of each key that counted.
#[derive(Debug, Default)]
pub(super) struct Freshness(BTreeMap<String, Last>);

impl Freshness {
    /// Whether a value counts that was stored at `stored_at`: it is the one in force, or was signed later.
    pub(super) fn lets(&self, row: &PolicyRow, stored_at: Timestamp) -> bool {
        let last = self.0.get(&row.key).cloned().unwrap_or_default();
        last.sig.as_deref() == Some(row.sig.as_str())
            || is_newer_than(last.at, signed_at(&row.payload), stored_at.into())
    }

    /// When the last value that counted was signed.
    pub(super) fn last_at(&self, key: &str) -> Option<Signed> {
        self.0.get(key)?.at
    }

    /// A value is in force now.
    pub(super) fn took(&mut self, row: &PolicyRow) {
        let last = Last {
            at: signed_at(&row.payload),
            sig: Some(row.sig.clone()),
            under: None,
        };
        self.0.insert(row.key.clone(), last);
    }

    /// A value was signed before the one in force, and lies over it now.
    pub(super) fn refused(&mut self, row: &PolicyRow) {
        if let Some(last) = self.0.get_mut(&row.key).filter(|last| last.sig.is_some()) {
            last.under = u64::try_from(row.revision).ok();
        }
    }

    /// The key was deleted: its value counts only when it is signed again.
    pub(super) fn deleted(&mut self, key: &PolicyKey) {
        let last = self.0.entry(key.to_string()).or_default();
        (last.sig, last.under) = (None, None);
    }

    pub(super) fn covered(&self) -> Vec<Covered> {
        let covered = self.0.iter().filter_map(|(key, last)| {
            Some(Covered {
                key: key.clone(),
                sig: last.sig.clone()?,
                over: last.under?,
            })
        });
        covered.collect()
    }

    /// Nobody need write the value back any more.
    pub(super) fn uncovered(&mut self, value: &Covered) {
        let last = self.0.get_mut(&value.key);
        if let Some(last) = last.filter(|last| last.under == Some(value.over)) {
            last.under = None;
        }
    }
}

/// The time in a value; none in what cannot be read.
pub(super) fn signed_at(payload: &[u8]) -> Option<Signed> {
    #[derive(Deserialize)]
    struct Dated {
        at: String,
    }
    let said: Dated = serde_json::from_slice(payload).ok()?;
    said.at.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(sig: &str, at: &str) -> PolicyRow {
        PolicyRow {
            key: "panic".into(),
            revision: 0,
            payload: format!(r#"{{"v":1,"on":false,"by":"Ada"{at}}}"#).into_bytes(),
            signer: String::new(),
            sig: sig.into(),
        }
    }

    fn said(time: &str) -> String {
        format!(r#","at":"2026-11-22T{time}Z""#)
    }

    #[test]
    fn a_value_that_is_stored_again_counts_only_while_nothing_was_signed_after_it() {
        let mut known = Freshness::default();
        let noon = Timestamp::parse("2026-11-22T12:00:00Z").unwrap_or(Timestamp(0));
        let (old, plain) = (value("one", &said("11:00:00")), value("none", ""));
        let (new, far) = (
            value("two", &said("11:00:01")),
            value("far", &said("13:00:00")),
        );
        assert!(known.lets(&plain, noon) && known.lets(&old, noon));
        assert!(
            !known.lets(&far, noon),
            "nobody has the last word beforehand"
        );
        known.took(&old);
        assert!(known.lets(&old, noon), "it is in force");
        assert!(!known.lets(&plain, noon), "what has no time is older");
        assert!(known.lets(&new, noon));
        known.took(&new);
        assert!(!known.lets(&old, noon));
        assert!(known.lets(&new, noon), "put back after a loss");
        known.deleted(&PolicyKey::Panic);
        assert!(!known.lets(&old, noon) && !known.lets(&new, noon));
        assert!(known.lets(&value("three", &said("11:00:02")), noon));
    }
}
