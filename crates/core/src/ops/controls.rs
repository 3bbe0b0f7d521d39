//! Panic, pause, stop and bypasses, shared through `CS_POLICY` (rules, "Controls").

use std::sync::Arc;

use countersign_realm::controls::ControlValue;
use countersign_realm::{Current, Manner, Next};
use countersign_wire::{AgentControl, AgentKey};

use super::stopped::keeps_the_stop;
use super::waiting_calls::{Trial, WaitingCall};
use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::controls::ControlSetting;
use crate::runtime::App;
use crate::store::agents_waiting;

const MANNER: Manner = Manner {
    insists: true,
    overtaken: "the shared policy could not be written; check that this console may write CS_POLICY",
};

/// A panic, pause, stop or bypass as it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlSet {
    /// Revision of the key.
    pub revision: u64,
    /// Waiting calls that got the operator's own answer: terminated, or denied where the agent cannot end its run.
    pub terminated: u64,
    /// The others that waited: consoles deny them, or somebody else was first.
    pub left: u64,
}

impl App {
    /// Turns every automatic approval in every console off, or on again. Returns once the bus has stored it.
    ///
    /// # Errors
    /// `ErrorCode::BusUnreachable`, `ErrorCode::ReadOnly`; nothing is changed then.
    pub async fn set_panic(&self, on: bool) -> Result<ControlSet, Fault> {
        let revision = self.put_control(&ControlValue::Panic(on)).await?;
        Ok(ControlSet {
            revision,
            terminated: 0,
            left: 0,
        })
    }

    /// Pauses, stops or resumes an agent. A stop also terminates the agent's pending requests; where the agent cannot
    /// end its run, they are denied. Returns once the bus has stored it.
    ///
    /// # Errors
    /// `ErrorCode::InvalidArgs` for a pause of a stopped agent, `ErrorCode::BusUnreachable`, `ErrorCode::ReadOnly`;
    /// nothing is changed then.
    pub async fn set_control(
        &self,
        agent: &AgentKey,
        state: AgentControl,
    ) -> Result<ControlSet, Fault> {
        let said = ControlValue::Agent(agent.clone(), state);
        let revision = self.put_control(&said).await?;
        let (terminated, left) = match state {
            AgentControl::Stopped => self.terminate_waiting(agent).await?,
            AgentControl::Running | AgentControl::Paused => (0, 0),
        };
        Ok(ControlSet {
            revision,
            terminated,
            left,
        })
    }

    /// The waiting calls that would be approved at once if panic were off, or this agent neither paused nor stopped.
    pub async fn waiting_calls_without(
        &self,
        agent: Option<&AgentKey>,
    ) -> Result<Vec<WaitingCall>, Fault> {
        let before = self.controls().await?;
        let mut after = before.clone();
        match agent {
            Some(agent) => after.set_agent(agent.clone(), now(AgentControl::Running, self.now())),
            None => after.set_panic(now(false, self.now())),
        }
        let asked = agents_waiting::waiting(self.reader()).await?.into_iter();
        let mut workspaces: Vec<_> = asked.filter_map(|(ws, ..)| ws.parse().ok()).collect();
        workspaces.dedup();
        let mut calls = Vec::new();
        for ws in workspaces {
            let in_force = self.policy_in_force(&ws).await?;
            let was = Trial::new(Arc::clone(&in_force), before.clone());
            let is = Trial::new(in_force, after.clone());
            calls.extend(self.newly_approved(&ws, Some(was), is).await?);
        }
        Ok(calls)
    }

    /// Writes over the current revision: the last operator decides. A value that was not seen, or that came after a try
    /// which the bus did not answer, is never overwritten.
    pub(super) async fn put_control(&self, said: &ControlValue) -> Result<u64, Fault> {
        let bucket = self.bucket_to_sign().await?;
        self.may_grant(said)?;
        self.may_end(said)?;
        let key = &said.key();
        let write = |current: Current| async move {
            keeps_the_stop(said, &current)?;
            let payload = said.payload(&self.identity().operator, current.at);
            let unsigned = |error: serde_json::Error| {
                Fault::failed(format!(
                    "{key} of the shared policy cannot be signed: {error}"
                ))
            };
            Ok::<_, Fault>(Next::Write(payload.map_err(unsigned)?, ()))
        };
        let (revision, ()) = bucket.update(self.identity(), (key, MANNER), write).await?;
        Ok(revision)
    }
}

/// A control as somebody would set it now.
fn now<T>(state: T, at: Timestamp) -> ControlSetting<T> {
    ControlSetting {
        state,
        revision: u64::MAX,
        by: String::new(),
        at,
    }
}
