//! Signing times of the values in force in the shared policy: panic, pauses, bypasses, rules and setups.
//!
//! A value that was signed before the one in force never replaces it: its bytes and signature stay good for ever, and
//! whoever may write the bucket can store them again.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_wire::{
    KeyRole, PolicyKey, Timestamp as Signed, is_newer_than, is_timely, time_to_sign,
};
use parking_lot::RwLock;
use serde::Deserialize;

use super::policy_value::{Put, bytes_of, write_over};

use crate::Fault;
use crate::bus::Bus;
use crate::domain::Timestamp;
use crate::runtime::Shared;
use crate::store::policy::PolicyRow;
use crate::store::{Reader, policy, policy_history};

/// A value that was stored over is written back this often at most.
const PUT_BACK_EVERY: Duration = Duration::from_secs(2);

/// What is known of the value in force.
#[derive(Debug, Clone, Default)]
struct Last {
    at: Option<Signed>,
    /// What is put back after a loss has the same. None when the key was deleted since.
    sig: Option<String>,
    /// The revision of an older value that was stored over it.
    under: Option<u64>,
}

/// The last value of each key that counted.
#[derive(Debug, Default)]
pub(crate) struct Freshness(RwLock<BTreeMap<String, Last>>);

impl Freshness {
    /// The values that this folder's console knew in its earlier life.
    pub(crate) async fn remembered(reader: &Reader) -> Result<Self, Fault> {
        let mut known = BTreeMap::new();
        for row in policy::remembered(reader).await? {
            let last = match row.is_deleted() {
                false => Last::of(&row.payload, &row.sig),
                true => {
                    let before = policy_history::last_value(reader, &row.key).await?;
                    let last = before.map(|before| Last::of(&before.payload, &before.sig));
                    Last {
                        sig: None,
                        ..last.unwrap_or_default()
                    }
                }
            };
            known.insert(row.key, last);
        }
        Ok(Self(RwLock::new(known)))
    }

    /// Whether a value counts that was stored at `stored_at`: it is the one in force, or was signed later.
    pub(super) fn lets(&self, row: &PolicyRow, stored_at: Timestamp) -> bool {
        let last = self.last(&row.key);
        last.sig.as_deref() == Some(row.sig.as_str())
            || is_newer_than(last.at, signed_at(&row.payload), stored_at.into())
    }

    /// A value is in force now.
    pub(super) fn took(&self, row: &PolicyRow) {
        self.set(&row.key, Last::of(&row.payload, &row.sig));
    }

    /// A value was signed before the one in force, and lies over it now.
    pub(super) fn refused(&self, row: &PolicyRow) {
        let last = self.last(&row.key);
        if last.sig.is_some() {
            let under = u64::try_from(row.revision).ok();
            self.set(&row.key, Last { under, ..last });
        }
    }

    /// The values in force over which older ones were stored, with the revisions of those.
    fn covered(&self) -> Vec<(String, String, u64)> {
        let known = self.0.read();
        let covered = known
            .iter()
            .filter_map(|(key, last)| Some((key.clone(), last.sig.clone()?, last.under?)));
        covered.collect()
    }

    /// Nobody need write a value back over this revision any more.
    fn uncovered(&self, key: &str, over: u64) {
        let last = self.last(key);
        if last.under == Some(over) {
            self.set(
                key,
                Last {
                    under: None,
                    ..last
                },
            );
        }
    }

    /// The key was deleted: its value counts only when it is signed again.
    pub(super) fn deleted(&self, key: &PolicyKey) {
        let key = key.to_string();
        let last = Last {
            sig: None,
            under: None,
            ..self.last(&key)
        };
        self.set(&key, last);
    }

    fn last(&self, key: &str) -> Last {
        let known = self.0.read();
        known.get(key).cloned().unwrap_or_default()
    }

    fn set(&self, key: &str, last: Last) {
        let mut known = self.0.write();
        known.insert(key.to_owned(), last);
    }
}

impl Last {
    fn of(payload: &[u8], sig: &str) -> Self {
        Self {
            at: signed_at(payload),
            sig: Some(sig.to_owned()),
            under: None,
        }
    }
}

/// The time in a value; none in what cannot be read.
fn signed_at(payload: &[u8]) -> Option<Signed> {
    #[derive(Deserialize)]
    struct Dated {
        at: String,
    }
    let said: Dated = serde_json::from_slice(payload).ok()?;
    said.at.parse().ok()
}

/// The time with which this console signs what it writes over the current value: whoever reads both takes its value.
pub(super) async fn next_time(
    shared: &Shared,
    bus: &Bus,
    key: &PolicyKey,
) -> Result<Signed, Fault> {
    let name = key.to_string();
    let known = shared.freshness.last(&name).at;
    let present = bus.policy_get(&name).await?;
    let present = present.and_then(|value| {
        let envelope = countersign_wire::SignedEnvelope::from_bytes(&value.value).ok()?;
        let at = signed_at(&envelope.payload_bytes().ok()?)?;
        // What lies further ahead counts nowhere.
        is_timely(known, at, value.stamp).then_some(at)
    });
    let now = Signed::new(shared.clock.now().into());
    Ok(time_to_sign(now, known.max(present)))
}

/// Writes every value in force back over an older one that was stored over it, for as long as its signer counts:
/// whoever joins takes what it reads last. Every now and then, until it is cancelled.
pub(super) async fn keep_in_force(shared: &Shared, bus: &Bus) {
    loop {
        tokio::time::sleep(PUT_BACK_EVERY).await;
        for (key, sig, over) in shared.freshness.covered() {
            match put_back(shared, bus, (&key, &sig), over).await {
                Ok(true) => shared.freshness.uncovered(&key, over),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(key, %error, "the value in force is not written back yet")
                }
            }
        }
    }
}

/// False where it must be tried again.
async fn put_back(
    shared: &Shared,
    bus: &Bus,
    (key, sig): (&str, &str),
    over: u64,
) -> Result<bool, Fault> {
    let row = policy::get(&shared.reader, key).await?;
    let (Some(row), Some(key)) = (row, PolicyKey::parse(key)) else {
        return Ok(false);
    };
    let role = shared.trusted.role(&row.signer);
    if row.sig != sig || role != Some(KeyRole::Human) {
        return Ok(false);
    }
    let put = write_over(bus, &key, over, bytes_of(&row)?).await?;
    // Overtaken: what came in between is reported next.
    Ok(matches!(put, Put::Stored(_) | Put::Conflict))
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
        let known = Freshness::default();
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
