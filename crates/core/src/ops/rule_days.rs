//! What the list of rules tells beside each rule's record.

use std::collections::BTreeSet;

use countersign_wire::{PolicyKey, WorkspaceName};

use crate::domain::Timestamp;
use crate::error::OpError;
use crate::runtime::App;
use crate::store::{policy, rule_uses};

impl App {
    /// Names of the workspaces that have rules.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn rule_workspaces(&self) -> Result<BTreeSet<String>, OpError> {
        let rows = policy::all(self.reader()).await?;
        let named = rows
            .into_iter()
            .filter_map(|row| match PolicyKey::parse(&row.key) {
                Some(PolicyKey::Rules(workspace)) => Some(workspace.to_string()),
                _ => None,
            });
        Ok(named.collect())
    }

    /// How many calls a rule has approved since a moment.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn rule_approved_since(
        &self,
        workspace: &WorkspaceName,
        id: &str,
        since: Timestamp,
    ) -> Result<u64, OpError> {
        let nothing = (self.now(), |_| 0.0);
        let of = (workspace.as_ref(), id);
        let used = rule_uses::used(self.reader(), of, (since, nothing.0), nothing.1).await?;
        Ok(used.0)
    }
}
