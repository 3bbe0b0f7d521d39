//! Joins the list of operators of a bus that was rolled back and went on with the one that this console knows.
//!
//! What agents obeyed meanwhile is never taken back: whom only the lost list has ended ends as of now. A list of the
//! bus is a beginning only if it follows, by the rules, from one that lies where this console took it over: whoever may
//! write the bucket can store the bytes of an old one again.

use countersign_wire::{
    Context, OperatorEntry, OperatorList, PolicyKey, PublicKey, SignedEnvelope,
    Timestamp as Signed, is_newer_than, read_json, time_to_sign,
};

use serde_json::{Value, json};

use super::lawful::{self, Permission};
use super::{KEY, KnownList, Operators, TRIES, unwritable};
use crate::Fault;
use crate::bus::{POLICY_STREAM, StreamMessage};
use crate::domain::{AlarmCode, Timestamp};
use crate::ops::operators::trusted_now;
use crate::ops::policy_value::{Put, pause, sealed, write_over};
use crate::runtime::Shared;
use crate::store::policy::{self, PolicyRow};
use crate::store::{StoreError, policy_history};

/// What became of two lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRecovery {
    /// Keys in force on the bus that this console knows as ended.
    pub ended: Vec<PublicKey>,
    /// Whether this operator may end them, which is then done; else the list of the bus counts here, too.
    pub may_end: bool,
}

impl ListRecovery {
    /// As the audit log and `--json` have it.
    #[must_use]
    pub fn detail(&self) -> Value {
        let ended: Vec<String> = self.ended.iter().map(ToString::to_string).collect();
        json!({ "ended": ended, "may_end": self.may_end })
    }
}

/// A list as it is on the bus.
struct Signing {
    list: OperatorList,
    envelope: SignedEnvelope,
    payload: Vec<u8>,
    revision: u64,
    stored_at: Timestamp,
}

/// A list is stored as soon as it is signed; who stores its bytes again does it later than this.
const STORED_WITHIN_MS: i64 = 60_000;

impl Signing {
    fn was_stored_when_signed(&self) -> bool {
        self.list
            .at
            .is_none_or(|at| self.stored_at.since_ms(Timestamp::from(at.get())) <= STORED_WITHIN_MS)
    }
}

impl Operators {
    /// Joins the list of the bus and the one that this console took over last, and writes the result. None where the
    /// one follows from the other. With `dry_run` it only reports.
    pub(in crate::ops) async fn join_lists(
        &self,
        dry_run: bool,
    ) -> Result<Option<ListRecovery>, Fault> {
        for attempt in 0..TRIES {
            let Some(row) = policy::get(&self.shared.reader, KEY).await? else {
                return Ok(None);
            };
            let Ok(own) = read_json::<OperatorList>(&row.payload) else {
                return Ok(None);
            };
            let (base, last) = self.followed(&own, &row.sig).await?;
            let Some(base) = base.filter(|base| base.envelope.sig.as_str() != row.sig) else {
                return Ok(None);
            };
            let now = self.shared.clock.now();
            let (list, ended) = joined(&own, &base.list, now);
            let at = time_to_sign(stamp(now), list.at);
            let list = OperatorList {
                at: Some(at),
                ..list
            };
            if ended.is_empty() && has_the_same(&list, &base.list) {
                return Ok(None);
            }
            let key = self.shared.identity.human_key();
            let judged = lawful::judge(&self.realm, &base.list, &list, key.as_str(), now);
            let may_end = judged == Permission::Operator;
            let reported = ListRecovery { ended, may_end };
            if dry_run {
                return Ok(Some(reported));
            }
            if !may_end {
                return self.give_in(&row, base, reported).await;
            }
            let failed = |_| Fault::failed("the list of operators cannot be written");
            let payload = serde_json::to_vec(&list).map_err(failed)?;
            let subject = PolicyKey::Operators;
            let (envelope, value) = sealed(&self.shared.identity, &self.realm, &subject, &payload)?;
            if let Put::Stored(revision) = write_over(&self.bus, &subject, last, value).await? {
                let stored = Signing {
                    list,
                    envelope,
                    payload,
                    revision,
                    stored_at: now,
                };
                self.knows(stored).await;
                return Ok(Some(reported));
            }
            pause(attempt).await;
        }
        Err(unwritable())
    }

    /// Nobody here may end those keys: what agents read counts, and an alarm is raised. A list that nobody wrote since
    /// is put back as it is signed.
    async fn give_in(
        &self,
        own: &PolicyRow,
        base: Signing,
        reported: ListRecovery,
    ) -> Result<Option<ListRecovery>, Fault> {
        let (reader, sig) = (&self.shared.reader, base.envelope.sig.as_str());
        if policy_history::has(reader, &own.key, sig).await? {
            return Ok(None);
        }
        for key in &reported.ended {
            self.alarm(AlarmCode::OperatorsRefused, key.to_string())
                .await;
        }
        self.knows(base).await;
        Ok(Some(reported))
    }

    async fn knows(&self, list: Signing) {
        self.shared.forget_list_revision();
        let turn = self.turn.lock().await;
        let taken = (list.list, list.stored_at, None);
        self.take_over(&turn, taken, list.envelope, list.payload, list.revision)
            .await;
    }

    /// The last list in the bucket that follows from one that lies where this console took it over, and the revision of
    /// the current one; none where that is the own list, or follows from it.
    async fn followed(
        &self,
        own: &OperatorList,
        own_sig: &str,
    ) -> Result<(Option<Signing>, u64), Fault> {
        let subject = PolicyKey::Operators.subject();
        let (mut followed, mut next): (Option<Signing>, u64) = (None, 1);
        let mut stands_by_own = false;
        while let Some(message) = self.bus.read_next(POLICY_STREAM, &subject, next).await? {
            next = message.seq + 1;
            stands_by_own = false;
            let Some(found) = self.read(&message) else {
                continue;
            };
            let sig = found.envelope.sig.as_str();
            let (key, revision) = (KEY, found.revision);
            let known =
                policy_history::was_in_force(&self.shared.reader, (key, revision), sig).await?;
            let known = known && found.was_stored_when_signed();
            stands_by_own = sig == own_sig || self.follows(own, &found);
            let before = followed.as_ref();
            if known || before.is_some_and(|before| self.follows(&before.list, &found)) {
                followed = Some(found);
            }
        }
        Ok((followed.filter(|_| !stands_by_own), next - 1))
    }

    fn follows(&self, before: &OperatorList, found: &Signing) -> bool {
        let (signer, stored_at) = (found.envelope.key.as_str(), found.stored_at);
        is_newer_than(before.at, found.list.at, stored_at.into())
            && lawful::judge(&self.realm, before, &found.list, signer, stored_at)
                != Permission::Denied
    }

    fn read(&self, message: &StreamMessage) -> Option<Signing> {
        let envelope = SignedEnvelope::from_bytes(&message.payload).ok()?;
        let subject = PolicyKey::Operators.subject();
        let payload = envelope.open(Context::Policy, &self.realm, &subject).ok()?;
        Some(Signing {
            list: read_json(&payload).ok()?,
            envelope,
            payload,
            revision: message.seq,
            stored_at: message.stamp.into(),
        })
    }
}

/// Takes over the list that another process of this folder has kept since, as a recovery does.
pub(crate) async fn relearn(shared: &Shared) -> Result<(), StoreError> {
    let known = shared.operator_list.read().clone();
    let row = policy::get(&shared.reader, KEY).await?;
    let (Some(known), Some(row)) = (known, row) else {
        return Ok(());
    };
    // One that is not in the store yet is newer than what is.
    let sig = known.envelope.sig.as_str();
    if sig == row.sig || !policy_history::has(&shared.reader, KEY, sig).await? {
        return Ok(());
    }
    let Some(own) = KnownList::remembered(&row) else {
        return Ok(());
    };
    shared.trusted.accept(&own.list);
    *shared.operators.write() = trusted_now(&own.list, shared.clock.now());
    *shared.operator_list.write() = Some(own);
    Ok(())
}

fn stamp(at: Timestamp) -> Signed {
    Signed::new(at.into())
}

fn has_the_same(list: &OperatorList, other: &OperatorList) -> bool {
    let other = OperatorList {
        at: list.at,
        ..other.clone()
    };
    *list == other
}

/// The list of the bus with what only the own one has, and the keys that end by it as of now.
fn joined(
    own: &OperatorList,
    bus: &OperatorList,
    now: Timestamp,
) -> (OperatorList, Vec<PublicKey>) {
    let (mut list, mut ended) = (bus.clone(), Vec::new());
    let mut fresh: Vec<OperatorEntry> = Vec::new();
    let term = |entry: &OperatorEntry| (entry.key.clone(), entry.role, entry.from);
    for entry in &own.operators {
        let there = list.operators.iter_mut();
        let Some(there) = { there }.find(|there| term(there) == term(entry)) else {
            fresh.push(entry.clone());
            continue;
        };
        let until = entry.until.map(|until| until.max(stamp(now)));
        if let Some(until) = until
            && there.until.is_none_or(|end| until < end)
        {
            there.until = Some(until);
            ended.push(entry.key.clone());
        }
    }
    for mut entry in fresh {
        // Terms of one key do not overlap.
        if ended.contains(&entry.key) {
            entry.from = entry.from.max(stamp(now));
            if entry.until.is_some_and(|until| until <= entry.from) {
                continue;
            }
        }
        list.waiting.retain(|waiting| waiting.key != entry.key);
        list.operators.push(entry);
    }
    for waiting in &own.waiting {
        let key = waiting.key.as_str();
        if !lawful::has_key(&list, key) && !list.is_waiting(key) {
            list.waiting.push(waiting.clone());
        }
    }
    for word in &own.vouched {
        if !list.vouched.contains(word) {
            list.vouched.push(word.clone());
        }
    }
    list.operator_approval |= own.operator_approval;
    list.at = list.at.max(own.at);
    (list, ended)
}
