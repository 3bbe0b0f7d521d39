//! Tries rules on the requests of the past: those that were valid and are still kept whole.

use std::collections::BTreeMap;

use countersign_realm::setup::{SetupValue, schema_of};
use countersign_wire::{PolicyKey, WorkspaceName};

use super::what_if::{Pages, past, with_past};
use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::simulate::Report;
use crate::policy::what_if::{Trial, what_if};
use crate::policy::{Conditions, PolicySet, Rule, SetupInForce};
use crate::runtime::App;
use crate::store::simulated::PastRow;
use crate::store::{agents, policy};

pub use super::what_if::Progress;

impl App {
    /// What these rules would have done with every request of a workspace since a moment, in the order in
    /// which they came, panic and pauses aside. It ends when `progress` says false.
    ///
    /// # Errors
    /// `ErrorCode::Store`; `ErrorCode::Failed` when it was cancelled.
    pub async fn simulate_rules(
        &self,
        workspace: &WorkspaceName,
        rules: Vec<Rule>,
        since: Option<Timestamp>,
        progress: impl Fn(Progress) -> bool,
    ) -> Result<Report, Fault> {
        let failed = |why: String| Fault::failed(format!("the simulation: {why}"));
        let setup = self.setup_in_force(workspace).await?;
        let set = PolicySet::new(rules, setup).map_err(failed)?;
        let judge = move |pages: Pages<PastRow>| {
            let conditions = Conditions::default();
            let (mut trial, mut report) = (Trial::new(&set, &conditions), Report::default());
            for row in pages.rows() {
                with_past(&row, |past| {
                    let found = what_if(None, &mut trial, past).after;
                    report.add(&trial, past, &found);
                });
            }
            report.finish()
        };
        past(self.reader(), workspace, since, progress, judge).await
    }

    /// The setup that is in force in a workspace.
    pub(super) async fn setup_in_force(
        &self,
        workspace: &WorkspaceName,
    ) -> Result<BTreeMap<String, SetupInForce>, Fault> {
        let mut setups = BTreeMap::new();
        for (agent, declared) in agents::setup_schemas(self.reader()).await? {
            if agent.workspace != *workspace {
                continue;
            }
            let key = PolicyKey::Setup(agent.clone()).to_string();
            let Some(row) = policy::get(self.reader(), &key).await? else {
                continue;
            };
            if let (Some(value), Some(schema)) =
                (SetupValue::read(&row.payload), schema_of(&declared))
            {
                let revision = u64::try_from(row.revision).unwrap_or(0);
                setups.insert(agent.agent.to_string(), value.in_force(&schema, revision));
            }
        }
        Ok(setups)
    }
}
