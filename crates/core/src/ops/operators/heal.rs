//! Keeps the list on the bus such that everybody can take it over.
//!
//! It writes at intervals, should somebody write against it for ever.

use std::time::Duration;

use countersign_wire::{OperatorList, SignedEnvelope, is_timely, time_to_sign};
use tokio::time::Instant;

use super::refused::Refused;
use super::{Accepted, KnownList, Operators, ahead, lawful};
use crate::bus::PolicyChange;
use crate::domain::Timestamp;

/// A list that was written over wrongly is put right this often at most.
const HEAL_EVERY: Duration = Duration::from_secs(2);

impl KnownList {
    /// The last list that agents can follow: itself, where its signer may edit it.
    pub(super) fn base(self, now: Timestamp) -> Option<Box<SignedEnvelope>> {
        match lawful::may_edit(&self.list, self.envelope.key.as_str(), now) {
            true => Some(Box::new(self.envelope)),
            false => self.list.base,
        }
    }

    /// Whether it was signed so far ahead of the server's clock that who starts now does not take it over, and would
    /// if it were signed again: the clock has caught up.
    fn is_due_again(&self, now: Timestamp) -> bool {
        let (Some(at), Some(stored_at)) = (self.list.at, self.stored_at) else {
            return false;
        };
        let again = time_to_sign(countersign_wire::Timestamp::new(now.into()), Some(at));
        !is_timely(None, at, stored_at.into()) && is_timely(None, again, now.into())
    }
}

impl Operators {
    /// Whether the list on the bus is to be signed again, as it is.
    pub(super) fn is_due_again(&self) -> bool {
        let now = self.shared.clock.now();
        self.known().is_some_and(|known| known.is_due_again(now))
    }

    /// Whether this console's operator is to sign the list that is known again, so that agents can take it over: it was
    /// taken over as one that they do not follow, its signer may not edit it, or nobody has vouched for somebody who came
    /// after this operator.
    pub(super) fn is_owed(&self) -> bool {
        let now = self.shared.clock.now();
        self.may_edit()
            && self.known().is_some_and(|mut known| {
                known.to_sign.is_some()
                    || !lawful::may_edit(&known.list, known.envelope.key.as_str(), now)
                    || self.endorse(&mut known.list)
            })
    }

    /// Whether this console's operator is on the known list without limits.
    pub(super) fn may_edit(&self) -> bool {
        let (own, now) = (self.shared.identity.human_key(), self.shared.clock.now());
        let known = self.known();
        known.is_some_and(|known| lawful::may_edit(&known.list, own.as_str(), now))
    }

    /// Takes a changed list over; signs one again that agents could not take over as it is, and writes what is
    /// known over one that may not be.
    pub(in crate::ops) async fn changed(&self, change: PolicyChange) {
        // A deletion too: nobody signs it.
        let value = change.value.unwrap_or_default();
        let accepted = self
            .accept(&value, change.revision, change.stamp.into())
            .await;
        if let Accepted::No(Refused::Older(_)) = accepted {
            self.alarm_older(change.revision).await;
        }
        let now = self.shared.clock.now();
        let again = match accepted {
            Accepted::Yes(_) => {
                let known = self.known().filter(|_| self.is_owed());
                known.map(KnownList::whole)
            }
            Accepted::ToSign(list) => self.may_edit().then_some(list),
            Accepted::No(refused) => self.known().and_then(|known| {
                let harms = refused.harms(&known.list);
                harms.then(|| refused.repaired(&known.list, now))
            }),
        };
        let Some(list) = again.filter(|_| self.may_sign()) else {
            return;
        };
        self.heal_beside(list, change.revision);
    }

    /// Beside the caller: neither the feed nor a console that starts waits for this.
    pub(super) fn heal_beside(&self, list: OperatorList, revision: u64) {
        let operators = self.clone();
        tokio::spawn(async move { operators.heal(list, revision).await });
    }

    /// Writes the list over a revision, unless somebody was faster; not in a hurry, should somebody
    /// write against it for ever.
    async fn heal(&self, list: OperatorList, revision: u64) {
        let mut last = self.healed.lock().await;
        if let Some(at) = *last {
            tokio::time::sleep_until(at + HEAL_EVERY).await;
        }
        match self.write(&list, revision).await {
            Ok(Some(_)) => *last = Some(Instant::now()),
            // Somebody wrote in between, and the next change shows what.
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "the list of operators could not be signed again");
            }
        }
    }

    /// Signs the list again, for those who start, once the server's clock has caught up with one that was signed far
    /// ahead of it, and for agents, where that is still owed; enters own keys again that count only later, and ends what is
    /// ended only later: that clock was set back. Every now and then, until it is cancelled.
    pub(in crate::ops) async fn keep_readable(&self) {
        loop {
            tokio::time::sleep(HEAL_EVERY).await;
            if self.is_due_again()
                && self.may_sign()
                && let Some(known) = self.known()
            {
                self.heal(known.list, known.revision).await;
            }
            let now = self.shared.clock.now();
            let wrong = self.known().is_some_and(|known| {
                let mut terms = known.list.operators.iter();
                let mut ended = || terms.any(|term| ahead::is_ended_ahead(term, now));
                let unfollowed = known.to_sign.is_some();
                !self.not_yet(&known.list).is_empty()
                    || (self.may_edit() && (unfollowed || ended()))
            });
            if wrong && let Err(error) = self.register().await {
                tracing::warn!(%error, "the list of operators is to be written again, and could not be");
            }
        }
    }
}
