//! Timed bypass: for a while, calls of one agent up to a risk run without asking (rules, "Controls").
//!
//! It excludes critical calls, lasts at most 8 hours, and ends when its signer may no longer allow these calls.

use std::time::Duration;

use countersign_realm::controls::ControlValue;
use countersign_wire::{AgentKey, BypassGrant, PolicyKey, Risk, RuleRef};

use super::controls::ControlSet;
use super::realm::TrustedKeys;
use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::controls::{BYPASS_MAX_MS, Bypass, ControlSetting, Controls};
use crate::policy::InBypass;
use crate::runtime::App;

/// The shortest bypass: less is over before the bus has it.
const SHORTEST_MS: i64 = 1_000;

/// The bypass that covers a request of this agent now, as a judgement sees it.
fn in_bypass(controls: &Controls, agent: &AgentKey, now: Timestamp) -> Option<InBypass> {
    let (set, bypass) = controls.bypass_of(agent, now)?;
    Some(InBypass {
        up_to: bypass.up_to,
        since: set.at,
    })
}

/// The same, where its signer still may let a request of this risk run.
pub(super) fn standing(
    trusted: &TrustedKeys,
    controls: &Controls,
    (agent, risk): (&AgentKey, Risk),
    now: Timestamp,
) -> Option<InBypass> {
    let (_, bypass) = controls.bypass_of(agent, now)?;
    let may = trusted.may_allow(&bypass.signer, &agent.workspace, risk);
    in_bypass(controls, agent, now).filter(|_| may)
}

/// What a decision by a bypass names: the key in the shared policy and its revision. No rule can have such
/// an id.
pub(super) fn reference(controls: &Controls, agent: &AgentKey, now: Timestamp) -> Option<RuleRef> {
    let (set, bypass) = controls.bypass_of(agent, now)?;
    Some(RuleRef {
        id: rule_id(agent),
        version: set.revision,
        name: Some(name(set, bypass)),
    })
}

/// The id under which decisions by a bypass of this agent are recorded.
#[must_use]
pub fn rule_id(agent: &AgentKey) -> String {
    PolicyKey::Bypass(agent.clone()).to_string()
}

fn name(set: &ControlSetting<Option<Bypass>>, bypass: &Bypass) -> String {
    let (up_to, until) = (bypass.up_to.as_str(), bypass.until.rfc3339());
    format!("bypass by {}: up to {up_to} until {until}", set.by)
}

impl App {
    /// Lets calls of an agent up to a risk run without asking, from now on for so long. Rules that deny or ask still
    /// hold, and so does what no rule may allow. A later bypass replaces an earlier one. Returns once the bus has
    /// stored it.
    ///
    /// # Errors
    /// `ErrorCode::InvalidArgs` for critical calls and for less than a second or more than 8 hours;
    /// `ErrorCode::VerdictNotAllowed` beyond the operator's own limits; `ErrorCode::BusUnreachable`,
    /// `ErrorCode::ReadOnly`; nothing is changed then.
    pub async fn set_bypass(
        &self,
        agent: &AgentKey,
        up_to: Risk,
        lasting: Duration,
    ) -> Result<ControlSet, Fault> {
        if up_to == Risk::Critical {
            let why = "a bypass never covers critical calls; the highest is high";
            return Err(Fault::invalid_args(why));
        }
        let ms = i64::try_from(lasting.as_millis()).unwrap_or(i64::MAX);
        if !(SHORTEST_MS..=BYPASS_MAX_MS).contains(&ms) {
            let why = "a bypass lasts from a second to 8 hours";
            return Err(Fault::invalid_args(why));
        }
        let until = countersign_wire::Timestamp::new(self.now().plus_ms(ms).into());
        let grant = BypassGrant { up_to, until };
        self.put_bypass(agent, Some(grant)).await
    }

    /// Ends the bypass of an agent before its time. Returns once the bus has stored it.
    ///
    /// # Errors
    /// `ErrorCode::BusUnreachable`, `ErrorCode::ReadOnly`; nothing is changed then.
    pub async fn end_bypass(&self, agent: &AgentKey) -> Result<ControlSet, Fault> {
        self.put_bypass(agent, None).await
    }

    /// Refuses a bypass that would cover what its signer may not let run.
    pub(super) fn may_grant(&self, said: &ControlValue) -> Result<(), Fault> {
        let ControlValue::Bypass(agent, Some(grant)) = said else {
            return Ok(());
        };
        let (trusted, own) = (&self.inner.shared.trusted, self.identity().human_key());
        let workspace = &agent.workspace;
        if trusted.may_allow(own.as_str(), workspace, grant.up_to) {
            return Ok(());
        }
        Err(Fault::verdict_not_allowed(format!(
            "a bypass cannot exceed your own limits: your key may not approve calls up to {} in workspace {workspace}; see `countersign operators list`",
            grant.up_to.as_str()
        )))
    }

    async fn put_bypass(
        &self,
        agent: &AgentKey,
        grant: Option<BypassGrant>,
    ) -> Result<ControlSet, Fault> {
        let revision = self
            .put_control(&ControlValue::Bypass(agent.clone(), grant))
            .await?;
        Ok(ControlSet {
            revision,
            terminated: 0,
            left: 0,
        })
    }
}
