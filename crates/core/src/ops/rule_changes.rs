//! The history of one rule: who changed it, what and when.
//!
//! It lists a limited number of changes, and only of sets that this console has verified.

use countersign_wire::{PolicyKey, WorkspaceName};
use serde_json::Value;

use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::changes::{RuleSetValue, between};
use crate::runtime::App;
use crate::store::policy::PolicyRow;
use crate::store::policy_history;

pub use crate::policy::changes::{Change, Kind};

/// Sets that are read at once.
const PAGE: i64 = 20;
/// Changes of one rule that are listed.
const CHANGES_MAX: usize = 50;
/// What is read at most to find them: a set of many rules is large.
const BYTES_MAX: usize = 64 << 20;

/// A change, and whose it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedChange {
    /// What was changed.
    pub change: Change,
    /// The name that the signer gave.
    pub by: String,
    /// The signer's public key.
    pub signer: String,
    /// When, by the signer's console; none where it does not say.
    pub at: Option<Timestamp>,
}

/// The changes of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleChanges {
    /// The newest first.
    pub changes: Vec<SignedChange>,
    /// Older ones were not read.
    pub more: bool,
}

struct Set {
    value: Value,
    signer: String,
}

impl Set {
    fn read(row: PolicyRow) -> Option<Self> {
        let value = serde_json::from_slice(&row.payload).ok()?;
        Some(Self {
            value,
            signer: row.signer,
        })
    }

    /// What was done to the rule when this set took the place of the one before.
    fn change(&self, before: Option<&Self>, id: &str) -> Option<SignedChange> {
        let before = before.map(|set| RuleSetValue(&set.value));
        Some(SignedChange {
            change: between(before, RuleSetValue(&self.value), id)?,
            by: self.value["by"].as_str().unwrap_or_default().to_owned(),
            signer: self.signer.clone(),
            at: self.value["at"].as_str().and_then(Timestamp::parse),
        })
    }
}

impl App {
    /// The changes of one rule, as far back as this console has seen its workspace's rules, at most 50.
    pub async fn rule_changes(
        &self,
        workspace: &WorkspaceName,
        id: &str,
    ) -> Result<RuleChanges, Fault> {
        let key = PolicyKey::Rules(workspace.clone()).to_string();
        let mut reported = RuleChanges::default();
        let (mut before_row, mut bytes) = (i64::MAX, 0_usize);
        let mut newer: Option<Set> = None;
        loop {
            let page = policy_history::of_key(self.reader(), &key, before_row, PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            before_row = *last;
            bytes += page.iter().map(|(_, row)| row.payload.len()).sum::<usize>();
            for set in page.into_iter().filter_map(|(_, row)| Set::read(row)) {
                let change = newer
                    .as_ref()
                    .and_then(|newer| newer.change(Some(&set), id));
                reported.changes.extend(change);
                newer = Some(set);
            }
            if reported.changes.len() >= CHANGES_MAX || bytes > BYTES_MAX {
                reported.changes.truncate(CHANGES_MAX);
                reported.more = true;
                return Ok(reported);
            }
        }
        let first = newer.and_then(|first| first.change(None, id));
        reported.changes.extend(first);
        Ok(reported)
    }
}
