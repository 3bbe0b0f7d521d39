//! The signed values of the shared policy, put back where the bucket lost them.
//!
//! Refuses to write over a value that this console did not see replaced.

use bytes::Bytes;
use countersign_wire::{KeyRole, PolicyKey, SignedEnvelope};
use serde_json::{Value, json};

use super::no_answer;
use crate::bus::{Bus, PublishOutcome};
use crate::error::OpError;
use crate::ops::last_signed::next_time;
use crate::ops::policy_value::{bytes_of, sealed};
use crate::runtime::App;
use crate::store::policy::{self, PolicyRow};
use crate::store::policy_history;

impl App {
    /// Signed values as they were accepted, where the bucket has none or one that was replaced before it went back.
    pub(super) async fn republish_policy(&self, bus: &Bus) -> Result<(), OpError> {
        for row in policy::all(self.reader()).await? {
            let stands = bus.policy_get(&row.key).await?;
            if let Some(stands) = &stands
                && !self.is_older(&row, &stands.value).await?
            {
                continue;
            }
            let expected = stands.map_or(0, |stands| stands.revision);
            let signer = self.inner.shared.trusted.role(&row.signer, self.now());
            let bytes = match signer {
                Some(KeyRole::Human) => bytes_of(&row)?,
                _ => match self.signed_anew(bus, &row).await? {
                    Some(bytes) => bytes,
                    None => continue,
                },
            };
            // Refused: another console was first with it.
            let put = bus.policy_put(&row.key, expected, bytes).await?;
            if put == PublishOutcome::NoAnswer {
                return Err(no_answer());
            }
        }
        Ok(())
    }

    /// The same value of this console's operator: its signer rotated the key or was retired since, and what that key
    /// signed counts only where it was stored before. None for the list of operators, which says itself who wrote it,
    /// and where this operator's key does not count either.
    async fn signed_anew(&self, bus: &Bus, row: &PolicyRow) -> Result<Option<Bytes>, OpError> {
        let shared = &self.inner.shared;
        let own = self.identity().human_key();
        let (Some(key), Some(realm)) = (PolicyKey::parse(&row.key), shared.realm()) else {
            return Ok(None);
        };
        let counts = self.why_not_sign(own.as_str(), self.now()).is_none();
        if key == PolicyKey::Operators {
            return bytes_of(row).map(Some);
        }
        let Some(mut value) = serde_json::from_slice::<Value>(&row.payload)
            .ok()
            .filter(|_| counts)
        else {
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
            .map_err(|error| OpError::Failed(format!("{key} cannot be signed anew: {error}")))?;
        Ok(Some(sealed(self.identity(), &realm, &key, &payload)?.1))
    }

    /// Whether what stands in the bucket is a value that this console saw replaced by `row`.
    async fn is_older(&self, row: &PolicyRow, stands: &[u8]) -> Result<bool, OpError> {
        let Ok(stands) = SignedEnvelope::from_bytes(stands) else {
            return Ok(false);
        };
        let sig = stands.sig.to_string();
        Ok(sig != row.sig && policy_history::has(self.reader(), &row.key, &sig).await?)
    }
}
