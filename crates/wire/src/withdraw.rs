//! An agent no longer wants the answer (protocol, section 6).
//!
//! Refuses nothing: a withdrawal counts whatever its body says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A withdrawal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withdraw {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::alive::version_schema")]
    pub v: u8,
    /// The agent's words: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

const MAX_BYTES: usize = 64 * 1024;

/// Reads a withdrawal; what cannot be read is a withdrawal without a reason.
pub fn parse_withdraw(payload: &[u8]) -> Withdraw {
    let read = || -> Option<String> {
        let value: serde_json::Value =
            (payload.len() <= MAX_BYTES).then(|| serde_json::from_slice(payload).ok())??;
        value.get("reason")?.as_str().map(str::to_owned)
    };
    Withdraw {
        v: 1,
        reason: read(),
    }
}
