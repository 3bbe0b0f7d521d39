//! The workspaces that have rules, and what each rule did.

use std::collections::{BTreeMap, BTreeSet};

use countersign_wire::{PolicyKey, WorkspaceName};

use super::rules::{RuleRecord, record};
use crate::Fault;
use crate::domain::Timestamp;
use crate::runtime::App;
use crate::store::{policy, rule_record};

impl App {
    /// Names of the workspaces that have rules.
    pub async fn rule_workspaces(&self) -> Result<BTreeSet<String>, Fault> {
        let rows = policy::all(self.reader()).await?;
        let named = rows
            .into_iter()
            .filter_map(|row| match PolicyKey::parse(&row.key) {
                Some(PolicyKey::Rules(workspace)) => Some(workspace.to_string()),
                _ => None,
            });
        Ok(named.collect())
    }

    /// What each rule of a workspace did so far, and how many calls it has approved since a moment, by its
    /// id; a rule that did nothing is left out. Two queries, however many rules there are.
    pub async fn rule_records(
        &self,
        workspace: &WorkspaceName,
        since: Timestamp,
    ) -> Result<BTreeMap<String, (RuleRecord, u64)>, Fault> {
        let rows = rule_record::of_workspace(self.reader(), workspace.as_ref(), since).await?;
        let read = |(id, (row, today))| (id, (record(row), u64::try_from(today).unwrap_or(0)));
        Ok(rows.into_iter().map(read).collect())
    }
}
