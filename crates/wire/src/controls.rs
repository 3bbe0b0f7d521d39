//! Values of the controls in the shared policy (protocol, section 8): `panic`, `pause.{ws}.{agent}` and
//! `bypass.{ws}.{agent}`.
//!
//! An unknown word is an error: a panic, pause or stop that cannot be read must not read as none, and a bypass that cannot be read
//! approves nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Risk, Timestamp,
    heartbeat::check_version,
    json::parse_document,
    rejection::{RejectionCode, WireError},
};

const MAX_BYTES: usize = 4 * 1024;

/// The value of `panic`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PanicValue {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// Whether every automatic approval is off.
    pub on: bool,
    /// The operator's name, for display.
    pub by: String,
    /// When, by the operator's console.
    pub at: Timestamp,
}

/// Whether an agent runs, is paused or is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "ControlState"))]
#[serde(rename_all = "snake_case")]
pub enum AgentControl {
    /// It runs.
    Running,
    /// Its automatic approvals are off.
    Paused,
    /// Its waiting calls are terminated and new ones denied.
    Stopped,
}

crate::words::words!(AgentControl { Running => "running", Paused => "paused", Stopped => "stopped" });

/// The value of `pause.{ws}.{agent}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseValue {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// Whether the agent is paused or stopped from now on.
    pub state: AgentControl,
    /// The operator's name, for display.
    pub by: String,
    /// When, by the operator's console.
    pub at: Timestamp,
}

/// What a bypass approves without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BypassGrant {
    /// The highest risk, never `critical`.
    pub up_to: Risk,
    /// It expires then, by the server's time.
    pub until: Timestamp,
}

/// The value of `bypass.{ws}.{agent}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BypassValue {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// What need not ask; none ends a bypass.
    pub grant: Option<BypassGrant>,
    /// The operator's name, for display.
    pub by: String,
    /// When, by the operator's console.
    pub at: Timestamp,
}

/// Reads the payload of `panic`.
pub fn parse_panic(payload: &[u8]) -> Result<PanicValue, WireError> {
    let value: PanicValue = parse_document(payload, MAX_BYTES, &[])?;
    check_version(value.v)?;
    Ok(value)
}

/// Reads the payload of `pause.{ws}.{agent}`.
pub fn parse_pause(payload: &[u8]) -> Result<PauseValue, WireError> {
    let value: PauseValue = parse_document(payload, MAX_BYTES, &[])?;
    check_version(value.v)?;
    Ok(value)
}

/// Reads the payload of `bypass.{ws}.{agent}`; one that would reach critical calls does not read.
pub fn parse_bypass(payload: &[u8]) -> Result<BypassValue, WireError> {
    let value: BypassValue = parse_document(payload, MAX_BYTES, &[])?;
    check_version(value.v)?;
    if value
        .grant
        .as_ref()
        .is_some_and(|grant| grant.up_to == Risk::Critical)
    {
        return Err(WireError::new(
            RejectionCode::WrongType,
            "grant.up_to: a bypass never covers critical calls",
        ));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_control_reads_back_and_an_unknown_word_does_not_read() {
        let value = br#"{"v":1,"state":"stopped","by":"Ada","at":"2026-11-22T12:00:00.000Z"}"#;
        let read = parse_pause(value).unwrap();
        assert_eq!(read.state, AgentControl::Stopped);
        assert_eq!(serde_json::to_vec(&read).unwrap(), value);
        for bad in [
            r#"{"v":1,"state":"fast","by":"Ada","at":"2026-11-22T12:00:00.000Z"}"#,
            r#"{"v":2,"state":"paused","by":"Ada","at":"2026-11-22T12:00:00.000Z"}"#,
            r#"{"v":1,"by":"Ada","at":"2026-11-22T12:00:00.000Z"}"#,
        ] {
            assert!(parse_pause(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(parse_panic(br#"{"v":1,"by":"Ada","at":"2026-11-22T12:00:00.000Z"}"#).is_err());
    }
}
