//! One value of the shared policy on the bus: what stands, and how an operator replaces it.
//!
//! Refuses to write over a revision that was not seen, and to take silence for success.

use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{Context, PolicyKey, Sha256Digest, SignedEnvelope};
use serde_json::{Value, json};
use uuid::Uuid;

use super::job::Job;
use super::last_signed::{next_time, open_counting};
use crate::bus::{Bus, POLICY_STREAM, PublishOutcome};
use crate::domain::Timestamp;
use crate::error::OpError;
use crate::runtime::{App, Shared};
use crate::store::audit::Entry;
use crate::store::policy::{self, PolicyRow};

/// How long a command waits until the console of its folder has read what it wrote.
const SEEN_LIMIT: Duration = Duration::from_secs(3);
const SEEN_LOOK: Duration = Duration::from_millis(20);

/// A value of the shared policy and where it stands.
pub(super) struct Stands {
    /// Of the value, or of its deletion; 0 when there was neither.
    pub(super) revision: u64,
    /// Whether there is a value, one that counts or not.
    pub(super) exists: bool,
    /// None when there is none, or it does not count: it does not verify, or is older than the one in force.
    pub(super) payload: Option<Vec<u8>>,
    /// Who signed it, and when the server stored it.
    pub(super) author: Option<(String, Timestamp)>,
}

/// What a writer names as replaced: the revision of the last value or deletion; 0 when there was neither.
pub(super) async fn revision(bus: &Bus, key: &PolicyKey) -> Result<u64, OpError> {
    let last = bus.read_last(POLICY_STREAM, &key.subject()).await?;
    Ok(last.map_or(0, |message| message.seq))
}

/// Keeps in the store that a key was deleted: else whoever reads it would believe the value before.
pub(super) fn deletion(shared: &Shared, key: &PolicyKey, revision: u64) -> Job {
    let row = PolicyRow::deleted(key.to_string(), revision);
    let digest = Sha256Digest::of_bytes(&row.payload).to_string();
    let entry = Entry {
        at: shared.clock.now(),
        actor: shared.identity.auto_key().to_string(),
        action: "policy",
        subject: key.to_string(),
        detail: json!({ "deleted": true, "payload_digest": digest, "revision": row.revision }),
    };
    Job::Policy(row, vec![entry])
}

impl App {
    /// What stands under a key on the bus.
    pub(super) async fn policy_stands(&self, key: &PolicyKey) -> Result<Stands, OpError> {
        let shared = &self.inner.shared;
        let (bus, realm) = self.policy_bus().await?;
        let Some(value) = bus.policy_get(&key.to_string()).await? else {
            return Ok(Stands {
                revision: revision(&bus, key).await?,
                exists: false,
                payload: None,
                author: None,
            });
        };
        let stamp = Timestamp::from(value.stamp);
        let opened = open_counting(shared, &realm, key, &value.value, stamp);
        let (payload, author) = opened.map(|row| (row.payload, (row.signer, stamp))).unzip();
        Ok(Stands {
            revision: value.revision,
            exists: true,
            payload,
            author,
        })
    }

    async fn policy_bus(&self) -> Result<(Bus, Uuid), OpError> {
        let away =
            || OpError::BusUnreachable("the bus cannot be reached; nothing was changed".to_owned());
        self.knows_the_bus().await?;
        let bus = self.bus().ok_or_else(away)?;
        Ok((bus, self.inner.shared.realm().ok_or_else(away)?))
    }

    /// Replaces what stands with revision `expected`, signed later than that. None when somebody else wrote in between.
    pub(super) async fn put_policy(
        &self,
        key: &PolicyKey,
        expected: u64,
        payload: &Value,
    ) -> Result<Option<u64>, OpError> {
        let (bus, realm) = self.policy_bus().await?;
        let failed = |error: String| OpError::Failed(format!("the shared policy: {error}"));
        let mut payload = payload.clone();
        if let Some(fields) = payload.as_object_mut() {
            let at = next_time(&self.inner.shared, &bus, key).await?;
            fields.insert("at".to_owned(), json!(at));
        }
        let bytes = serde_json_canonicalizer::to_vec(&payload)
            .map_err(|error| failed(error.to_string()))?;
        let keys = self.identity().signing();
        let human = &keys.human;
        let value: Bytes =
            SignedEnvelope::seal(human, Context::Policy, &realm, &key.subject(), &bytes)
                .and_then(|envelope| envelope.to_bytes())
                .map(Bytes::from)
                .map_err(|error| failed(error.to_string()))?;
        let name = key.to_string();
        let revision = match bus.policy_put(&name, expected, value.clone()).await? {
            PublishOutcome::Stored { seq } => seq,
            PublishOutcome::Refused { code: 10071, .. } => return Ok(None),
            PublishOutcome::Refused { code, description } => {
                let why = format!("the bus refused the change ({code}): {description}");
                return Err(OpError::BusUnreachable(why));
            }
            // It may be stored all the same.
            PublishOutcome::NoAnswer => {
                let stands = bus.policy_get(&name).await?;
                match stands.filter(|stands| stands.value == value) {
                    Some(stands) => stands.revision,
                    None => {
                        let why = "the bus did not answer; look with `countersign rules list` whether the change stands";
                        return Err(OpError::BusUnreachable(why.to_owned()));
                    }
                }
            }
        };
        self.seen_by_console(&name, revision).await;
        Ok(Some(revision))
    }

    /// Waits until the console of this folder has read a revision, so that who set a brake sees it when
    /// asking next. Not seeing it in time is no failure: it is on the bus.
    pub(super) async fn seen_by_console(&self, key: &str, revision: u64) {
        let look = async {
            loop {
                let row = policy::get(self.reader(), key).await;
                let seen = row.ok().flatten().is_some_and(|row| {
                    u64::try_from(row.revision).is_ok_and(|seen| seen >= revision)
                });
                if seen {
                    return;
                }
                tokio::time::sleep(SEEN_LOOK).await;
            }
        };
        let _ = tokio::time::timeout(SEEN_LIMIT, look).await;
    }
}
