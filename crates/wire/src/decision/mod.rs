//! Decisions: the one answer to a request (protocol, section 5).
//!
//! An unreadable or unverified decision permits nothing.

mod verify;
mod vote;
mod words;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{RequestId, Sha256Digest, Signer, Subject, Timestamp, heartbeat::check_version};
use crate::{
    json::parse_document,
    rejection::{RejectionCode, WireError},
    uuid_text::hyphenated,
};

pub(crate) use verify::fits_origin;
pub use verify::{DecisionCheck, DecisionFault, RequestFacts, VerifiedDecision, verify_decision};
pub use vote::{Vote, VoteAttachment, VoteCheck, verify_vote};
pub use words::{DecisionVerdict, Origin, Scope};

/// The most bytes of a decision, 900 KiB (protocol, section 5).
pub const DECISION_MAX_BYTES: usize = 900 * 1024;

/// The answer to a request. Unknown fields are kept.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalDecision {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// A UUIDv7 that the console chose.
    #[serde(deserialize_with = "hyphenated")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub decision_id: Uuid,
    /// The request's id.
    pub request_id: RequestId,
    /// The digest of the request's payload.
    pub request_digest: Sha256Digest,
    /// What was decided.
    pub verdict: DecisionVerdict,
    /// For the agent: why, or what to do instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The digest of the arguments that may run (approve, modify).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<Sha256Digest>,
    /// The arguments that may run instead (modify); null is a value.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Value")]
    pub edited_args: Option<Value>,
    /// The answer (respond).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Response>,
    /// Informative: agents never cache it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Who decided.
    pub origin: Origin,
    /// The rule, for `rule` and `setup_key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// The digest of the whole rule set in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_digest: Option<Sha256Digest>,
    /// Who signed.
    pub decided_by: DecidedBy,
    /// When, by the console's clock.
    pub decided_at: Timestamp,
    /// The votes that led here, when several approvals were needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<Vec<VoteAttachment>>,
    /// Unknown fields, kept.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// Names the decision only: edited arguments and answers never reach a log.
impl fmt::Debug for ApprovalDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ApprovalDecision({}, {}, {})",
            self.decision_id, self.request_id, self.verdict
        )
    }
}

/// The rule or setup key that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleRef {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its name, for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Who signed: an operator at the desk or on a device, or a console with its auto key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedBy {
    /// The operator's or the console's name, for display.
    pub name: String,
    /// The key; equals the header `CS-Key`.
    pub key: Signer,
}

/// An answer to a question or a form (protocol, section 3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// The answer; for a form valid against its `response_schema`.
    pub content: Value,
    /// The key of the option that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected_key: Option<String>,
}

/// Reads a decision without judging it; `subject` is the `decision.` or `decided.` subject.
pub fn parse_decision(subject: &str, payload: &[u8]) -> Result<ApprovalDecision, WireError> {
    match Subject::parse(subject) {
        Some(Subject::Decision(_) | Subject::Decided(_)) => read(payload),
        _ => Err(WireError::new(
            RejectionCode::BadSubject,
            "not the subject of a decision",
        )),
    }
}

fn read(payload: &[u8]) -> Result<ApprovalDecision, WireError> {
    let decision: ApprovalDecision = parse_document(payload, DECISION_MAX_BYTES, &[])?;
    check_version(decision.v)?;
    Ok(decision)
}

fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}
