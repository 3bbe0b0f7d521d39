//! An agent no longer wants the answer (protocol, section 6).
//!
//! A withdrawal counts whatever its body says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json_value;

/// A withdrawal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withdraw {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// The agent's words: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

const MAX_BYTES: usize = 64 * 1024;

/// Reads a withdrawal; what cannot be read is a withdrawal without a reason.
pub fn parse_withdraw(payload: &[u8]) -> Withdraw {
    let read = || -> Option<String> {
        let value = (payload.len() <= MAX_BYTES).then(|| json_value(payload))??;
        value.get("reason")?.as_str().map(str::to_owned)
    };
    Withdraw {
        v: 1,
        reason: read(),
    }
}
