//! JSON of a person, read as strictly as an agent reads it.
//!
//! What different readers understand differently is refused.

use countersign_wire::{RejectionCode, parse_decision};
use serde_json::Value;

/// Why a text is invalid as JSON of the protocol.
#[derive(Debug)]
pub struct JsonProblem {
    /// From 1.
    pub line: Option<u32>,
    /// Why.
    pub message: String,
}

/// JSON as the agent's strict reader takes it: read where it will be, inside a decision.
pub fn strict_json(text: &str) -> Result<Value, JsonProblem> {
    let value = serde_json::from_str(text).map_err(|error| JsonProblem {
        line: u32::try_from(error.line()).ok().filter(|line| *line > 0),
        message: format!("This is not JSON: {error}"),
    })?;
    const BEFORE: &str = "{\"edited_args\":";
    let decision = format!("{BEFORE}{text}}}");
    match parse_decision("countersign.v1.decision.a.a.a", decision.as_bytes()) {
        // Only the other fields of a decision are missing, and those are looked at last.
        Err(error) if error.code < RejectionCode::BadVersion => {
            let (what, place) = error
                .detail
                .split_once(" at byte ")
                .unwrap_or((error.detail.as_str(), ""));
            let byte = place
                .parse::<usize>()
                .ok()
                .and_then(|byte| byte.checked_sub(BEFORE.len()));
            let before = byte.and_then(|byte| text.as_bytes().get(..byte));
            let line = before.map(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count() + 1);
            Err(JsonProblem {
                line: line.and_then(|line| u32::try_from(line).ok()),
                message: format!("The agent would refuse this: {what}"),
            })
        }
        _ => Ok(value),
    }
}
