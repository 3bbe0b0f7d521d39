//! Accepts a list that came from the bus, or was just written: verifies, judges and keeps it.
//!
//! A list is accepted only if it verifies, its signer may make each change, and it was signed after the list in force.

use countersign_wire::{
    Context, OperatorList, PolicyKey, SignedEnvelope, is_newer_than, read_json,
};
use tokio::sync::MutexGuard;

use super::lawful::{self, Permission};
use super::refused::Refused;
use super::{KEY, KnownList, Operators, audit_entries, rotate, trusted_now};
use crate::domain::{AlarmCode, Timestamp};
use crate::ops::{alarms, policy_intake};
use crate::store::policy::PolicyRow;

/// What became of a value.
pub(super) enum Accepted {
    /// It is the list now, or an older one of those that led to it.
    Yes(OperatorList),
    /// It is the list now, and agents do not follow it before somebody who may edit it has signed it, as its signer
    /// may not.
    ToSign(OperatorList),
    /// It is not the list.
    No(Refused),
}

impl Operators {
    /// Verifies a value, trusts its keys and keeps it.
    pub(super) async fn accept(
        &self,
        value: &[u8],
        revision: u64,
        stored_at: Timestamp,
    ) -> Accepted {
        let subject = PolicyKey::Operators.subject();
        let opened = SignedEnvelope::from_bytes(value).and_then(|envelope| {
            envelope
                .open(Context::Policy, &self.realm, &subject)
                .map(|payload| (envelope, payload))
        });
        let list = opened.ok().and_then(|(envelope, payload)| {
            let list: OperatorList = read_json(&payload).ok()?;
            Some((envelope, payload, list))
        });
        let Some((envelope, payload, list)) = list else {
            tracing::error!(revision, "the list of operators on the bus does not verify");
            self.alarm(AlarmCode::OperatorsUnverified, KEY.to_owned())
                .await;
            return Accepted::No(Refused::Unreadable);
        };
        let turn = self.turn.lock().await;
        let mut to_sign = false;
        if let Some(known) = self.known() {
            if revision <= known.revision {
                return Accepted::Yes(known.list);
            }
            let put_back = known.envelope.sig == envelope.sig && known.list == list;
            if !put_back && !is_newer_than(known.list.at, list.at, stored_at.into()) {
                return Accepted::No(Refused::older(&known.list, list, stored_at));
            }
            let signer = envelope.key.as_str();
            match lawful::judge(&self.realm, &known.list, &list, signer, stored_at) {
                Permission::Operator => {}
                Permission::Newcomer => to_sign = true,
                Permission::Denied => {
                    drop(turn);
                    tracing::error!(
                        revision,
                        "the list of operators was changed against its rules"
                    );
                    self.alarm(AlarmCode::OperatorsRefused, envelope.key.to_string())
                        .await;
                    return Accepted::No(Refused::Unlawful(list));
                }
            }
        }
        let signed_next = to_sign.then(|| Box::new(list.clone()));
        let taken = (list.clone(), stored_at, signed_next);
        self.take_over(&turn, taken, envelope, payload, revision)
            .await;
        match to_sign {
            true => Accepted::ToSign(list),
            false => Accepted::Yes(list),
        }
    }

    /// Keeps a list that was judged, or that this console has just written, with when it was stored and what is to be
    /// signed in its place.
    pub(super) async fn take_over(
        &self,
        _turn: &MutexGuard<'_, ()>,
        (list, stored_at, to_sign): (OperatorList, Timestamp, Option<Box<OperatorList>>),
        envelope: SignedEnvelope,
        payload: Vec<u8>,
        revision: u64,
    ) {
        let now = self.shared.clock.now();
        let known = self.known();
        if known
            .as_ref()
            .is_some_and(|known| revision <= known.revision)
        {
            return;
        }
        let before = known.as_ref().map(|known| &known.list);
        self.shared.trusted.accept(&list);
        rotate::follow(&self.shared.identity, &list).await;
        rotate::settle(&self.shared.identity).await;
        let own = self.shared.identity.trusted_keys();
        let entries = audit_entries::entries(before, (&self.realm, &list), &payload, &own, now);
        let (new, over) = audit_entries::alarms(before, (&self.realm, &list), &own);
        *self.shared.operators.write() = trusted_now(&list, now);
        *self.shared.operator_list.write() = Some(KnownList {
            list,
            envelope: envelope.clone(),
            revision,
            stored_at: Some(stored_at),
            to_sign,
        });
        let row = PolicyRow {
            key: KEY.to_owned(),
            revision: i64::try_from(revision).unwrap_or(i64::MAX),
            payload,
            signer: envelope.key.to_string(),
            sig: envelope.sig.to_string(),
        };
        self.shared.notify(policy_intake::keep(row, entries)).await;
        let new = new.into_iter();
        let new = new.map(|(code, subject)| alarms::raise(code, subject));
        let over = over.into_iter();
        let over = over.map(|subject| alarms::lower(AlarmCode::OperatorWaits, subject));
        for alarm in new.chain(over) {
            self.shared.notify(alarm).await;
        }
    }
}
