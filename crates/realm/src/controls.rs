//! Panic, pauses, stops and bypasses (rules, "Controls").
//!
//! A payload that does not count is never read as "off": a panic, pause or stop holds, a bypass allows nothing.

use countersign_wire::{
    AgentControl, AgentKey, BypassGrant, BypassValue, PanicValue, PauseValue, PolicyKey, Risk,
    Timestamp as Signed, parse_bypass, parse_panic, parse_pause,
};
use serde_json::{Value, json};

use crate::domain::AlarmCode;
use crate::registers::kind::{Around, Kind};
use crate::signers::Right;

/// A control as somebody sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlValue {
    /// Whether every automatic approval is off.
    Panic(bool),
    /// Whether an agent runs, is paused or is stopped.
    Agent(AgentKey, AgentControl),
    /// What an agent may do without asking.
    Bypass(AgentKey, Option<BypassGrant>),
}

impl ControlValue {
    /// The key of the shared policy that holds it.
    #[must_use]
    pub fn key(&self) -> PolicyKey {
        match self {
            Self::Panic(_) => Panic::name(&()),
            Self::Agent(agent, _) => Pause::name(agent),
            Self::Bypass(agent, _) => Bypass::name(agent),
        }
    }

    /// What is signed for it.
    ///
    /// # Errors
    /// Where it cannot be written as JSON.
    pub fn payload(&self, by: &str, at: Signed) -> Result<Vec<u8>, serde_json::Error> {
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

    /// What its signer must be allowed to, whatever is in force.
    #[must_use]
    pub fn needs(&self) -> Option<Right> {
        match self {
            Self::Panic(false) => Some(Panic::RIGHT),
            Self::Agent(_, AgentControl::Running) => Some(Pause::RIGHT),
            _ => None,
        }
    }
}

/// `panic`: whether every automatic approval is off.
pub struct Panic;

impl Kind for Panic {
    type Key = ();
    type Value = bool;
    const ALARM: AlarmCode = AlarmCode::ControlUnverified;
    const RIGHT: Right = Right::Everything;
    const SHOWN: bool = true;

    fn name((): &()) -> PolicyKey {
        PolicyKey::Panic
    }

    fn unset() -> bool {
        false
    }

    fn read(payload: &[u8]) -> Option<bool> {
        Some(parse_panic(payload).ok()?.on)
    }

    fn cautious(_: &bool, _: Option<&bool>) -> bool {
        true
    }

    fn relaxes(_: &bool, next: Option<&bool>, _: Around<'_>) -> bool {
        next == Some(&false)
    }

    fn audited(_: Option<&bool>, on: &bool) -> Value {
        json!({ "state": if *on { "on" } else { "off" } })
    }
}

/// `pause.{ws}.{agent}`: whether an agent runs, is paused or is stopped.
pub struct Pause;

impl Kind for Pause {
    type Key = AgentKey;
    type Value = AgentControl;
    const ALARM: AlarmCode = AlarmCode::ControlUnverified;
    const RIGHT: Right = Right::UpTo(Risk::Safe);
    const SHOWN: bool = true;

    fn name(agent: &AgentKey) -> PolicyKey {
        PolicyKey::Pause(agent.clone())
    }

    fn unset() -> AgentControl {
        AgentControl::Running
    }

    fn read(payload: &[u8]) -> Option<AgentControl> {
        Some(parse_pause(payload).ok()?.state)
    }

    /// A stop stays one.
    fn cautious(last: &AgentControl, stale: Option<&AgentControl>) -> AgentControl {
        let stopped = AgentControl::Stopped;
        match *last == stopped || stale == Some(&stopped) {
            true => stopped,
            false => AgentControl::Paused,
        }
    }

    fn relaxes(last: &AgentControl, next: Option<&AgentControl>, _: Around<'_>) -> bool {
        match next {
            Some(AgentControl::Running) => true,
            Some(AgentControl::Paused) => *last == AgentControl::Stopped,
            Some(AgentControl::Stopped) | None => false,
        }
    }

    fn audited(_: Option<&AgentControl>, state: &AgentControl) -> Value {
        json!({ "state": state })
    }
}

/// `bypass.{ws}.{agent}`: what an agent may do without asking for a while. What it allows is bound by its signer's
/// limits.
pub struct Bypass;

impl Kind for Bypass {
    type Key = AgentKey;
    type Value = Option<BypassGrant>;
    const ALARM: AlarmCode = AlarmCode::ControlUnverified;
    const RIGHT: Right = Right::UpTo(Risk::Safe);
    const SHOWN: bool = true;

    fn name(agent: &AgentKey) -> PolicyKey {
        PolicyKey::Bypass(agent.clone())
    }

    fn unset() -> Self::Value {
        None
    }

    fn read(payload: &[u8]) -> Option<Self::Value> {
        Some(parse_bypass(payload).ok()?.grant)
    }

    fn cautious(_: &Self::Value, _: Option<&Self::Value>) -> Self::Value {
        None
    }

    fn relaxes(_: &Self::Value, _: Option<&Self::Value>, _: Around<'_>) -> bool {
        false
    }

    fn audited(_: Option<&Self::Value>, value: &Self::Value) -> Value {
        match value {
            Some(grant) => json!({ "state": "on", "up_to": grant.up_to, "until": grant.until }),
            None => json!({ "state": "off" }),
        }
    }
}
