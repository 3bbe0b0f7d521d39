//! What a device may decide and set: little, since nobody sees what the agent runs from a phone as well as at the desk.

use serde_json::Value;

use super::{record::Limits, standing::Facts};
use crate::{DecisionVerdict, Effects, Risk};

/// Whether a device with these limits may decide so.
pub fn device_may(limits: Option<&Limits>, facts: &Facts<'_>) -> bool {
    match facts.verdict {
        DecisionVerdict::Deny | DecisionVerdict::Terminate | DecisionVerdict::Skip => true,
        DecisionVerdict::Approve | DecisionVerdict::Respond => {
            facts.risk < Risk::Critical
                && facts.effects != Effects::Irreversible
                && limits.is_none_or(|limits| limits.allow(facts.workspace, facts.risk))
        }
        _ => false,
    }
}

/// Whether a device may sign this value of a key of `CS_POLICY`.
pub fn device_may_set(device: &str, key: &str, value: &Value) -> bool {
    match key.split_once('.') {
        None => key == "panic" && value["on"] == true,
        Some(("pause", _)) => value["state"] == "paused" || value["state"] == "stopped",
        Some(("ask", whose)) => whose == device && value.is_object(),
        Some(_) => false,
    }
}
