//! Panic, pause and stop from the window.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::{AgentControl, Risk};

use super::WaitingCalls;

/// Pauses or stops an agent, or releases it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ControlArgs {
    /// `WORKSPACE/AGENT`.
    pub agent: String,
    /// From now on.
    pub state: AgentControl,
    /// As in [`super::SaveRuleArgs`].
    #[serde(rename = "acceptWaiting")]
    pub accept_waiting: Vec<String>,
}

/// Turns every automatic approval in every console off, or lets them be given again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PanicArgs {
    /// From now on.
    pub on: bool,
    /// As in [`super::SaveRuleArgs`].
    #[serde(rename = "acceptWaiting")]
    pub accept_waiting: Vec<String>,
}

/// How far a bypass goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BypassFor {
    /// The highest risk; never critical.
    pub up_to: Risk,
    /// How long from now, in seconds; at most 8 hours.
    pub seconds: u32,
}

/// Lets calls of an agent run without asking for a while, or ends that before its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BypassArgs {
    /// `WORKSPACE/AGENT`.
    pub agent: String,
    /// None ends it.
    pub grant: Option<BypassFor>,
}

/// A panic, pause, stop or bypass that was stored on the bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ControlOutcome {
    /// Waiting calls that were terminated or denied.
    #[ts(type = "number")]
    pub terminated: u64,
    /// Nothing was changed: the operator is to be asked about these.
    pub waiting: Option<WaitingCalls>,
}
