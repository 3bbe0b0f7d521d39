//! The value in the payload of a control, and the value that counts where the payload cannot be trusted.
//!
//! An untrusted payload is never read as "off".

use countersign_wire::{
    AgentControl, AgentKey, BypassGrant, BypassValue, PanicValue, PauseValue, PolicyKey,
    parse_bypass, parse_panic, parse_pause,
};
use serde_json::json;

use crate::domain::Timestamp;
use crate::domain::controls::{Bypass, ControlSetting, Controls};

/// What a payload sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ops) enum ControlValue {
    Panic(bool),
    Agent(AgentKey, AgentControl),
    Bypass(AgentKey, Option<BypassGrant>),
}

/// Who said it, and where it is in the bucket.
pub(super) struct Setting {
    pub(super) revision: u64,
    pub(super) by: String,
    pub(super) signer: String,
    pub(super) at: Timestamp,
}

impl ControlValue {
    /// The key of the shared policy that holds it.
    pub(in crate::ops) fn key(&self) -> PolicyKey {
        match self {
            Self::Panic(_) => PolicyKey::Panic,
            Self::Agent(agent, _) => PolicyKey::Pause(agent.clone()),
            Self::Bypass(agent, _) => PolicyKey::Bypass(agent.clone()),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Panic(true) | Self::Bypass(_, Some(_)) => "on",
            Self::Panic(false) | Self::Bypass(_, None) => "off",
            Self::Agent(_, state) => state.as_str(),
        }
    }

    /// What is signed for it.
    pub(super) fn payload(
        &self,
        by: &str,
        at: countersign_wire::Timestamp,
    ) -> Result<Vec<u8>, serde_json::Error> {
        let (v, by) = (1, by.to_owned());
        match self {
            Self::Panic(on) => serde_json::to_vec(&PanicValue { v, on: *on, by, at }),
            Self::Agent(_, state) => {
                let state = *state;
                serde_json::to_vec(&PauseValue { v, state, by, at })
            }
            Self::Bypass(_, grant) => {
                let grant = grant.clone();
                serde_json::to_vec(&BypassValue { v, grant, by, at })
            }
        }
    }

    /// What a payload says, and who is named as saying it; none where it cannot be read.
    pub(in crate::ops) fn read(key: &PolicyKey, payload: &[u8]) -> Option<(Self, String)> {
        match key {
            PolicyKey::Panic => {
                let value = parse_panic(payload).ok()?;
                Some((Self::Panic(value.on), value.by))
            }
            PolicyKey::Pause(agent) => {
                let value = parse_pause(payload).ok()?;
                Some((Self::Agent(agent.clone(), value.state), value.by))
            }
            PolicyKey::Bypass(agent) => {
                let value = parse_bypass(payload).ok()?;
                Some((Self::Bypass(agent.clone(), value.grant), value.by))
            }
            _ => None,
        }
    }

    /// What counts where nothing can be believed, given what counted before; `refused` says what was signed, and is
    /// too old to count. A stop stays one.
    pub(super) fn careful(
        key: &PolicyKey,
        controls: &Controls,
        refused: Option<&Self>,
    ) -> Option<Self> {
        match (Self::cautious(key)?, refused) {
            (Self::Agent(agent, _), Some(Self::Agent(_, AgentControl::Stopped))) => {
                Some(Self::Agent(agent, AgentControl::Stopped))
            }
            (Self::Agent(agent, _), _) if controls.stop_of(&agent).is_some() => {
                Some(Self::Agent(agent, AgentControl::Stopped))
            }
            (cautious, _) => Some(cautious),
        }
    }

    /// The same where nothing is known of what counted before.
    pub(super) fn cautious(key: &PolicyKey) -> Option<Self> {
        match key {
            PolicyKey::Panic => Some(Self::Panic(true)),
            PolicyKey::Pause(agent) => Some(Self::Agent(agent.clone(), AgentControl::Paused)),
            PolicyKey::Bypass(agent) => Some(Self::Bypass(agent.clone(), None)),
            _ => None,
        }
    }

    /// What the audit log keeps of it.
    pub(super) fn audited(&self) -> serde_json::Value {
        match self {
            Self::Bypass(_, Some(grant)) => {
                json!({ "state": "on", "up_to": grant.up_to, "until": grant.until })
            }
            other => json!({ "state": other.word() }),
        }
    }

    /// Sets it. False when it or a later one is known.
    pub(super) fn set(self, controls: &mut Controls, setting: Setting) -> bool {
        match self {
            Self::Panic(state) => controls.set_panic(setting.of(state)),
            Self::Agent(agent, state) => controls.set_agent(agent, setting.of(state)),
            Self::Bypass(agent, grant) => {
                let (signer, at) = (setting.signer.clone(), setting.at);
                let bypass = grant.map(|grant| {
                    let until = Timestamp::from(grant.until.get());
                    Bypass::new(grant.up_to, until, signer, at)
                });
                controls.set_bypass(agent, setting.of(bypass))
            }
        }
    }
}

impl Setting {
    fn of<T>(self, state: T) -> ControlSetting<T> {
        ControlSetting {
            state,
            revision: self.revision,
            by: self.by,
            at: self.at,
        }
    }
}
