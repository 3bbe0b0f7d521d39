//! Panic, pause and stop from the window.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::AgentBrake;

/// How an agent is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum BrakeState {
    /// Not at all.
    Running,
    /// Its automatic approvals are off.
    Paused,
    /// Its waiting calls are terminated and new ones denied.
    Stopped,
}

impl From<BrakeState> for AgentBrake {
    fn from(state: BrakeState) -> Self {
        match state {
            BrakeState::Running => Self::Running,
            BrakeState::Paused => Self::Paused,
            BrakeState::Stopped => Self::Stopped,
        }
    }
}

/// Holds an agent back, or lets it go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BrakeArgs {
    /// `WORKSPACE/AGENT`.
    pub agent: String,
    /// From now on.
    pub state: BrakeState,
}

/// Turns every automatic approval in every console off, or lets them be given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PanicArgs {
    /// From now on.
    pub on: bool,
}

/// A brake that stands on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BrakeOutcome {
    /// Waiting calls that were terminated or denied.
    #[ts(type = "number")]
    pub terminated: u64,
}
