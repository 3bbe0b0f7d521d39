//! A heartbeat (protocol, section 1).
//!
//! It means only that an instance was there when it was sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    json::parse_document,
    rejection::{RejectionCode, WireError},
};

const MAX_BYTES: usize = 4 * 1024;

/// Sent every 10 s by each running agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Heartbeat {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// Which of several running copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// It asks once and ends: it is not a running copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_shot: Option<bool>,
}

/// Reads a heartbeat.
pub fn parse_heartbeat(payload: &[u8]) -> Result<Heartbeat, WireError> {
    let alive: Heartbeat = parse_document(payload, MAX_BYTES, &[])?;
    check_version(alive.v)?;
    Ok(alive)
}

pub(crate) fn check_version(v: u8) -> Result<(), WireError> {
    if v == 1 {
        Ok(())
    } else {
        Err(WireError::new(RejectionCode::BadVersion, "v is not 1"))
    }
}

pub(crate) fn version_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "const": 1 })
}
