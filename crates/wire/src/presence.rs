//! A console is there (protocol, section 8: `console.{id}`).
//!
//! It means only that a console ran when it wrote this: the server's time stamp of the value shows whether it is still
//! there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    ConsoleId, PublicKey, Timestamp,
    heartbeat::check_version,
    json::parse_document,
    rejection::{RejectionCode, WireError},
};

const MAX_BYTES: usize = 4 * 1024;

/// The value of the policy key `console.{id}`, written every 5 s and signed with the console's auto key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presence {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// The console; equals the id in the key.
    pub console: ConsoleId,
    /// The operator's name, for display.
    pub operator: String,
    /// The key that signs what its operator decides.
    pub human_key: PublicKey,
    /// The key that signs what the console decides without a person.
    pub auto_key: PublicKey,
    /// When, by the console's clock.
    pub at: Timestamp,
    /// One run of the console's program, a new one at each start: two that take turns are two programs with the keys
    /// of one console, from a data folder that was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "uuid"))]
    pub instance_id: Option<Uuid>,
    /// True in the last value of a console that stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
}

/// Reads the presence of `console`.
///
/// # Errors
/// [`WireError`] when it cannot be read or names another console.
pub fn parse_presence(console: &ConsoleId, payload: &[u8]) -> Result<Presence, WireError> {
    let presence: Presence = parse_document(payload, MAX_BYTES, &[])?;
    check_version(presence.v)?;
    if presence.console != *console {
        return Err(WireError::new(
            RejectionCode::SubjectMismatch,
            "the presence of another console",
        ));
    }
    Ok(presence)
}
