//! Permission to relax what holds calls back for everybody: panic, a stop or a pause, a rule that denies or asks.
//!
//! This takes an operator who could let these calls run. Anybody may hold back.

use countersign_wire::{AgentControl, AgentKey, PolicyKey, Risk, WorkspaceName};
use serde_json::{Map, Value};

use super::controls::ControlValue;
use super::policies::read_payload;
use super::rules::loosened;
use super::setup::SetupValue;
use super::trusted::TrustedKeys;
use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::{Effect, Enabled, Rule};
use crate::runtime::{App, Shared};
use crate::store::policy::PolicyRow;

/// Whether a value that an operator signed relaxes only what that operator may relax.
pub(super) fn is_permitted(
    shared: &Shared,
    key: &PolicyKey,
    row: &PolicyRow,
    stored_at: Timestamp,
) -> bool {
    let (trusted, signer) = (&shared.trusted, row.signer.as_str());
    match key {
        PolicyKey::Panic | PolicyKey::Pause(_) => {
            let said = ControlValue::read(key, &row.payload);
            said.is_none_or(|(said, _)| {
                let stopped = match &said {
                    ControlValue::Agent(agent, _) => {
                        shared.controls.read().stop_of(agent).is_some()
                    }
                    _ => false,
                };
                may_let_go(trusted, signer, (&said, stopped), stored_at)
            })
        }
        PolicyKey::Rules(workspace) => {
            let known = shared.policies.rules(workspace);
            may_loosen(trusted, signer, workspace, stored_at)
                || known.is_empty()
                || read_payload(&row.payload)
                    .is_ok_and(|next| loosened(&known, &next, stored_at).is_empty())
        }
        PolicyKey::Setup(agent) => {
            let workspace = &agent.workspace;
            let known = shared.policies.rules(workspace);
            let next = SetupValue::read(&row.payload).map(|value| value.chosen());
            may_loosen(trusted, signer, workspace, stored_at)
                || asking_setup(&known, stored_at).is_empty()
                || next == Some(shared.policies.chosen(agent))
        }
        _ => true,
    }
}

/// Whether who signs it may end what it ends; `stopped` says that the agent is, which a pause would end, too.
fn may_let_go(
    trusted: &TrustedKeys,
    signer: &str,
    (said, stopped): (&ControlValue, bool),
    at: Timestamp,
) -> bool {
    match said {
        ControlValue::Panic(false) => trusted.is_free(signer, at),
        ControlValue::Agent(agent, AgentControl::Running) => {
            trusted.may_allow(signer, at, &agent.workspace, Risk::Safe)
        }
        ControlValue::Agent(agent, AgentControl::Paused) if stopped => {
            trusted.may_allow(signer, at, &agent.workspace, Risk::Safe)
        }
        _ => true,
    }
}

fn may_loosen(
    trusted: &TrustedKeys,
    signer: &str,
    workspace: &WorkspaceName,
    at: Timestamp,
) -> bool {
    trusted.may_allow(signer, at, workspace, Risk::Critical)
}

/// Ids of the rules that deny or ask by what a setup key says.
fn asking_setup(rules: &[Rule], now: Timestamp) -> Vec<&str> {
    let asks = |rule: &&Rule| {
        let when = rule.when.as_deref().unwrap_or_default();
        rule.effect != Effect::Approve
            && rule.enabled == Enabled::On
            && !rule.is_over(now)
            && when.contains("setup")
    };
    let asking = rules.iter().filter(asks);
    asking.map(|rule| rule.id.as_str()).collect()
}

impl App {
    /// Refuses to change values of setup keys by which rules deny or ask.
    pub(super) async fn may_choose(
        &self,
        agent: &AgentKey,
        (before, after): (&Map<String, Value>, &Map<String, Value>),
    ) -> Result<(), Fault> {
        let (trusted, own) = (&self.inner.shared.trusted, self.identity().human_key());
        let (workspace, now) = (&agent.workspace, self.now());
        if before == after || may_loosen(trusted, own.as_str(), workspace, now) {
            return Ok(());
        }
        let in_force = self.policy_in_force(workspace).await?;
        let rules: Vec<Rule> = in_force
            .set
            .rules()
            .iter()
            .map(|of| of.rule.clone())
            .collect();
        let asking = asking_setup(&rules, now);
        match asking.is_empty() {
            true => Ok(()),
            false => Err(Fault::verdict_not_allowed(format!(
                "your own key has limits, and these rules deny or ask depending on setup keys: {}; ask an operator who may approve every call in workspace {workspace} to change their values, see `countersign operators list`",
                asking.join(", ")
            ))),
        }
    }

    /// Refuses to end a control that this operator may not end.
    pub(super) fn may_end(&self, said: &ControlValue) -> Result<(), Fault> {
        let (trusted, own) = (&self.inner.shared.trusted, self.identity().human_key());
        if may_let_go(trusted, own.as_str(), (said, false), self.now()) {
            return Ok(());
        }
        let what = match said {
            ControlValue::Agent(agent, _) => format!(
                "only an operator who may approve calls in workspace {} can resume {agent}",
                agent.workspace
            ),
            _ => "only an operator without limits can end panic".to_owned(),
        };
        Err(Fault::verdict_not_allowed(format!(
            "{what}; your own key has limits, see `countersign operators list`"
        )))
    }

    /// Refuses to remove for everybody what others could still decide.
    pub(super) fn may_purge(&self, agent: &AgentKey) -> Result<(), Fault> {
        let (trusted, own) = (&self.inner.shared.trusted, self.identity().human_key());
        if may_loosen(trusted, own.as_str(), &agent.workspace, self.now()) {
            return Ok(());
        }
        Err(Fault::verdict_not_allowed(format!(
            "only an operator who may approve every call in workspace {} can remove from the bus what {agent} sent; your own key has limits, see `countersign operators list`",
            agent.workspace
        )))
    }

    /// Refuses to take from rules that deny or ask.
    pub(super) fn may_change_to(
        &self,
        workspace: &WorkspaceName,
        (before, after): (&[Rule], &[Rule]),
        now: Timestamp,
    ) -> Result<(), Fault> {
        let (trusted, own) = (&self.inner.shared.trusted, self.identity().human_key());
        if may_loosen(trusted, own.as_str(), workspace, now) {
            return Ok(());
        }
        let less = loosened(before, after, now);
        match less.is_empty() {
            true => Ok(()),
            false => Err(Fault::verdict_not_allowed(format!(
                "your own key has limits, and these rules would deny or ask less than before: {}; ask an operator who may approve every call in workspace {workspace} to change them, see `countersign operators list`",
                less.join(", ")
            ))),
        }
    }
}
