//! Takes in a value of the shared policy from the bus: verifies it, hands it to who reads its key, and reports it.
//!
//! A value counts only if an operator in force has signed it, after the value in force; that one is written back over
//! an older one.

use std::sync::Arc;

use countersign_wire::realm::device_may_set;
use countersign_wire::{Context, KeyRole, PolicyKey, Sha256Digest, SignedEnvelope, json_value};
use serde_json::{Value, json};
use uuid::Uuid;

use super::alarms;
use super::job::Job;
use super::relaxing::is_permitted;
use super::{controls, policies};
use crate::bus::PolicyChange;
use crate::domain::{AlarmCode, Timestamp};
use crate::runtime::Shared;
use crate::store::audit::Entry;
use crate::store::policy::{self, PolicyRow};
use crate::store::policy_history;

/// What a change of a key is.
pub(super) enum Incoming {
    /// An operator in force signed it, after what was in force or as that.
    Valid(PolicyRow),
    /// An operator signed it before the value in force.
    Stale(PolicyRow),
    /// It was not signed by an operator in force who may relax what it relaxes.
    Invalid,
    /// The key has no value any more.
    Deleted,
}

/// Where a change is in the bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct BucketEntry {
    pub(super) revision: u64,
    /// When the server stored it.
    pub(super) stored_at: Timestamp,
}

/// What the reader of a key made of a change that is newer than what it knew.
pub(super) struct Taken {
    /// Whether it can be believed and read.
    pub(super) good: bool,
    /// What the audit log keeps of it.
    pub(super) detail: Value,
}

/// Keeps a value that was taken over, with what the audit log says of it.
pub(super) fn keep(row: PolicyRow, entries: Vec<Entry>) -> Job {
    Job::kept(move |writer, batch| {
        // Another process of this folder may have written it, and said so in the audit log.
        if policy::put(batch.tx, &row)? {
            policy_history::add(batch.tx, &row)?;
            batch.effects.audit.extend(entries.iter().cloned());
        }
        batch.effects.status = true;
        // Who may answer, and what is to be denied, may hang on it.
        writer.next_due = None;
        Ok(())
    })
}

impl Incoming {
    pub(super) fn of(
        shared: &Shared,
        realm: &Uuid,
        key: &PolicyKey,
        (value, place): (Option<&[u8]>, BucketEntry),
    ) -> Self {
        let Some(value) = value else {
            return Self::Deleted;
        };
        match open(shared, realm, key, (value, place)) {
            Some(row) if !shared.freshness.lets(&row, place.stored_at) => Self::Stale(row),
            Some(row) if is_permitted(shared, key, &row, place.stored_at) => Self::Valid(row),
            Some(_) => Self::Invalid,
            None => Self::Invalid,
        }
    }

    /// The value, if it counts.
    pub(super) fn counting(self) -> Option<PolicyRow> {
        match self {
            Self::Valid(row) => Some(row),
            Self::Stale(_) | Self::Invalid | Self::Deleted => None,
        }
    }
}

/// A value that an operator in force has signed.
pub(super) fn open(
    shared: &Shared,
    realm: &Uuid,
    key: &PolicyKey,
    (value, place): (&[u8], BucketEntry),
) -> Option<PolicyRow> {
    let envelope = SignedEnvelope::from_bytes(value).ok()?;
    let signer = envelope.key.as_str();
    let term = shared.trusted.register_term(signer, place.revision)?;
    let subject = key.subject();
    let payload = term
        .open(&envelope, (Context::Policy, realm, &subject))
        .ok()?;
    let may = match term.key.role.known()? {
        KeyRole::Human => true,
        KeyRole::Auto => false,
        KeyRole::Device => {
            let said = json_value(&payload)?;
            device_may_set(signer, &key.to_string(), &said)
        }
    };
    if !may {
        return None;
    }
    Some(PolicyRow {
        key: key.to_string(),
        revision: i64::try_from(place.revision).unwrap_or(i64::MAX),
        payload,
        signer: envelope.key.to_string(),
        sig: envelope.sig.to_string(),
    })
}

/// Takes a change over: first for who asks by it, then into the store.
pub(super) async fn changed(
    shared: &Arc<Shared>,
    realm: &Uuid,
    key: &PolicyKey,
    change: &PolicyChange,
) {
    let place = BucketEntry {
        revision: change.revision,
        stored_at: change.stamp.into(),
    };
    let came = Incoming::of(shared, realm, key, (change.value.as_deref(), place));
    let (taken, code) = match key {
        PolicyKey::Panic | PolicyKey::Pause(_) | PolicyKey::Bypass(_) => {
            let taken = controls::take(shared, key, &came, place);
            (taken, AlarmCode::ControlUnverified)
        }
        PolicyKey::Rules(workspace) => {
            let taken = policies::take_rules(shared, workspace, &came, place).await;
            (taken, AlarmCode::RulesUnusable)
        }
        PolicyKey::Setup(agent) => {
            let taken = policies::take_setup(shared, agent, &came, place);
            (taken, AlarmCode::SetupUnusable)
        }
        // Nobody here reads the other keys.
        _ => return,
    };
    // A value that was replaced is not reported: the bucket is read from its beginning after each connect.
    let Some(Taken { good, mut detail }) = taken else {
        return;
    };
    let subject = key.to_string();
    if good {
        shared.notify(alarms::lower(code, subject)).await;
    } else {
        tracing::error!(%key, "it does not verify, cannot be read, or is older than the one in force");
        shared.notify(alarms::raise(code, subject)).await;
    }
    match came {
        Incoming::Valid(row) => {
            shared.freshness.took(&row);
            let digest = Sha256Digest::of_bytes(&row.payload).to_string();
            detail["payload_digest"] = json!(digest);
            detail["revision"] = json!(row.revision);
            let entry = entry(shared, row.signer.clone(), key, detail);
            shared.notify(keep(row, vec![entry])).await;
        }
        Incoming::Stale(row) => shared.freshness.refused(&row),
        // Nobody signs a deletion: only a signed value relaxes what holds back.
        Incoming::Deleted if good => {
            shared.freshness.deleted(key);
            shared.notify(deletion(shared, key, change.revision)).await;
        }
        Incoming::Deleted | Incoming::Invalid => {}
    }
    shared.policies.touch();
    // What waits is judged again, and of a stopped agent looked at.
    shared.notify(Job::Rescan).await;
}

/// Keeps in the store that a key was deleted: else whoever reads it would believe the value before.
fn deletion(shared: &Shared, key: &PolicyKey, revision: u64) -> Job {
    let row = PolicyRow::deleted(key.to_string(), revision);
    let digest = Sha256Digest::of_bytes(&row.payload).to_string();
    let detail = json!({ "deleted": true, "payload_digest": digest, "revision": row.revision });
    let entry = entry(shared, shared.identity.auto_key().to_string(), key, detail);
    keep(row, vec![entry])
}

fn entry(shared: &Shared, actor: String, key: &PolicyKey, detail: Value) -> Entry {
    Entry {
        at: shared.clock.now(),
        actor,
        action: "policy",
        subject: key.to_string(),
        detail,
    }
}
