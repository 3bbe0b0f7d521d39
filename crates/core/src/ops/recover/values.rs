//! The signed values of the shared policy, put back where the bucket lost them.
//!
//! Only a value that this console saw replaced is overwritten.

use bytes::Bytes;
use countersign_wire::{PolicyKey, SignedEnvelope};
use serde_json::{Value, json};

use super::no_answer;
use crate::Fault;
use crate::bus::{Bus, PublishOutcome};
use crate::ops::freshness::next_time;
use crate::ops::policy_value::{bytes_of, sealed};
use crate::runtime::App;
use crate::store::policy::{self, PolicyRow};
use crate::store::policy_history;

/// The order in which keys are put back. A setup comes before the rules: once rules ask by it, a value counts only from
/// who may loosen them, and one that was lawful when it was signed would count at no console that reads it behind them.
fn place(key: &str) -> u8 {
    match PolicyKey::parse(key) {
        Some(PolicyKey::Setup(_)) => 0,
        _ => 1,
    }
}

impl App {
    /// Signed values as they were accepted, where the bucket has none or one that was replaced before the rollback.
    pub(super) async fn republish_policy(&self, bus: &Bus) -> Result<(), Fault> {
        let mut rows = policy::all(self.reader()).await?;
        rows.sort_by_key(|row| place(&row.key));
        for row in rows {
            let current = bus.policy_get(&row.key).await?;
            if let Some(current) = &current
                && !self.is_older(&row, &current.value).await?
            {
                continue;
            }
            let expected = current.map_or(0, |current| current.revision);
            // One that nobody can vouch for goes out as it was: no console takes it, and everything asks.
            let bytes = match self.signed_anew(bus, &row).await? {
                Some(bytes) => bytes,
                None => bytes_of(&row)?,
            };
            // Refused: another console was first with it.
            let put = bus.policy_put(&row.key, expected, bytes).await?;
            if put == PublishOutcome::NoAnswer {
                return Err(no_answer());
            }
        }
        Ok(())
    }

    /// The same value of this console's operator, where its signer rotated the key or was retired since: what that key
    /// signed counts only where it was stored before. None where the signer counts, for a bypass, which ended with
    /// its signer, and where this operator may not vouch for the value.
    async fn signed_anew(&self, bus: &Bus, row: &PolicyRow) -> Result<Option<Bytes>, Fault> {
        let shared = &self.inner.shared;
        let counts = shared.trusted.role(&row.signer).is_some();
        let (Some(key), Some(realm)) = (PolicyKey::parse(&row.key), shared.realm()) else {
            return Ok(None);
        };
        let ended = matches!(key, PolicyKey::Bypass(_));
        if counts || ended || !self.may_vouch_for(&row.signer) {
            return Ok(None);
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(&row.payload) else {
            return Ok(None);
        };
        let at = next_time(shared, bus, &key).await?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("at".to_owned(), json!(at));
            if fields.contains_key("by") {
                fields.insert("by".to_owned(), json!(self.identity().operator));
            }
        }
        let payload = serde_json_canonicalizer::to_vec(&value)
            .map_err(|error| Fault::failed(format!("{key} cannot be signed anew: {error}")))?;
        Ok(Some(sealed(self.identity(), &realm, &key, &payload)?.1))
    }

    /// Whether this console's operator is active, and what that key signed lets no more run under the operator's own:
    /// the key was under no limits, or under the same.
    fn may_vouch_for(&self, signer: &str) -> bool {
        let own = self.identity().human_key();
        let log = self.inner.shared.trusted.log();
        let (before, now) = (log.terms_of(signer).last(), log.term(own.as_str(), None));
        let (Some(before), Some(now)) = (before, now) else {
            return false;
        };
        before.is_free() || before.limits == now.limits
    }

    /// Whether the bucket holds a value that this console saw replaced by `row`.
    async fn is_older(&self, row: &PolicyRow, current: &[u8]) -> Result<bool, Fault> {
        let Ok(current) = SignedEnvelope::from_bytes(current) else {
            return Ok(false);
        };
        let sig = current.sig.to_string();
        Ok(sig != row.sig && policy_history::has(self.reader(), &row.key, &sig).await?)
    }
}
