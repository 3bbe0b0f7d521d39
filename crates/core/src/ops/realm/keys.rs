//! The state of the realm log as this process knows it, and what a key counts for.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_wire::realm::{Realm, Term};
use countersign_wire::{KeyRole, PublicKey, Risk, Sha256Digest, Stream, TrustedKey, WorkspaceName};
use parking_lot::RwLock;
use tokio::sync::watch;
use uuid::Uuid;

use super::asks::Asked;
use crate::Fault;
use crate::store::bus_stream::Position;
use crate::store::realm_log::SlotRow;
use crate::store::{Reader, meta, realm_log};

/// What a key may do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyStatus {
    /// It may sign.
    Active,
    /// No entry has named it: it waits to be let in.
    Pending,
    /// It ended.
    Ended {
        /// The number of the entry.
        n: u64,
        /// Who signed the entry.
        by: String,
    },
    /// The realm log was not read yet.
    Unknown,
}

/// The realm log as this process knows it, and who asks to be let in. A cheap clone shares both.
#[derive(Clone)]
pub struct TrustedKeys(Arc<Known>);

struct Known {
    log: watch::Sender<Arc<Realm>>,
    /// Epoch of the bucket of the shared policy, under which the revisions of its values count.
    policy_epoch: RwLock<Option<String>>,
    asks: watch::Sender<BTreeMap<String, Asked>>,
}

impl TrustedKeys {
    /// Of a log as it is known.
    #[must_use]
    pub fn of(log: Realm, policy_epoch: Option<String>) -> Self {
        Self(Arc::new(Known {
            log: watch::Sender::new(Arc::new(log)),
            policy_epoch: RwLock::new(policy_epoch),
            asks: watch::Sender::new(BTreeMap::new()),
        }))
    }

    /// The state at the head.
    #[must_use]
    pub fn log(&self) -> Arc<Realm> {
        Arc::clone(&self.0.log.borrow())
    }

    /// Takes another state over.
    pub fn set(&self, log: Realm) {
        self.0.log.send_replace(Arc::new(log));
    }

    /// Every state from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<Arc<Realm>> {
        self.0.log.subscribe()
    }

    pub(super) fn asks(&self) -> &watch::Sender<BTreeMap<String, Asked>> {
        &self.0.asks
    }

    /// The bucket of the shared policy is that of this epoch. False where it is the known one.
    pub(crate) fn policy_counts_under(&self, epoch: &str) -> bool {
        let mut known = self.0.policy_epoch.write();
        let other = known.as_deref() != Some(epoch);
        if other {
            *known = Some(epoch.to_owned());
            self.0.asks.send_replace(BTreeMap::new());
        }
        other
    }

    /// Epoch of the bucket of the shared policy.
    pub(super) fn policy_epoch(&self) -> Option<String> {
        self.0.policy_epoch.read().clone()
    }

    /// The term by which a value of the shared policy at this revision counts that a key signed.
    pub(crate) fn register_term(&self, key: &str, revision: u64) -> Option<Term> {
        let epoch = self.policy_epoch().unwrap_or_default();
        self.log().register_term(key, &epoch, revision).cloned()
    }

    /// Whether the signer of a value at this revision may say more than no to a request of this workspace and risk.
    /// `u64::MAX` is what is signed now.
    pub(crate) fn author_may(
        &self,
        (key, revision): (&str, u64),
        workspace: &WorkspaceName,
        risk: Risk,
    ) -> bool {
        let term = self.register_term(key, revision);
        term.is_some_and(|term| term.allows(workspace.as_str(), risk))
    }

    /// The role of a key in force.
    #[must_use]
    pub fn role(&self, key: &str) -> Option<KeyRole> {
        self.log().term(key, None)?.key.role.known()
    }

    /// Whether a key in force may say more than no to a request of this workspace and risk.
    #[must_use]
    pub fn may_allow(&self, key: &str, workspace: &WorkspaceName, risk: Risk) -> bool {
        let log = self.log();
        let term = log.term(key, None);
        term.is_some_and(|term| term.allows(workspace.as_str(), risk))
    }

    /// The last name of the operator whose key it is, or was.
    #[must_use]
    pub fn name(&self, key: &str) -> Option<String> {
        self.log().name(key).map(str::to_owned)
    }

    /// The console that a key in force is of; none where its record does not say.
    #[must_use]
    pub fn console(&self, key: &str) -> Option<String> {
        self.log().term(key, None)?.key.device.clone()
    }

    /// The operator whose key it is, or was: all keys of one have one vote.
    #[must_use]
    pub fn voter(&self, key: &str) -> String {
        self.log().owner(key).unwrap_or(key).to_owned()
    }

    /// Whether the operator of a key in force is an administrator.
    #[must_use]
    pub fn is_admin(&self, key: &str) -> bool {
        let log = self.log();
        let term = log.term(key, None);
        let record = term.and_then(|term| log.operators.get(&term.operator));
        record.is_some_and(|record| record.admin)
    }

    /// What a key may do now.
    #[must_use]
    pub fn standing(&self, key: &str) -> KeyStatus {
        let log = self.log();
        if log.term(key, None).is_some() {
            return KeyStatus::Active;
        }
        if log.chain.is_empty() {
            return KeyStatus::Unknown;
        }
        if !log.was_named(key) {
            return KeyStatus::Pending;
        }
        let last = log.terms_of(key).last();
        let n = last.and_then(|term| Some(term.ended.as_ref()?.n));
        let n = n.or_else(|| log.turned_away.get(key).copied()).unwrap_or(0);
        let at = usize::try_from(n).unwrap_or(0).saturating_sub(1);
        let by = log.chain.get(at).map(|entry| entry.by.to_string());
        KeyStatus::Ended {
            n,
            by: by.unwrap_or_default(),
        }
    }

    /// The keys in force.
    #[must_use]
    pub fn in_force(&self) -> Vec<TrustedKey> {
        let log = self.log();
        let records = log.operators.values();
        let keys = records.flat_map(|record| record.keys.iter().map(move |key| (record, key)));
        keys.filter_map(|(record, key)| {
            Some(TrustedKey {
                key: key.key.parse().ok()?,
                name: record.name.clone(),
                role: key.role.known()?,
            })
        })
        .collect()
    }
}

/// The state that slots as they were kept lead to. What was no entry has no bytes and takes its place.
pub(super) fn fold(mut log: Realm, rows: &[SlotRow]) -> Realm {
    for row in rows {
        let (slot, seq) = (unsigned(row.slot), unsigned(row.seq));
        log.apply(slot, seq, row.message.as_deref().unwrap_or_default());
    }
    log
}

/// A place as the store has it.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The log as this folder kept it.
pub(crate) async fn known_log(
    reader: &Reader,
    realm: Option<Uuid>,
    positions: &[Position],
) -> Result<Realm, Fault> {
    let root: Option<Sha256Digest> = meta::get(reader, meta::ROOT)
        .await?
        .and_then(|root| root.parse().ok());
    let (Some(realm), Some(root)) = (realm, root) else {
        return Ok(Realm::new(Uuid::nil(), Sha256Digest::of_bytes(b"")));
    };
    let decisions = Stream::Decisions.name();
    let position = positions.iter().find(|at| at.stream == decisions);
    let rows = match position {
        Some(position) => realm_log::read(reader, &position.epoch).await?,
        None => Vec::new(),
    };
    // Thousands of signatures take their time.
    let folded = tokio::task::spawn_blocking(move || fold(Realm::new(realm, root), &rows));
    folded.await.map_err(crate::runtime::joined)
}

/// Why a key in this standing signs nothing, and the way out; none for one that counts.
pub(crate) fn why_not(standing: KeyStatus, key: &str) -> Option<String> {
    match standing {
        KeyStatus::Active => None,
        KeyStatus::Pending => Some(format!(
            "this key waits to be let in; ask an administrator of this realm to run `countersign operators accept {key}`, until then this console is read-only"
        )),
        KeyStatus::Ended { n, .. } => Some(format!(
            "this key was ended by entry {n} of the realm log; `countersign operators log` says who did it, a console with a new data folder asks anew, this one is read-only"
        )),
        KeyStatus::Unknown => {
            Some("this console has not read the realm log yet; see `countersign status`".to_owned())
        }
    }
}

/// The own desk key, as the log names its operator.
pub(super) fn operator_of(log: &Realm, key: &PublicKey) -> Option<String> {
    log.term(key.as_str(), None)
        .map(|term| term.operator.clone())
}
