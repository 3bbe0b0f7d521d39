//! Changes a workspace's rules.
//!
//! An unseen change is never overwritten, and a version always has the same words.

mod change;
mod set;
mod signed;

use std::sync::Arc;

use countersign_realm::registers::last_read;
use countersign_realm::{Author, Current, InForce, Manner, Next};
use countersign_wire::{PolicyKey, Risk, WorkspaceName};

pub use self::change::{Accepted, RulesChange, RulesChanged, RulesFault};
pub use self::set::RuleSet;
use self::set::{read, unreadable};
pub use self::signed::Shift;
use super::waiting_calls::{Trial, WaitingCall};
use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::PolicySet;
use crate::runtime::App;
use crate::store::{policy, policy_versions, rule_record};

const MANNER: Manner = Manner {
    insists: false,
    overtaken: "the rules kept changing while this was being saved; try again",
};

/// What a rule did so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleRecord {
    /// Requests that it decided.
    pub uses: u64,
    /// The last one.
    pub last_used: Option<Timestamp>,
    /// Requests that it would have decided in the shadow.
    pub shadows: u64,
    /// Why it could not be read for sure the last time.
    pub last_error: Option<String>,
}

pub(super) fn record(row: rule_record::RuleRecord) -> RuleRecord {
    RuleRecord {
        uses: u64::try_from(row.uses).unwrap_or(0),
        last_used: row.last_used.map(Timestamp),
        shadows: u64::try_from(row.shadows).unwrap_or(0),
        last_error: row.last_error,
    }
}

impl App {
    /// The rules of a workspace as this folder's console knows them.
    ///
    /// # Errors
    /// `ErrorCode::Store`; `ErrorCode::InvalidArgs` for a set that cannot be read.
    pub async fn rules(&self, workspace: &WorkspaceName) -> Result<RuleSet, Fault> {
        let key = PolicyKey::Rules(workspace.clone()).to_string();
        match policy::get(self.reader(), &key).await? {
            None => Ok(RuleSet::default()),
            Some(row) => read(&row.payload, u64::try_from(row.revision).unwrap_or(0)),
        }
    }

    /// What a rule did so far.
    pub async fn rule_record(
        &self,
        workspace: &WorkspaceName,
        id: &str,
    ) -> Result<RuleRecord, Fault> {
        let row = rule_record::of_rule(self.reader(), workspace.as_ref(), id).await?;
        Ok(record(row))
    }

    /// The words of a rule set by the digest that a decision of this console named: canonical JSON.
    pub async fn policy_version(&self, digest: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(policy_versions::read(self.reader(), digest).await?)
    }

    /// Changes the rules of a workspace. Returns once the bus has stored it; what others changed meanwhile is kept, or
    /// the change is made anew on top of it.
    ///
    /// # Errors
    /// `ErrorCode::NotFound`, `ErrorCode::InvalidArgs`, `ErrorCode::BusUnreachable`, `ErrorCode::ReadOnly`;
    /// `ErrorCode::VerdictNotAllowed` where it would change what other rules approve ([`Shift`]), or hold back less
    /// than the operator may allow; [`RulesFault::Regretted`]; [`RulesFault::DecidesWaiting`]. Nothing is changed then.
    pub async fn change_rules(
        &self,
        workspace: &WorkspaceName,
        change: &RulesChange,
    ) -> Result<RulesChanged, Fault> {
        let changed = self.change_rules_accepting(workspace, change, Accepted::default());
        Ok(changed.await?)
    }

    /// As [`App::change_rules`], and says what a person accepted. A regret is never refused for what it does to
    /// other rules: what is wrong must be off.
    pub async fn change_rules_accepting(
        &self,
        workspace: &WorkspaceName,
        change: &RulesChange,
        accepted: Accepted,
    ) -> Result<RulesChanged, RulesFault> {
        let key = &PolicyKey::Rules(workspace.clone());
        let accepted = &accepted;
        let make = |current: Current| async move {
            let revision = current.revision;
            let (before, author) = self.before(workspace, &current, change).await?;
            let now = self.now();
            let (after, mut done) = before.set.after(change, now)?;
            done.rules.clone_from(&after.rules);
            if after == before.set && revision > 0 && before.counts {
                return Ok::<_, RulesFault>(Next::Leave(done));
            }
            self.may_change_to(workspace, (&before.set.rules, &after.rules), now)?;
            done.restored = !before.counts;
            done.shift = self.shift(workspace, (&before.set, &author), &after);
            if !accepted.regrets {
                before.set.may_act_again(&after, change)?;
            }
            let refuses = !accepted.limits && !matches!(change, RulesChange::Regret(..));
            if refuses && !done.shift.is_empty() {
                return Err(Fault::verdict_not_allowed(done.shift.words()).into());
            }
            // A regret turns off what decides; what that leaves to others is asked about where it is given.
            if !matches!(change, RulesChange::Regret(..)) {
                let calls = self.would_approve(workspace, (&before, &author), &after);
                done.decides_waiting = accepted.waiting.check(calls.await?)?;
            }
            let payload = after.payload(&self.identity().operator, now);
            Ok(Next::Write(current.object(key, payload)?, done))
        };
        let bucket = self.bucket_to_sign().await?;
        let update = bucket.update(self.identity(), (key, MANNER), make);
        let (revision, done) = update.await?;
        Ok(RulesChanged { revision, ..done })
    }
}

/// What a change starts from.
pub(super) struct Before {
    pub(super) set: RuleSet,
    /// Whether it is what the bus says.
    counts: bool,
}

impl App {
    /// What a change starts from, and who signed it. Where there is nothing to read, versions and ids go on from
    /// what this folder read last: decisions name them.
    pub(super) async fn before(
        &self,
        workspace: &WorkspaceName,
        current: &Current,
        change: &RulesChange,
    ) -> Result<(Before, Option<Author>), Fault> {
        let revision = current.revision;
        let found = current.payload().map(|payload| read(payload, revision));
        if let Some(Ok(set)) = found {
            return Ok((Before { set, counts: true }, current.author()));
        }
        let key = PolicyKey::Rules(workspace.clone());
        let last = last_read(self.reader(), &key, |payload| read(payload, 0).ok()).await?;
        let last = last.map(|(_, set)| set).unwrap_or_default();
        let last = RuleSet { revision, ..last };
        let unreadable = match found {
            Some(Err(why)) => Some(why),
            _ if current.bytes.is_some() => Some(unreadable("they do not verify")),
            // Nobody signs a deletion, so what they denied is denied still.
            _ if revision > 0 && !last.rules.is_empty() => Some(unreadable("they were deleted")),
            _ => None,
        };
        let before = match (unreadable, change) {
            (None, _) => Before {
                set: last.emptied(),
                counts: true,
            },
            (Some(_), RulesChange::Replace { .. }) => Before {
                set: last,
                counts: false,
            },
            (Some(why), _) => return Err(why),
        };
        Ok((before, None))
    }

    /// The waiting calls that a change approves.
    async fn would_approve(
        &self,
        workspace: &WorkspaceName,
        (before, author): (&Before, &Option<Author>),
        after: &RuleSet,
    ) -> Result<Vec<WaitingCall>, Fault> {
        let failed = |why: String| Fault::failed(format!("the rules before and after: {why}"));
        let (setup, controls) = (
            self.setup_in_force(workspace).await?,
            self.controls().await?,
        );
        let trial = |set: &RuleSet, authors: Vec<Author>| {
            let set = PolicySet::new(set.rules.clone(), setup.clone()).map_err(failed)?;
            let in_force = InForce {
                set,
                authors,
                replaced: None,
            };
            Ok::<_, Fault>(Trial::new(Arc::new(in_force), controls.clone()))
        };
        let was = match before.counts {
            true => Some(trial(&before.set, author.iter().cloned().collect())?),
            false => None,
        };
        let own = (self.identity().human_key().to_string(), u64::MAX);
        self.newly_approved(workspace, was, trial(after, vec![own])?)
            .await
    }

    fn shift(
        &self,
        workspace: &WorkspaceName,
        (before, author): (&RuleSet, &Option<Author>),
        after: &RuleSet,
    ) -> Shift {
        let Some((signer, revision)) = author else {
            return Shift::default();
        };
        let trusted = &self.inner.shared.trusted;
        let own = self.identity().human_key();
        signed::shift(
            &before.rules,
            &after.rules,
            |risk: Risk| trusted.author_may((signer, *revision), workspace, risk),
            |risk: Risk| trusted.may_allow(own.as_str(), workspace, risk),
        )
    }
}

#[cfg(test)]
mod tests;
