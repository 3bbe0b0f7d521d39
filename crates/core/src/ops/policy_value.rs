//! One value of the shared policy on the bus: the current one, and how an operator replaces it.
//!
//! Only an operator whose key is active signs. An unseen revision is never overwritten, and silence never counts as
//! success.

use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{Context, PolicyKey, SignedEnvelope, Timestamp as Signed};
use serde_json::{Value, json};
use uuid::Uuid;

use super::freshness::next_time;
use super::policies::Author;
use super::policy_intake::{BucketEntry, Incoming};
use super::realm::write::refresh;
use crate::Fault;
use crate::bus::{Bus, POLICY_STREAM, PublishOutcome};
use crate::domain::Timestamp;
use crate::identity::Identity;
use crate::runtime::{App, Role};
use crate::store::policy::{self, PolicyRow};

/// How long a command waits until the console of its folder has read what it wrote.
const SEEN_LIMIT: Duration = Duration::from_secs(3);
const SEEN_LOOK: Duration = Duration::from_millis(20);
/// How often a writer whom others overtake tries.
pub(super) const TRIES: u32 = 10;
/// With this code the bus says that another revision is stored.
const TAKEN: u64 = 10_071;

/// A value of the shared policy and its revision.
pub(super) struct CurrentValue {
    /// Of the value, or of its deletion; 0 when there was neither.
    pub(super) revision: u64,
    /// Whether there is a value, one that counts or not.
    pub(super) exists: bool,
    /// None when there is none, or it does not count: it does not verify, or is older than the one in force.
    pub(super) payload: Option<Vec<u8>>,
    /// Who signed it, and its revision.
    pub(super) author: Option<Author>,
}

/// What a writer names as replaced: the revision of the last value or deletion; 0 when there was neither.
pub(super) async fn revision(bus: &Bus, key: &PolicyKey) -> Result<u64, Fault> {
    let last = bus.read_last(POLICY_STREAM, &key.subject()).await?;
    Ok(last.map_or(0, |message| message.seq))
}

impl App {
    /// The current value under a key on the bus.
    pub(super) async fn current_policy(&self, key: &PolicyKey) -> Result<CurrentValue, Fault> {
        let (bus, realm) = self.policy_bus().await?;
        let mut present = self.read_current_policy(&bus, &realm, key).await?;
        for _ in 0..TRIES {
            // What somebody replaced between this look and the console's own reading looks like an older value.
            let replaced =
                present.payload.is_none() && revision(&bus, key).await? != present.revision;
            if !replaced {
                break;
            }
            present = self.read_current_policy(&bus, &realm, key).await?;
        }
        Ok(present)
    }

    async fn read_current_policy(
        &self,
        bus: &Bus,
        realm: &Uuid,
        key: &PolicyKey,
    ) -> Result<CurrentValue, Fault> {
        let shared = &self.inner.shared;
        let Some(value) = bus.policy_get(&key.to_string()).await? else {
            return Ok(CurrentValue {
                revision: revision(bus, key).await?,
                exists: false,
                payload: None,
                author: None,
            });
        };
        let stamp = Timestamp::from(value.stamp);
        let place = BucketEntry {
            revision: value.revision,
            stored_at: stamp,
        };
        let came = Incoming::of(shared, realm, key, (Some(&value.value), place));
        let (payload, author) = came
            .counting()
            .map(|row| (row.payload, (row.signer, value.revision)))
            .unzip();
        Ok(CurrentValue {
            revision: value.revision,
            exists: true,
            payload,
            author,
        })
    }

    async fn policy_bus(&self) -> Result<(Bus, Uuid), Fault> {
        let away = || {
            Fault::bus_unreachable(
                "the bus cannot be reached; nothing was changed, try again when it is back",
            )
        };
        self.knows_the_bus().await?;
        let bus = self.bus().ok_or_else(away)?;
        Ok((bus, self.inner.shared.realm().ok_or_else(away)?))
    }

    /// What writes the shared policy for this console's operator, whose key is active.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` for one that is pending or retired: what it signs counts nowhere, and would put what
    /// others signed out of force. `ErrorCode::BusUnreachable`.
    pub(super) async fn policy_writer(&self) -> Result<PolicyWriter<'_>, Fault> {
        let (bus, realm) = self.policy_bus().await?;
        // A process beside the console knows the log as of its start.
        if self.role() != Role::Console {
            refresh(&self.inner.shared, &bus).await?;
        }
        let own = self.identity().human_key();
        match self.why_not_sign(own.as_str()) {
            Some(why) => Err(Fault::read_only(why)),
            None => Ok(PolicyWriter {
                app: self,
                bus,
                realm,
            }),
        }
    }

    /// Waits until the console of this folder has read a revision, so that whoever set a control sees it in the next question.
    /// This may time out: the revision is on the bus.
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

/// Writes what an operator signs, whose key counts.
pub(super) struct PolicyWriter<'a> {
    app: &'a App,
    pub(super) bus: Bus,
    pub(super) realm: Uuid,
}

impl PolicyWriter<'_> {
    /// Replaces revision `expected` by `payload` of the time that it is signed with, later than the current value.
    pub(super) async fn put(
        &self,
        key: &PolicyKey,
        expected: u64,
        payload: impl FnOnce(Signed) -> Result<Vec<u8>, serde_json::Error>,
    ) -> Result<Put, Fault> {
        let at = next_time(&self.app.inner.shared, &self.bus, key).await?;
        let payload = payload(at).map_err(|error| unsigned(key, &error.to_string()))?;
        let value = sealed(self.app.identity(), &self.realm, key, &payload)?.1;
        let put = write_over(&self.bus, key, expected, value).await?;
        if let Put::Stored(revision) = put {
            self.app.seen_by_console(&key.to_string(), revision).await;
        }
        Ok(put)
    }

    /// The same with an object as payload. None when somebody else wrote in between.
    pub(super) async fn put_object(
        &self,
        key: &PolicyKey,
        expected: u64,
        payload: &Value,
    ) -> Result<Option<u64>, Fault> {
        let mut payload = payload.clone();
        let put = self.put(key, expected, |at| {
            if let Some(fields) = payload.as_object_mut() {
                fields.insert("at".to_owned(), json!(at));
            }
            serde_json_canonicalizer::to_vec(&payload)
        });
        match put.await? {
            Put::Stored(revision) => Ok(Some(revision)),
            Put::Conflict => Ok(None),
            Put::Rejected(why) => Err(Fault::bus_unreachable(why)),
            Put::Unknown(_) => Err(Fault::bus_unreachable(
                "the bus did not answer; check whether the change was applied before retrying",
            )),
        }
    }
}

/// What became of a value that was written over a revision.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It is stored, as this revision.
    Stored(u64),
    /// Somebody else wrote in between.
    Conflict,
    /// The bus says why.
    Rejected(String),
    /// The bus did not answer, and the value is not there now; it may yet come.
    Unknown(Bytes),
}

/// A value signed with the operator's key, and its bytes.
pub(super) fn sealed(
    identity: &Identity,
    realm: &Uuid,
    key: &PolicyKey,
    payload: &[u8],
) -> Result<(SignedEnvelope, Bytes), Fault> {
    let (keys, subject) = (identity.signing(), key.subject());
    let envelope = SignedEnvelope::seal(&keys.human, Context::Policy, realm, &subject, payload);
    let failed = |error: countersign_wire::EnvelopeError| unsigned(key, &error.to_string());
    let envelope = envelope.map_err(failed)?;
    let bytes = envelope.to_bytes().map_err(failed)?;
    Ok((envelope, bytes.into()))
}

fn unsigned(key: &PolicyKey, why: &str) -> Fault {
    Fault::failed(format!(
        "{key} of the shared policy cannot be signed: {why}"
    ))
}

/// A value as it was signed.
pub(super) fn envelope_of(row: &PolicyRow) -> Result<SignedEnvelope, Fault> {
    let key = row.signer.parse().map_err(|_| without_signature(row))?;
    let sig = row.sig.parse().map_err(|_| without_signature(row))?;
    Ok(SignedEnvelope::of_parts(&row.payload, key, sig))
}

/// The bytes of a value as they were signed.
pub(super) fn bytes_of(row: &PolicyRow) -> Result<Bytes, Fault> {
    let bytes = envelope_of(row)?.to_bytes();
    Ok(bytes.map_err(|_| without_signature(row))?.into())
}

fn without_signature(row: &PolicyRow) -> Fault {
    Fault::failed(format!("{} was stored without its signature", row.key))
}

/// Writes signed bytes over revision `expected`.
pub(super) async fn write_over(
    bus: &Bus,
    key: &PolicyKey,
    expected: u64,
    value: Bytes,
) -> Result<Put, Fault> {
    Ok(
        match bus
            .policy_put(&key.to_string(), expected, value.clone())
            .await?
        {
            PublishOutcome::Stored { seq } => Put::Stored(seq),
            PublishOutcome::Refused { code: TAKEN, .. } => Put::Conflict,
            PublishOutcome::Refused { code, description } => Put::Rejected(format!(
                "the bus refused the change ({code}): {description}"
            )),
            // It may be stored all the same.
            PublishOutcome::NoAnswer => match revision_of(bus, key, &value).await? {
                Some(revision) => Put::Stored(revision),
                None => Put::Unknown(value),
            },
        },
    )
}

/// The revision as which these bytes are stored.
pub(super) async fn revision_of(
    bus: &Bus,
    key: &PolicyKey,
    value: &Bytes,
) -> Result<Option<u64>, Fault> {
    let now = bus.policy_get(&key.to_string()).await?;
    let same = now.filter(|present| present.value == *value);
    Ok(same.map(|present| present.revision))
}

/// Before a writer whom others overtook tries again.
pub(super) async fn pause(attempt: u32) {
    tokio::time::sleep(Duration::from_millis(20 << attempt.min(5))).await;
}
