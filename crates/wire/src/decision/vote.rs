//! Votes of several operators (protocol, section 5, "Votes").
//!
//! A vote counts only if its human key signed it for this request and these arguments.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{DECISION_MAX_BYTES, DecidedBy, Origin, RequestFacts, present};
use crate::{
    Context, Sha256Digest, Signature, Signer, Subject, Timestamp, Verdict, digest::args_digest,
    heartbeat::check_version, json::parse_document, realm::Standing, uuid_text::hyphenated,
    vote_subject,
};

/// One operator's vote; unchangeable, one per key.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Vote {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// A UUIDv7 that the console chose.
    #[serde(deserialize_with = "hyphenated")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub vote_id: Uuid,
    /// The digest of the request's payload.
    pub request_digest: Sha256Digest,
    /// `approve` or `modify`.
    pub verdict: Verdict,
    /// The digest of the arguments that may run.
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
    /// For the agent: why; copied into the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who voted.
    pub decided_by: DecidedBy,
    /// When, by the console's clock.
    pub decided_at: Timestamp,
}

/// Names the vote only: edited arguments never reach a log.
impl std::fmt::Debug for Vote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vote({}, {})", self.vote_id, self.verdict)
    }
}

/// A vote inside a decision: payload, subject and signature as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VoteAttachment {
    /// The voter's key.
    pub key: Signer,
    /// The subject on which the vote is stored.
    pub subject: String,
    /// The vote's payload in base64url without padding.
    pub payload: String,
    /// The signature, context `vote`.
    pub sig: Signature,
}

impl VoteAttachment {
    /// Attaches a stored vote.
    pub fn new(key: Signer, subject: String, payload: &[u8], sig: Signature) -> Self {
        Self {
            key,
            subject,
            payload: URL_SAFE_NO_PAD.encode(payload),
            sig,
        }
    }

    /// The payload as stored; `None` when it is not base64url.
    pub fn payload_bytes(&self) -> Option<Vec<u8>> {
        URL_SAFE_NO_PAD.decode(&self.payload).ok()
    }
}

/// What a vote is checked against.
#[derive(Clone, Copy)]
pub struct VoteCheck<'a> {
    /// The request.
    pub request: &'a RequestFacts,
    /// The server's time stamp of the vote; inside a decision that of the decision.
    pub stored_at: OffsetDateTime,
    /// The state of the realm log by which the voter is judged; inside a decision that of the decision.
    pub standing: Standing<'a>,
}

/// The vote, if every check holds: subject, key of a person, signature, request, verdict, argument digest, and what
/// limits bind. An invalid vote is not counted.
pub fn verify_vote(
    check: VoteCheck<'_>,
    key: &str,
    subject: &str,
    payload: &[u8],
    sig: &str,
) -> Option<Vote> {
    let Some(Subject::Vote(request, voter)) = Subject::parse(subject) else {
        return None;
    };
    let at_home = request == check.request.key && subject == vote_subject(&request, &voter);
    let term = check.standing.term(key)?;
    let place = (Context::Vote, check.standing.realm(), subject);
    if !at_home || voter.as_str() != key || !term.signed(place, payload, sig) {
        return None;
    }
    let vote: Vote = parse_document(payload, DECISION_MAX_BYTES, &[]).ok()?;
    check_version(vote.v).ok()?;
    let runs = match (vote.verdict, &vote.edited_args) {
        (Verdict::Approve, None) => vote.args_digest == check.request.args_digest,
        (Verdict::Modify, Some(edited)) => {
            vote.args_digest.is_some() && args_digest(edited).ok() == vote.args_digest
        }
        _ => false,
    };
    let said = vote.verdict.into();
    let facts = check
        .request
        .facts(&said, Origin::Operator, check.stored_at);
    let current = runs
        && vote.request_digest == check.request.request_digest
        && vote.decided_by.key == voter
        && check.standing.fault(key, &facts).is_none();
    current.then_some(vote)
}
