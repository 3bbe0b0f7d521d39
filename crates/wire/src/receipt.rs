//! What an agent did with a decision (protocol, section 6).
//!
//! Unknown stages are errors: a rung of the delivery ladder is never guessed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Subject, Timestamp,
    heartbeat::check_version,
    json::parse_document,
    rejection::{RejectionCode, WireError},
    words::words,
};

/// The most bytes of a receipt.
pub const RECEIPT_MAX_BYTES: usize = 64 * 1024;

/// A rung of the delivery ladder that the agent reports.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The decision arrived and is valid.
    Received,
    /// The call ran.
    Executed,
    /// The call ran and failed.
    Failed,
    /// The agent refused the decision.
    Refused,
}

words!(Stage {
    Received => "received", Executed => "executed", Failed => "failed", Refused => "refused",
});

/// A receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// The decision's own id.
    pub decision_id: String,
    /// What happened.
    pub stage: Stage,
    /// The digest of the arguments that ran. Any text: one that is not a digest differs from what was decided.
    // An unreadable receipt would hide that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed_args_digest: Option<String>,
    /// What the agent could not honour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<Vec<String>>,
    /// The agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When, by the agent's clock.
    pub at: Timestamp,
}

/// Reads a receipt.
pub fn parse_receipt(subject: &str, payload: &[u8]) -> Result<Receipt, WireError> {
    let Some(Subject::Receipt(_)) = Subject::parse(subject) else {
        return Err(WireError::new(
            RejectionCode::BadSubject,
            "not the subject of a receipt",
        ));
    };
    let receipt: Receipt = parse_document(payload, RECEIPT_MAX_BYTES, &[])?;
    check_version(receipt.v)?;
    Ok(receipt)
}
