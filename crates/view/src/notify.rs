//! Which desktop notifications an operator wants.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What is worth a notification while the window is not in front. Alarms notify at every level but `off`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum NotifyLevel {
    /// Every request that waits.
    #[default]
    All,
    /// Requests of high or critical risk.
    Urgent,
    /// Nothing.
    Off,
}

/// Argument of `notify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct NotifyArgs {
    /// From now on.
    pub level: NotifyLevel,
}
