//! Permission to relax what holds calls back for everybody: panic, a stop or a pause, a rule that denies or asks.
//!
//! This takes an operator who could let these calls run. Anybody may hold back.

use countersign_wire::realm::Term;
use countersign_wire::{AgentControl, AgentKey, PolicyKey, Risk, WorkspaceName};
use serde_json::{Map, Value};

use super::controls::ControlValue;
use super::policies::read_payload;
use super::rules::loosened;
use super::setup::SetupValue;
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
    let revision = u64::try_from(row.revision).unwrap_or(u64::MAX);
    let term = shared.trusted.register_term(&row.signer, revision);
    let term = term.as_ref();
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
                may_let_go(term, (&said, stopped))
            })
        }
        PolicyKey::Rules(workspace) => {
            let known = shared.policies.rules(workspace);
            may_loosen(term, workspace)
                || known.is_empty()
                || read_payload(&row.payload)
                    .is_ok_and(|next| loosened(&known, &next, stored_at).is_empty())
        }
        PolicyKey::Setup(agent) => {
            let workspace = &agent.workspace;
            let known = shared.policies.rules(workspace);
            let next = SetupValue::read(&row.payload).map(|value| value.chosen());
            may_loosen(term, workspace)
                || asking_setup(&known, stored_at).is_empty()
                || next == Some(shared.policies.chosen(agent))
        }
        _ => true,
    }
}

/// Whether who signs it may end what it ends; `stopped` says that the agent is, which a pause would end, too.
fn may_let_go(term: Option<&Term>, (said, stopped): (&ControlValue, bool)) -> bool {
    let may = |workspace: &WorkspaceName| {
        term.is_some_and(|term| term.allows(workspace.as_str(), Risk::Safe))
    };
    match said {
        ControlValue::Panic(false) => term.is_some_and(Term::is_free),
        ControlValue::Agent(agent, AgentControl::Running) => may(&agent.workspace),
        ControlValue::Agent(agent, AgentControl::Paused) if stopped => may(&agent.workspace),
        _ => true,
    }
}

fn may_loosen(term: Option<&Term>, workspace: &WorkspaceName) -> bool {
    term.is_some_and(|term| term.allows(workspace.as_str(), Risk::Critical))
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
    /// The term of this operator's key; none where it is not in force.
    fn own_term(&self) -> Option<Term> {
        let own = self.identity().human_key();
        self.inner
            .shared
            .trusted
            .log()
            .term(own.as_str(), None)
            .cloned()
    }

    /// Refuses to change values of setup keys by which rules deny or ask.
    pub(super) async fn may_choose(
        &self,
        agent: &AgentKey,
        (before, after): (&Map<String, Value>, &Map<String, Value>),
    ) -> Result<(), Fault> {
        let (workspace, now) = (&agent.workspace, self.now());
        if before == after || may_loosen(self.own_term().as_ref(), workspace) {
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
        if may_let_go(self.own_term().as_ref(), (said, false)) {
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
        if may_loosen(self.own_term().as_ref(), &agent.workspace) {
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
        if may_loosen(self.own_term().as_ref(), workspace) {
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
