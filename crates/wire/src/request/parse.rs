//! A request from the bytes of the stream.
//!
//! A request that the protocol calls rejected has exactly one code: the first that applies in the order of
//! [`RejectionCode`].

use super::{
    ApprovalRequest, FREE_FIELDS, REQUEST_MAX_BYTES,
    read::{Identity, request_of},
};
use crate::{
    Rejection, RequestKey, Sha256Digest, Subject,
    digest::{args_digest, request_digest},
    json::{Fields, scan},
    rejection::WireError,
};

/// A request which passed every check that needs no other message.
#[derive(Clone, PartialEq)]
pub struct ParsedRequest {
    /// Its identity, from the subject.
    pub key: RequestKey,
    /// The request.
    pub request: ApprovalRequest,
    /// The digest of the arguments, computed here.
    pub args_digest: Option<Sha256Digest>,
    /// The digest of the payload.
    pub request_digest: Sha256Digest,
    /// The digest of what it says about its tool beyond the name; none when that is nothing.
    pub tool_digest: Option<Sha256Digest>,
}

/// Names the request only: what an agent wrote never reaches a log.
impl std::fmt::Debug for ParsedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ParsedRequest({}, {})", self.key, self.request_digest)
    }
}

/// Reads a stored message as a request (protocol, section 2).
///
/// Null means absent where a field is optional; a required field that is null has the wrong type. `args` is never
/// absent when its key is there.
pub fn parse_request(subject: &str, payload: &[u8]) -> Result<ParsedRequest, Rejection> {
    let key = match Subject::parse(subject) {
        Some(Subject::Request(key)) => Some(key),
        _ => None,
    };
    match read(key.as_ref(), payload) {
        Ok(parsed) => Ok(parsed),
        Err(WireError { code, detail }) => Err(Rejection { code, detail, key }),
    }
}

fn read(key: Option<&RequestKey>, payload: &[u8]) -> Result<ParsedRequest, WireError> {
    scan(payload, REQUEST_MAX_BYTES, &FREE_FIELDS)?;
    let identity = key.map_or(Identity::BadSubject, Identity::Subject);
    let request = request_of(Fields::of_request(payload)?, &identity)?;
    // Arguments without a digest occur only outside tool calls.
    let args_digest = match (&request.args_digest, &request.args) {
        (Some(digest), _) => Some(*digest),
        (None, Some(args)) => args_digest(args).ok(),
        (None, None) => None,
    };
    Ok(ParsedRequest {
        key: request.key(),
        args_digest,
        request_digest: request_digest(payload),
        tool_digest: request
            .tool
            .as_ref()
            .and_then(super::Tool::definition_digest),
        request,
    })
}
