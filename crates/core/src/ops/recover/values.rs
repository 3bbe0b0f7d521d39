//! The signed values of the shared policy, put back where the bucket lost them.
//!
//! Only a value that this console saw replaced is overwritten.

use bytes::Bytes;
use countersign_realm::Current;
use countersign_realm::registers::{bytes_of, sealed};
use countersign_wire::{PolicyKey, SignedEnvelope};
use serde_json::{Value, json};
use uuid::Uuid;

use super::no_answer;
use crate::Fault;
use crate::bus::{Bus, PublishOutcome};
use crate::runtime::App;
use crate::store::policy::{self, PolicyRow};
use crate::store::policy_history;

/// The order in which keys are put back. A setup comes before the rules: once rules ask by it, a value counts only from
/// who may loosen them, and one that was allowed when it was signed would count at no console that reads it behind them.
fn place(key: &str) -> u8 {
    match PolicyKey::parse(key) {
        Some(PolicyKey::Setup(_)) => 0,
        _ => 1,
    }
}

impl App {
    /// Signed values as they were accepted, where the bucket has none or one that was replaced before the rollback.
    pub(super) async fn republish_policy(&self, bus: &Bus) -> Result<(), Fault> {
        let Some(realm) = self.inner.shared.realm() else {
            return Ok(());
        };
        let bucket = self.bucket_of(bus, realm);
        let mut rows = policy::all(self.reader()).await?;
        rows.sort_by_key(|row| place(&row.key));
        for row in rows {
            let Some(key) = PolicyKey::parse(&row.key) else {
                continue;
            };
            let current = bucket.read(&key).await?;
            if let Some(stored) = &current.bytes
                && !self.is_older(&row, stored).await?
            {
                continue;
            }
            let expected = current.bytes.as_ref().map_or(0, |_| current.revision);
            // One that nobody may sign anew goes out as it was: no console takes it, and everything asks.
            let bytes = match self.signed_anew(&realm, (&key, &row), &current)? {
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
    /// its signer, and where this operator may not sign the value anew.
    fn signed_anew(
        &self,
        realm: &Uuid,
        (key, row): (&PolicyKey, &PolicyRow),
        current: &Current,
    ) -> Result<Option<Bytes>, Fault> {
        let counts = self.inner.shared.trusted.role(&row.signer).is_some();
        let ended = matches!(key, PolicyKey::Bypass(_));
        if counts || ended || !self.may_vouch_for(&row.signer) {
            return Ok(None);
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(&row.payload) else {
            return Ok(None);
        };
        if let Some(fields) = value.as_object_mut()
            && fields.contains_key("by")
        {
            fields.insert("by".to_owned(), json!(self.identity().operator));
        }
        let payload = current.object(key, value)?;
        Ok(Some(sealed(self.identity(), realm, key, &payload)?))
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
