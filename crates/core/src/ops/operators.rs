//! The realm's list of signing keys, shared through `CS_POLICY` (protocol, section 8).
//!
//! A list is accepted only if its signature holds, its signer may make each change, and it was signed after the list in
//! force. A revision that was not read is never overwritten.

mod accept;
mod added;
mod ahead;
mod audit_entries;
pub(crate) mod change;
mod console_keys;
mod edit;
mod endorsement;
mod heal;
mod lawful;
mod origins;
mod recovered;
mod refused;
mod rotate;

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{
    ErrorCode, OperatorEntry, OperatorList, PolicyKey, SignedEnvelope, TrustedKey, read_json,
    time_to_sign,
};
use tokio::sync::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use self::accept::Accepted;
use super::alarms;
use super::policy_value::{self, Put, pause, write_over};
use super::trusted::KeyStatus;
use crate::Fault;
use crate::bus::{Bus, POLICY_STREAM, StreamMessage};
use crate::domain::{AlarmCode, Timestamp};
use crate::runtime::Shared;
use crate::store::policy::PolicyRow;

pub use change::{Change, ChangeError, Limits};
pub(crate) use edit::why_not;
pub use edit::{Listed, ListedState};
use lawful::Permission;
pub use origins::Origin;
pub use recovered::ListRecovery;
pub(crate) use recovered::relearn;
use refused::Refused;
pub use rotate::Rotated;
pub(crate) use rotate::{follow, settle};

const KEY: &str = "operators";
/// Consoles that start together write the list one after another.
const TRIES: u32 = 20;
/// Bytes of a list to which newcomers add themselves, about 1,000 keys. There is room beyond for ends and rotations:
/// the bus takes 4 MiB, or what its `max_payload` says, and every reader reads it whole.
const NEWCOMERS_MAX: usize = 256 << 10;
const LEARN_EVERY: Duration = Duration::from_millis(500);

/// The list as it was last accepted.
#[derive(Debug, Clone)]
pub(crate) struct KnownList {
    pub(crate) list: OperatorList,
    /// As it was stored.
    pub(crate) envelope: SignedEnvelope,
    /// Its revision in the bucket; 0 when the bucket is another one now.
    pub(crate) revision: u64,
    /// When the server stored it; none until it was read from the bus.
    pub(crate) stored_at: Option<Timestamp>,
    /// What somebody who may edit it is to sign, so that agents follow it; none where they do already. Not known of one
    /// that was read from the store.
    pub(crate) to_sign: Option<Box<OperatorList>>,
}

impl KnownList {
    /// The list that this folder kept; none where it cannot be read.
    pub(crate) fn remembered(row: &PolicyRow) -> Option<Self> {
        Some(Self {
            list: read_json(&row.payload).ok()?,
            envelope: policy_value::envelope_of(row).ok()?,
            revision: u64::try_from(row.revision).ok()?,
            stored_at: None,
            to_sign: None,
        })
    }

    /// The list as it is to be signed next.
    pub(super) fn whole(self) -> OperatorList {
        self.to_sign.map_or(self.list, |whole| *whole)
    }
}

/// What keeps the list.
#[derive(Clone)]
pub(crate) struct Operators {
    pub(crate) shared: Arc<Shared>,
    pub(crate) bus: Bus,
    pub(crate) realm: Uuid,
    last_learned: Arc<Mutex<Option<Instant>>>,
    /// Lists are judged one after another.
    turn: Arc<Mutex<()>>,
    /// When a list was last written over a wrong one.
    healed: Arc<Mutex<Option<Instant>>>,
}

/// The list to be changed, and what is in the bucket.
pub(super) struct Latest {
    revision: u64,
    list: OperatorList,
    /// The bucket holds neither the list nor a list that keeps all of it.
    broken: bool,
    /// Agents cannot take over what is in the bucket before it is signed again.
    unsigned: bool,
}

impl Operators {
    pub(crate) fn new(shared: Arc<Shared>, bus: Bus, realm: Uuid) -> Self {
        Self {
            shared,
            bus,
            realm,
            last_learned: Arc::default(),
            turn: Arc::default(),
            healed: Arc::default(),
        }
    }

    /// Puts this console's two keys on the list, or among those that wait, if they are not there. Returns
    /// the list's revision.
    pub(crate) async fn register(&self) -> Result<u64, Fault> {
        for attempt in 0..TRIES {
            let latest = self.latest().await?;
            // Which list agents follow is said by who writes.
            let mut list = OperatorList {
                base: None,
                ..latest.list
            };
            let (missing, later) = (self.missing(&list), self.not_yet(&list));
            let unsent = latest.broken || self.is_due_again();
            let unfollowed = latest.unsigned && self.may_edit();
            let now = self.shared.clock.now();
            let ended = self.may_edit() && ahead::end_what_was_ended(&mut list, now);
            let resign = ended || ((unsent || unfollowed) && self.may_sign());
            if missing.is_empty() && later.is_empty() && !resign {
                if self.is_owed() {
                    self.heal_beside(list, latest.revision);
                }
                return Ok(latest.revision);
            }
            let arrives = !missing.is_empty();
            for entry in missing {
                change::arrive(&mut list, entry, now);
            }
            list.operators.extend(later);
            if arrives && serde_json::to_vec(&list).is_ok_and(|list| list.len() > NEWCOMERS_MAX) {
                return Err(Fault::environment(format!(
                    "this folder's keys are new, and the realm's list of operators is full with {} entries, which are never removed: use a data folder that is kept",
                    list.operators.len()
                )));
            }
            if let Some(revision) = self.write(&list, latest.revision).await? {
                return Ok(revision);
            }
            pause(attempt).await;
        }
        Err(unwritable())
    }

    /// Whether lists that this console signs count: its operator is on the list, now.
    fn may_sign(&self) -> bool {
        let human = self.shared.identity.human_key();
        let now = self.shared.clock.now();
        self.shared.trusted.standing(human.as_str(), now) == KeyStatus::Active
    }

    /// The keys of this console that count only later, as they count from now on: they were entered while the
    /// server's clock was ahead.
    fn not_yet(&self, list: &OperatorList) -> Vec<OperatorEntry> {
        let keys = self.shared.identity.trusted_keys();
        let now = self.shared.clock.now();
        let later = keys
            .iter()
            .filter_map(|own| added::not_yet(list, own.key.as_str(), now));
        later.map(|term| change::from_now(term, now)).collect()
    }

    /// What this console adds to the list.
    fn missing(&self, list: &OperatorList) -> Vec<OperatorEntry> {
        let from = countersign_wire::Timestamp::new(self.shared.clock.now().into());
        let console = self.shared.identity.console_id.to_string();
        let current = |key: &TrustedKey| {
            let waits = list.is_waiting(key.key.as_str());
            list.operators.iter().any(|entry| entry.key == key.key)
                || (waits && list.operator_approval)
        };
        self.shared
            .identity
            .trusted_keys()
            .into_iter()
            .filter(|key| !current(key))
            .map(|key| OperatorEntry {
                console: Some(console.clone()),
                ..OperatorEntry::new(key.key, key.name, key.role, from)
            })
            .collect()
    }

    fn known(&self) -> Option<KnownList> {
        self.shared.operator_list.read().clone()
    }

    /// Reads the list from the bucket's leader, with every list that came between.
    pub(super) async fn latest(&self) -> Result<Latest, Fault> {
        // Before the bus is asked: a list that is written meanwhile must not look like a rollback of the bus.
        let seen = self.known().map_or(0, |known| known.revision);
        let value = self.bus.policy_get(KEY).await?;
        let last = match &value {
            Some(value) => value.revision,
            None => policy_value::revision(&self.bus, &PolicyKey::Operators).await?,
        };
        let Some(known) = self.known() else {
            let Some(value) = value else {
                if last > 0 {
                    return Err(unverified());
                }
                return Ok(Latest {
                    revision: 0,
                    list: OperatorList::new(Vec::new()),
                    broken: false,
                    unsigned: false,
                });
            };
            let stamp = value.stamp.into();
            return match self.accept(&value.value, value.revision, stamp).await {
                Accepted::Yes(list) => Ok(Latest {
                    revision: last,
                    list,
                    broken: false,
                    unsigned: false,
                }),
                // Written over, every older decision would lose its signer.
                Accepted::ToSign(_) | Accepted::No(_) => Err(unverified()),
            };
        };
        if last < seen {
            // Another bucket, or an older copy of it: what is known goes there again.
            self.shared.forget_list_revision();
        }
        let mut next = self.known().map_or(0, |known| known.revision) + 1;
        let mut refused = value.is_none().then_some(Refused::Unreadable);
        let subject = PolicyKey::Operators.subject();
        while next <= last {
            let Some(message) = self.bus.read_next(POLICY_STREAM, &subject, next).await? else {
                break;
            };
            next = message.seq + 1;
            let stamp = message.stamp.into();
            let accepted = self.accept(&message.payload, message.seq, stamp).await;
            refused = match accepted {
                Accepted::No(refused) => Some(refused),
                Accepted::ToSign(_) | Accepted::Yes(_) => None,
            };
        }
        if let Some(value) = &value {
            self.stands_since(value.revision, value.stamp.into());
        }
        let known = self.known().unwrap_or(known);
        let unsigned = known.to_sign.is_some();
        let list = known.whole();
        let now = self.shared.clock.now();
        if let Some(Refused::Older(_)) = refused {
            self.alarm_older(last).await;
        }
        let broken = refused.as_ref().is_some_and(|refused| refused.harms(&list));
        let list = refused.map_or(list.clone(), |refused| refused.repaired(&list, now));
        Ok(Latest {
            revision: last,
            list,
            broken,
            unsigned,
        })
    }

    /// When the server stored the list that is known: a store does not record it.
    fn stands_since(&self, revision: u64, stamp: Timestamp) {
        if let Some(known) = self.shared.operator_list.write().as_mut()
            && known.revision == revision
        {
            known.stored_at = Some(stamp);
        }
    }

    /// Signs and writes the list over `revision`, later than its `at`; returns the new one, none when somebody else
    /// wrote meanwhile. What every other console would refuse is not written.
    async fn write(&self, list: &OperatorList, revision: u64) -> Result<Option<u64>, Fault> {
        let failed = |what: &str| Fault::failed(format!("the list of operators: {what}"));
        let now = self.shared.clock.now();
        let at = time_to_sign(countersign_wire::Timestamp::new(now.into()), list.at);
        let mut list = OperatorList {
            at: Some(at),
            ..list.clone()
        };
        list.base = match self.may_edit() {
            true => {
                self.endorse(&mut list);
                None
            }
            false => self.known().and_then(|known| known.base(now)),
        };
        let own = self.shared.identity.human_key();
        if let Some(known) = self.known() {
            if known.revision > revision {
                return Ok(None);
            }
            if lawful::judge(&self.realm, &known.list, &list, own.as_str(), now)
                == Permission::Denied
            {
                return Err(failed(
                    "the other consoles would refuse this change; `countersign operators list` shows what this operator may do",
                ));
            }
        }
        let payload = serde_json::to_vec(&list).map_err(|_| failed("cannot be written as JSON"))?;
        let (identity, key) = (&self.shared.identity, PolicyKey::Operators);
        let (envelope, value) = policy_value::sealed(identity, &self.realm, &key, &payload)?;
        match write_over(&self.bus, &key, revision, value).await? {
            Put::Stored(seq) => {
                let turn = self.turn.lock().await;
                self.take_over(&turn, (list, now, None), envelope, payload, seq)
                    .await;
                Ok(Some(seq))
            }
            Put::Conflict => Ok(None),
            Put::Rejected(why) => Err(Fault::bus_unreachable(format!(
                "the bus refuses the list of operators ({why}); check that this console may write CS_POLICY, and the server's max_payload"
            ))),
            Put::Unknown(_) => Err(Fault::bus_unreachable(
                "CS_POLICY did not answer; check with `countersign doctor` that this console may write it",
            )),
        }
    }

    /// For the last list in the bucket: a bucket that was put back has older ones before it.
    async fn alarm_older(&self, revision: u64) {
        tracing::error!(
            revision,
            "the list of operators is older than the one in force"
        );
        // Its signer did nothing: anybody can have kept it.
        self.alarm(AlarmCode::OperatorsRefused, KEY.to_owned())
            .await;
    }

    async fn alarm(&self, code: AlarmCode, subject: String) {
        self.shared.notify(alarms::raise(code, subject)).await;
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
            match self.latest().await {
                Ok(_) => return,
                Err(error) if error.code == ErrorCode::BusUnreachable => {
                    tracing::warn!(%error, "the list of operators could not be read");
                }
                Err(error) => {
                    tracing::warn!(%error, "the list of operators could not be used");
                    return;
                }
            }
        }
    }
}

fn unverified() -> Fault {
    Fault::environment(
        "the realm's list of operators was deleted or does not verify; have a colleague's console write it again",
    )
}

fn unwritable() -> Fault {
    Fault::bus_unreachable(
        "the list of operators could not be written; check that this console may write CS_POLICY",
    )
}

/// The keys that count now, as agents get them.
pub(crate) fn trusted_now(list: &OperatorList, now: Timestamp) -> Vec<TrustedKey> {
    list.operators
        .iter()
        .filter(|entry| {
            entry
                .until
                .is_none_or(|until| now < Timestamp::from(until.get()))
                // Before it has read the list, it counts them at any time.
                && Timestamp::from(entry.from.get()) <= now.plus_ms(lawful::CLOCK_SLACK_MS)
                // An agent that has not read the list yet knows no limits.
                && !entry.is_limited()
        })
        .map(|entry| TrustedKey {
            key: entry.key.clone(),
            name: entry.name.clone(),
            role: entry.role,
        })
        .collect()
}
