//! Permission to relax what holds calls back for everybody: panic, a stop or a pause, a rule that denies or asks.
//!
//! This takes an operator who could let these calls run. Anybody may hold back.

use countersign_realm::controls::ControlValue;
use countersign_realm::registers::kind::Kind;
use countersign_realm::rules::{Rules, asking_setup, loosened};
use countersign_realm::signers::Right;
use countersign_wire::{AgentKey, WorkspaceName};
use serde_json::{Map, Value};

use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::Rule;
use crate::runtime::App;

impl App {
    /// Whether this operator has a right, in a workspace or everywhere.
    fn has(&self, right: Right, workspace: Option<&WorkspaceName>) -> bool {
        let (own, log) = (self.identity().human_key(), self.inner.shared.trusted.log());
        let term = log.term(own.as_str(), None);
        term.is_some_and(|term| right.is_of(term, workspace))
    }

    /// Refuses to change values of setup keys by which rules deny or ask.
    pub(super) async fn may_choose(
        &self,
        agent: &AgentKey,
        (before, after): (&Map<String, Value>, &Map<String, Value>),
    ) -> Result<(), Fault> {
        let (workspace, now) = (&agent.workspace, self.now());
        if before == after || self.has(Rules::RIGHT, Some(workspace)) {
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
        let workspace = match said {
            ControlValue::Agent(agent, _) => Some(&agent.workspace),
            _ => None,
        };
        if said.needs().is_none_or(|right| self.has(right, workspace)) {
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
        if self.has(Rules::RIGHT, Some(&agent.workspace)) {
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
        if self.has(Rules::RIGHT, Some(workspace)) {
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
