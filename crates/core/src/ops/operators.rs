//! The realm's list of signing keys, shared through `CS_POLICY` (protocol, section 8).
//!
//! Refuses a list whose signature does not hold.

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{
    Context, KeyRole, OperatorEntry, OperatorList, PolicyKey, SignedEnvelope, TrustedKey,
};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use super::job::Job;
use crate::bus::{Bus, PolicyChange, PublishOutcome, StreamMessage};
use crate::domain::Timestamp;
use crate::error::OpError;
use crate::runtime::Shared;
use crate::store::audit::Entry;
use crate::store::policy::PolicyRow;

const KEY: &str = "operators";
/// Consoles that start together write the list one after another.
const TRIES: u32 = 20;
/// A newcomer's keys count from about now: its clock is an estimate, and its list may have waited.
const NEWCOMER_SLACK_MS: i64 = 60_000;
const LEARN_EVERY: Duration = Duration::from_millis(500);

/// What keeps the list.
#[derive(Clone)]
pub(crate) struct Operators {
    pub(crate) shared: Arc<Shared>,
    pub(crate) bus: Bus,
    pub(crate) realm: Uuid,
    pub(crate) last_learned: Arc<Mutex<Option<Instant>>>,
}

impl Operators {
    /// Puts this console's two keys on the list, if they are not there. Returns the list's revision.
    pub(crate) async fn register(&self) -> Result<u64, OpError> {
        for attempt in 0..TRIES {
            let (revision, mut list) = match self.bus.policy_get(KEY).await? {
                Some(value) => match self.accept(&value.value, value.revision).await {
                    Some(list) => (value.revision, list),
                    // Written over, every older decision would lose its signer.
                    None => {
                        return Err(OpError::Environment(
                            "the realm's list of operators does not verify; have a colleague's console write it again"
                                .to_owned(),
                        ));
                    }
                },
                None => (0, OperatorList::new(Vec::new())),
            };
            let missing = self.missing(&list);
            if missing.is_empty() {
                return Ok(revision);
            }
            list.operators.extend(missing);
            if let Some(revision) = self.write(&list, revision).await? {
                return Ok(revision);
            }
            tokio::time::sleep(Duration::from_millis(20 << attempt.min(4))).await;
        }
        Err(OpError::BusUnreachable(
            "the list of operators could not be written; check that this console may write CS_POLICY"
                .to_owned(),
        ))
    }

    fn missing(&self, list: &OperatorList) -> Vec<OperatorEntry> {
        let from = countersign_wire::Timestamp::new(self.shared.clock.now().into());
        let known = |key: &TrustedKey| list.operators.iter().any(|entry| entry.key == key.key);
        self.shared
            .identity
            .trusted_keys()
            .into_iter()
            .filter(|key| !known(key))
            .map(|key| OperatorEntry {
                key: key.key,
                name: key.name,
                role: key.role,
                from,
                until: None,
            })
            .collect()
    }

    /// Signs and writes the list over `revision`; returns the new one, none when somebody else wrote
    /// meanwhile.
    async fn write(&self, list: &OperatorList, revision: u64) -> Result<Option<u64>, OpError> {
        let failed = |what: &str| OpError::Failed(format!("the list of operators: {what}"));
        let payload = serde_json::to_vec(list).map_err(|_| failed("cannot be written as JSON"))?;
        let subject = PolicyKey::Operators.subject();
        let human = &self.shared.identity.human;
        let envelope =
            SignedEnvelope::seal(human, Context::Policy, &self.realm, &subject, &payload)
                .map_err(|_| failed("cannot be signed"))?;
        let bytes = envelope
            .to_bytes()
            .map_err(|_| failed("cannot be written as JSON"))?;
        match self
            .bus
            .policy_put(KEY, revision, bytes.clone().into())
            .await?
        {
            PublishOutcome::Stored { seq } => {
                self.accept(&bytes, seq).await;
                Ok(Some(seq))
            }
            PublishOutcome::Refused { .. } => Ok(None),
            PublishOutcome::NoAnswer => Err(OpError::BusUnreachable(
                "CS_POLICY did not answer; check the permissions".into(),
            )),
        }
    }

    /// Verifies a value, trusts its keys and keeps it. None when it does not verify.
    async fn accept(&self, value: &[u8], revision: u64) -> Option<OperatorList> {
        let subject = PolicyKey::Operators.subject();
        let opened = SignedEnvelope::from_bytes(value).and_then(|envelope| {
            envelope
                .open(Context::Policy, &self.realm, &subject)
                .map(|payload| (envelope, payload))
        });
        let list = opened.ok().and_then(|(envelope, payload)| {
            let list: OperatorList = serde_json::from_slice(&payload).ok()?;
            Some((envelope, payload, list))
        });
        let Some((envelope, payload, list)) = list else {
            tracing::error!(revision, "the list of operators on the bus does not verify");
            let alarm = Job::Alarm {
                code: "operators_unverified",
                subject: KEY.to_owned(),
            };
            self.tell(alarm).await;
            return None;
        };
        let now = self.shared.clock.now();
        if !self.is_lawful(&list, envelope.key.as_str(), now) {
            tracing::error!(revision, "a stranger changed the list of operators");
            let alarm = Job::Alarm {
                code: "operators_refused",
                subject: envelope.key.to_string(),
            };
            self.tell(alarm).await;
            return None;
        }
        let entries = self.arrivals(&list, &payload, now);
        self.shared.trusted.accept(&list, envelope.key.as_str());
        if let Ok(mut known) = self.shared.operator_list.write() {
            *known = Some(list.clone());
        }
        if let Ok(mut keys) = self.shared.operators.write() {
            *keys = trusted_now(&list, now);
        }
        let row = PolicyRow {
            key: KEY.to_owned(),
            revision: i64::try_from(revision).unwrap_or(i64::MAX),
            payload,
            signer: envelope.key.to_string(),
            sig: envelope.sig.to_string(),
        };
        self.tell(Job::Policy(row, entries)).await;
        Some(list)
    }

    /// Whether a list may be taken over: signed by a key that was on it before, or by a newcomer who adds
    /// keys from now on and changes nothing else. A console without a list takes what it finds.
    fn is_lawful(&self, list: &OperatorList, signer: &str, now: Timestamp) -> bool {
        let known = self.shared.operator_list.read();
        let Some(known) = known.ok().and_then(|known| known.clone()) else {
            return true;
        };
        if self.shared.trusted.is_endorsed(signer) {
            return true;
        }
        let kept = known
            .operators
            .iter()
            .all(|entry| list.operators.contains(entry));
        let fresh = list
            .operators
            .iter()
            .filter(|entry| !known.operators.contains(entry))
            .all(|entry| Timestamp::from(entry.from.get()).plus_ms(NEWCOMER_SLACK_MS) >= now);
        kept && fresh
    }

    async fn tell(&self, job: Job) {
        if self.shared.jobs.send(job).await.is_err() {
            tracing::debug!("the console stops");
        }
    }

    /// One audit entry for the value, one for each key that was not known.
    fn arrivals(&self, list: &OperatorList, payload: &[u8], now: Timestamp) -> Vec<Entry> {
        let actor = self.shared.identity.auto_key().to_string();
        let digest = countersign_wire::Sha256Digest::of_bytes(payload).to_string();
        let entry = |action, subject: String, detail| Entry {
            at: now,
            actor: actor.clone(),
            action,
            subject,
            detail,
        };
        let mut entries = vec![entry(
            "policy",
            KEY.to_owned(),
            json!({ "payload_digest": digest }),
        )];
        for operator in &list.operators {
            if !self.shared.trusted.knows(operator.key.as_str()) {
                let role = if operator.role == KeyRole::Human {
                    "human"
                } else {
                    "auto"
                };
                entries.push(entry(
                    "operator_arrived",
                    operator.key.to_string(),
                    json!({ "role": role }),
                ));
            }
        }
        entries
    }

    /// Takes a changed list over; re-signs one that came from a newcomer, so that agents can take it
    /// over, too.
    pub(super) async fn changed(&self, change: PolicyChange) {
        let Some(value) = change.value else { return };
        let Ok(envelope) = SignedEnvelope::from_bytes(&value) else {
            return;
        };
        // What this console wrote itself was accepted when it was written.
        if envelope.key == *self.shared.identity.human_key() {
            return;
        }
        let newcomer = !self.shared.trusted.is_endorsed(envelope.key.as_str());
        let Some(list) = self.accept(&value, change.revision).await else {
            return;
        };
        if newcomer && let Err(error) = self.write(&list, change.revision).await {
            tracing::warn!(%error, "the list of operators could not be signed again");
        }
    }

    /// Reads the list again when a decision is signed with a key that is not known yet: its console
    /// may have arrived a moment ago. Holds the batch until the list was read.
    pub(crate) async fn learn_signers(&self, batch: &[StreamMessage]) {
        let unknown = |message: &StreamMessage| {
            message
                .key
                .as_deref()
                .is_some_and(|key| !self.shared.trusted.knows(key))
        };
        if !batch.iter().any(unknown) {
            return;
        }
        let mut last = self.last_learned.lock().await;
        loop {
            if let Some(at) = *last {
                tokio::time::sleep_until(at + LEARN_EVERY).await;
            }
            *last = Some(Instant::now());
            match self.bus.policy_get(KEY).await {
                Ok(Some(value)) => {
                    self.accept(&value.value, value.revision).await;
                    return;
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "the list of operators could not be read");
                }
            }
        }
    }
}

/// The keys that count now, as agents get them.
fn trusted_now(list: &OperatorList, now: Timestamp) -> Vec<TrustedKey> {
    list.operators
        .iter()
        .filter(|entry| {
            entry
                .until
                .is_none_or(|until| now < Timestamp::from(until.get()))
        })
        .map(|entry| TrustedKey {
            key: entry.key.clone(),
            name: entry.name.clone(),
            role: entry.role,
        })
        .collect()
}
