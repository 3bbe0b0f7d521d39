//! Changes a workspace's rules.
//!
//! Refuses to write over what it has not seen, and to give an old version to other words.

mod change;
mod set;
mod signed;

use std::time::Duration;

use countersign_wire::{PolicyKey, Risk, WorkspaceName};

pub use self::change::{RulesChange, RulesChanged, Signing};
pub use self::set::RuleSet;
use self::set::read;
pub use self::signed::Shift;
use crate::domain::Timestamp;
use crate::error::OpError;
use crate::runtime::App;
use crate::store::{policy, rule_uses};

const TRIES: u32 = 10;

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

pub(super) fn record(row: rule_uses::RuleRecord) -> RuleRecord {
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
    /// [`OpError::Store`]; [`OpError::InvalidArgs`] for a set that cannot be read.
    pub async fn rules(&self, workspace: &WorkspaceName) -> Result<RuleSet, OpError> {
        let key = PolicyKey::Rules(workspace.clone()).to_string();
        match policy::get(self.reader(), &key).await? {
            None => Ok(RuleSet::default()),
            Some(row) => read(&row.payload, u64::try_from(row.revision).unwrap_or(0)),
        }
    }

    /// What a rule did so far.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn rule_record(
        &self,
        workspace: &WorkspaceName,
        id: &str,
    ) -> Result<RuleRecord, OpError> {
        let row = rule_uses::record_of(self.reader(), workspace.as_ref(), id).await?;
        Ok(record(row))
    }

    /// The words of a rule set by the digest that a decision of this console named: canonical JSON.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn policy_version(&self, digest: &str) -> Result<Option<Vec<u8>>, OpError> {
        Ok(rule_uses::version(self.reader(), digest).await?)
    }

    /// Changes the rules of a workspace. It stands on the bus when this returns; what others changed
    /// meanwhile is kept, or the change is made anew on top of it.
    ///
    /// # Errors
    /// [`OpError::NotFound`], [`OpError::InvalidArgs`], [`OpError::BusUnreachable`],
    /// [`OpError::ReadOnly`]; [`OpError::VerdictNotAllowed`] where it would change what other rules
    /// approve ([`Shift`]). Nothing is changed then.
    pub async fn change_rules(
        &self,
        workspace: &WorkspaceName,
        change: &RulesChange,
    ) -> Result<RulesChanged, OpError> {
        self.change_rules_signing(workspace, change, Signing::Careful)
            .await
    }

    /// As [`App::change_rules`], and says what may happen to rules that are left as they are. A regret is
    /// never refused for that: what is wrong must be off.
    ///
    /// # Errors
    /// As [`App::change_rules`].
    pub async fn change_rules_signing(
        &self,
        workspace: &WorkspaceName,
        change: &RulesChange,
        signing: Signing,
    ) -> Result<RulesChanged, OpError> {
        let key = PolicyKey::Rules(workspace.clone());
        for attempt in 0..TRIES {
            let stands = self.policy_stands(&key).await?;
            let revision = stands.revision;
            let before = match (&stands.payload, change) {
                (Some(payload), RulesChange::Replace { .. }) => {
                    read(payload, revision).unwrap_or(RuleSet {
                        revision,
                        ..RuleSet::default()
                    })
                }
                (Some(payload), _) => read(payload, revision)?,
                (None, _) => RuleSet {
                    revision,
                    ..RuleSet::default()
                },
            };
            let now = self.now();
            let (after, mut done) = before.after(change, now)?;
            if after == before && stands.payload.is_some() {
                done.revision = revision;
                return Ok(done);
            }
            done.shift = self.shift(workspace, (&before, &stands.author), &after, now);
            let refuses = signing == Signing::Careful && !matches!(change, RulesChange::Regret(..));
            if refuses && !done.shift.is_empty() {
                return Err(OpError::VerdictNotAllowed(done.shift.words()));
            }
            let payload = after.payload(&self.identity().operator, now);
            if let Some(revision) = self.put_policy(&key, revision, &payload).await? {
                done.revision = revision;
                return Ok(done);
            }
            tokio::time::sleep(Duration::from_millis(20 << attempt.min(5))).await;
        }
        let why = "others change the rules all the time; try again";
        Err(OpError::BusUnreachable(why.to_owned()))
    }
}

impl App {
    fn shift(
        &self,
        workspace: &WorkspaceName,
        (before, author): (&RuleSet, &Option<(String, Timestamp)>),
        after: &RuleSet,
        now: Timestamp,
    ) -> Shift {
        let Some((signer, at)) = author else {
            return Shift::default();
        };
        let trusted = &self.inner.shared.trusted;
        let own = self.identity().human_key();
        signed::shift(
            &before.rules,
            &after.rules,
            |risk: Risk| trusted.may_allow(signer, *at, workspace, risk),
            |risk: Risk| trusted.may_allow(own.as_str(), now, workspace, risk),
        )
    }
}

#[cfg(test)]
mod tests;
