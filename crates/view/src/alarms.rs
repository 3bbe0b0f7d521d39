//! The list of alarms, and that a person has seen one.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

/// Who said that an alarm was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AlarmSeen {
    /// When.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// The operator's name, where the list of operators has the key.
    pub by: Option<Shown>,
    /// Last characters of the operator's public key.
    pub key_tail: String,
}

/// Who joined, for the alarm that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JoinedView {
    /// The name that the list of operators has for the key.
    pub name: Shown,
    /// Since when the key counts.
    #[ts(type = "number")]
    pub from_ms: i64,
}

/// One alarm of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AlarmItem {
    /// Its number, for acknowledging it; 0 for one that could not be written.
    #[ts(type = "number")]
    pub id: i64,
    /// A stable word.
    pub code: String,
    /// To whom or to what.
    pub subject: Shown,
    /// `WORKSPACE/AGENT/ID` of the request that it is about, where it is about one.
    pub request: Option<String>,
    /// When.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// The operator that it is about, where it says that one joined.
    pub joined: Option<JoinedView>,
    /// What happened, one sentence.
    pub happened: String,
    /// What to do next, one sentence; commands are in back quotes.
    pub next: String,
    /// It reports a lasting state: it ends with its cause and cannot be acknowledged.
    pub lasts: bool,
    /// Who has seen it; none while nobody has.
    pub seen: Option<AlarmSeen>,
}

/// Every active alarm, newest first, the acknowledged ones too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AlarmsView {
    /// At most the newest 1,000.
    pub alarms: Vec<AlarmItem>,
}

/// Says that the operator has seen an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AcknowledgeArgs {
    /// Which.
    #[ts(type = "number")]
    pub id: i64,
}
