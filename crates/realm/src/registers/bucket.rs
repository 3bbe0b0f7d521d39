//! The bucket as an operator changes it.
//!
//! An unseen revision is never overwritten, and silence never counts as success.

use std::time::Duration;

use bytes::Bytes;
use countersign_keys::identity::Identity;
use countersign_wire::{PolicyKey, SignedEnvelope, Timestamp as Signed, is_timely, time_to_sign};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Registers;
use super::freshness::signed_at;
use super::register::Incoming;
use super::signed::sealed;
use crate::bus::clock::Clock;
use crate::bus::{Bus, POLICY_STREAM, PublishOutcome};
use crate::domain::Fault;
use crate::in_force::Author;
use crate::signers::Signers;
use crate::store::policy::PolicyRow;
use crate::store::{Reader, policy};

/// How long a change waits until the console of its folder has stored what it wrote.
const STORED_LIMIT: Duration = Duration::from_secs(3);
/// How often a writer whom others overtake tries.
const TRIES: u32 = 10;
/// How often a value is read that others replace while it is read.
const LOOKS: u32 = 10;
/// With this code the bus says that another revision is stored.
const TAKEN: u64 = 10_071;
const OVERTAKEN: &str = "the bus did not answer, and somebody else has changed this since; check `countersign status` and set it again if it is still needed";
const UNANSWERED: &str =
    "the bus did not answer; check whether the change was applied before retrying";

/// What a writer names as replaced: the revision of the last value or deletion; 0 when there was neither.
///
/// # Errors
/// `ErrorCode::BusUnreachable`.
pub async fn revision(bus: &Bus, key: &PolicyKey) -> Result<u64, Fault> {
    let last = bus.read_last(POLICY_STREAM, &key.subject()).await?;
    Ok(last.map_or(0, |message| message.seq))
}

/// What the bucket holds under a key.
#[derive(Debug, Clone)]
pub struct Current {
    /// Of the value, or of its deletion; 0 when there was neither.
    pub revision: u64,
    /// The bytes, counting or not; none when the key has no value.
    pub bytes: Option<Bytes>,
    /// When this console signs what it writes over it: whoever reads both takes its value.
    pub at: Signed,
    came: Incoming,
}

impl Current {
    /// The value; none when there is none, or it does not count: it does not verify, or is older than the one in force.
    #[must_use]
    pub fn payload(&self) -> Option<&[u8]> {
        self.came.valid().map(|row| row.payload.as_slice())
    }

    /// The same, also of one that is older than the one in force.
    #[must_use]
    pub fn signed(&self) -> Option<&[u8]> {
        match &self.came {
            Incoming::Valid(row) | Incoming::Stale(row) => Some(&row.payload),
            Incoming::Invalid | Incoming::Deleted => None,
        }
    }

    /// Who signed the value, and its revision.
    #[must_use]
    pub fn author(&self) -> Option<Author> {
        let row = self.came.valid()?;
        Some((row.signer.clone(), self.revision))
    }

    /// An object as it is signed over it.
    ///
    /// # Errors
    /// `ErrorCode::Failed` where it has no canonical JSON.
    pub fn object(&self, key: &PolicyKey, mut object: Value) -> Result<Vec<u8>, Fault> {
        if let Some(fields) = object.as_object_mut() {
            fields.insert("at".to_owned(), json!(self.at));
        }
        serde_json_canonicalizer::to_vec(&object).map_err(|error| {
            Fault::failed(format!(
                "{key} of the shared policy cannot be signed: {error}"
            ))
        })
    }
}

/// What becomes of a value.
pub enum Next<T> {
    /// It is replaced by this payload.
    Write(Vec<u8>, T),
    /// It stays as it is.
    Leave(T),
}

/// How a change is made.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Whether it is tried again where the bus refuses it or does not answer.
    pub insists: bool,
    /// What is said where others were faster each time.
    pub overtaken: &'static str,
}

/// What became of a value that was written over a revision.
enum Put {
    /// It is stored, as this revision.
    Stored(u64),
    /// Somebody else wrote in between.
    Conflict,
    /// The bus says why.
    Rejected(String),
    /// The bus did not answer, and the value is not there now; it may yet come.
    Unknown,
}

/// The bucket of a realm, and the parts of the console that reads and writes it.
pub struct Bucket<'a, S> {
    /// The connection.
    pub bus: Bus,
    /// Whose bucket it is.
    pub realm: Uuid,
    /// What is in force here.
    pub registers: &'a Registers,
    /// Who may sign.
    pub signers: &'a S,
    /// The server's time.
    pub clock: &'a dyn Clock,
    /// What this folder's console stored.
    pub reader: &'a Reader,
}

impl<S: Signers> Bucket<'_, S> {
    /// The current value under a key.
    ///
    /// # Errors
    /// `ErrorCode::BusUnreachable`.
    pub async fn current(&self, key: &PolicyKey) -> Result<Current, Fault> {
        let mut current = self.read(key).await?;
        for _ in 0..LOOKS {
            if current.bytes.is_none() || current.payload().is_some() {
                break;
            }
            // What somebody replaced between this look and the console's own reading looks like an older value.
            let revision = current.revision;
            current = self.read(key).await?;
            if current.revision == revision {
                break;
            }
        }
        Ok(current)
    }

    /// The same, as it is read once.
    ///
    /// # Errors
    /// `ErrorCode::BusUnreachable`.
    pub async fn read(&self, key: &PolicyKey) -> Result<Current, Fault> {
        let name = key.to_string();
        let change = self.bus.policy_last(&name).await?;
        let known = self.registers.signed_at(&name);
        let present = change.as_ref().and_then(|change| {
            let envelope = SignedEnvelope::from_bytes(change.value.as_deref()?).ok()?;
            let at = signed_at(&envelope.payload_bytes().ok()?)?;
            // What lies further ahead counts nowhere.
            is_timely(known, at, change.stamp).then_some(at)
        });
        let now = Signed::new(self.clock.now().into());
        let came = change.as_ref().map_or(Incoming::Deleted, |change| {
            self.registers
                .judge((self.signers, &self.realm), key, change)
        });
        Ok(Current {
            revision: change.as_ref().map_or(0, |change| change.revision),
            bytes: change.and_then(|change| change.value),
            at: time_to_sign(now, known.max(present)),
            came,
        })
    }

    /// Replaces a value by what `change` makes of the current one, signed with the operator's key. `change` is asked
    /// again whenever somebody else was faster. Returns the revision in force, once this folder's console has stored it.
    ///
    /// # Errors
    /// What `change` says; `ErrorCode::BusUnreachable` where the bus refuses or does not answer, or others were faster
    /// each time.
    pub async fn update<T, E, F>(
        &self,
        identity: &Identity,
        (key, manner): (&PolicyKey, Manner),
        change: impl Fn(Current) -> F,
    ) -> Result<(u64, T), E>
    where
        E: From<Fault>,
        F: Future<Output = Result<Next<T>, E>>,
    {
        let mut unanswered: Option<(u64, Bytes, T)> = None;
        let mut refused = None;
        for attempt in 0..TRIES {
            let current = self.current(key).await?;
            let expected = current.revision;
            let moved_on = |tried: &mut (u64, Bytes, T)| tried.0 != expected;
            if let Some((_, value, with)) = unanswered.take_if(moved_on) {
                // It may have been stored and replaced: what came after it is the later word.
                return match current.bytes.as_ref() == Some(&value) {
                    true => Ok((expected, with)),
                    false => Err(Fault::bus_unreachable(OVERTAKEN).into()),
                };
            }
            let (payload, with) = match change(current).await? {
                Next::Write(payload, with) => (payload, with),
                Next::Leave(with) => return Ok((expected, with)),
            };
            let value = sealed(identity, &self.realm, key, &payload)?;
            match self.put(key, expected, &value).await? {
                Put::Stored(revision) => {
                    self.is_stored(key, revision).await;
                    return Ok((revision, with));
                }
                Put::Conflict => {}
                Put::Rejected(why) if manner.insists => refused = Some(why),
                Put::Rejected(why) => return Err(Fault::bus_unreachable(why).into()),
                Put::Unknown if manner.insists => unanswered = Some((expected, value, with)),
                Put::Unknown => return Err(Fault::bus_unreachable(UNANSWERED).into()),
            }
            tokio::time::sleep(Duration::from_millis(20 << attempt.min(5))).await;
        }
        let why = refused.unwrap_or_else(|| manner.overtaken.to_owned());
        Err(Fault::bus_unreachable(why).into())
    }

    async fn put(&self, key: &PolicyKey, expected: u64, value: &Bytes) -> Result<Put, Fault> {
        let name = key.to_string();
        let put = self.bus.policy_put(&name, expected, value.clone()).await?;
        Ok(match put {
            PublishOutcome::Stored { seq } => Put::Stored(seq),
            PublishOutcome::Refused { code: TAKEN, .. } => Put::Conflict,
            PublishOutcome::Refused { code, description } => Put::Rejected(format!(
                "the bus refused the change ({code}): {description}"
            )),
            // It may be stored all the same.
            PublishOutcome::NoAnswer => match self.read(key).await? {
                now if now.bytes.as_ref() == Some(value) => Put::Stored(now.revision),
                _ => Put::Unknown,
            },
        })
    }

    /// Waits until the console of this folder has stored a revision, so that whoever set a control sees it in the next
    /// question. This may time out: the revision is on the bus.
    async fn is_stored(&self, key: &PolicyKey, revision: u64) {
        let (name, mut stored) = (key.to_string(), self.registers.stored.subscribe());
        let seen = |row: PolicyRow| u64::try_from(row.revision).is_ok_and(|seen| seen >= revision);
        let look = async {
            loop {
                let row = policy::get(self.reader, &name).await;
                if row.ok().flatten().is_some_and(seen) || stored.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(STORED_LIMIT, look).await;
    }
}
