//! The policy in force of a workspace, for a process that reports it and decides nothing.
//!
//! Such a process takes it from the console of this folder.

use std::sync::Arc;

use countersign_wire::{PolicyKey, WorkspaceName};

use super::policies::{InForce, Policies, with_last_good};
use crate::Fault;
use crate::domain::AlarmCode;
use crate::runtime::{App, Role};
use crate::store::{agents, policy};

impl App {
    /// The rules and the setup of a workspace with who signed them; a process beside the console reads what the console
    /// of this folder wrote down.
    pub(super) async fn policy_in_force(
        &self,
        workspace: &WorkspaceName,
    ) -> Result<Arc<InForce>, Fault> {
        let known = match self.role() {
            Role::Console => self.inner.shared.policies.of(workspace),
            Role::Beside | Role::Reader => self.written_down(workspace).await?.of(workspace),
        };
        let failed = || {
            Fault::failed("the rules cannot be prepared; check them with `countersign rules list`")
        };
        known.or_else(Policies::nothing).ok_or_else(failed)
    }

    async fn written_down(&self, workspace: &WorkspaceName) -> Result<Policies, Fault> {
        let is_ours = |key: &PolicyKey| match key {
            PolicyKey::Rules(of) => of == workspace,
            PolicyKey::Setup(agent) => agent.workspace == *workspace,
            _ => false,
        };
        let mut rows = policy::remembered(self.reader()).await?;
        rows.retain(|row| PolicyKey::parse(&row.key).as_ref().is_some_and(is_ours));
        let rows = with_last_good(self.reader(), &rows).await?;
        let declared = agents::setup_schemas(self.reader()).await?;
        let alarms = self.alarms().await?;
        let preparing = tokio::task::spawn_blocking(move || Policies::remembered(&rows, &declared));
        let policies = preparing
            .await
            .map_err(|error| Fault::failed(format!("the rules: {error}")))?;
        // What does not verify leaves no row; the console reported it.
        let key = PolicyKey::Rules(workspace.clone()).to_string();
        let is_unusable =
            |code: &str, subject: &str| code == AlarmCode::RulesUnusable.as_str() && subject == key;
        if alarms
            .iter()
            .any(|alarm| is_unusable(&alarm.code, &alarm.subject))
        {
            policies.replaced(workspace.clone());
        }
        Ok(policies)
    }
}
