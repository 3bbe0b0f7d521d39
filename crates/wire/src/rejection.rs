//! Why a message is refused (protocol, section 2).
//!
//! What an agent wrote is not repeated: details name fields of the protocol and byte positions, never values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::RequestKey;

/// The stable code of a rejected message. The order is the precedence when a
/// message has several faults: the first that applies is given.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RejectionCode {
    /// More bytes than the protocol allows.
    TooLarge,
    /// Not UTF-8, a byte order mark, or not JSON (`NaN` and `Infinity` are not JSON).
    NotJson,
    /// Nested deeper than 64, the root being 1.
    TooDeep,
    /// The same key twice in one object, escapes decoded.
    DuplicateKey,
    /// An integer beyond ±(2^53−1).
    IntegerOutOfRange,
    /// A number that no double holds, such as `1e400`.
    NonFiniteNumber,
    /// Half of a surrogate pair in a string or a key.
    LoneSurrogate,
    /// `v` is there and not 1.
    BadVersion,
    /// `kind` is a word that this version does not know.
    UnknownKind,
    /// A required field is absent.
    MissingField,
    /// A field has the wrong type.
    WrongType,
    /// A time stamp that is not RFC 3339 (`requested_at`: in UTC).
    BadTimestamp,
    /// `expires_at` is not after `requested_at`.
    BadLifetime,
    /// A subject outside the grammar.
    BadSubject,
    /// Workspace, agent or id in the payload are not those of the subject.
    SubjectMismatch,
    /// `args_digest` is not the digest of `args`.
    DigestMismatch,
    /// The agent has too many waiting requests.
    TooManyWaiting,
}

crate::words::words!(RejectionCode {
    TooLarge => "too_large", NotJson => "not_json", TooDeep => "too_deep",
    DuplicateKey => "duplicate_key", IntegerOutOfRange => "integer_out_of_range",
    NonFiniteNumber => "non_finite_number", LoneSurrogate => "lone_surrogate",
    BadVersion => "bad_version", UnknownKind => "unknown_kind", MissingField => "missing_field",
    WrongType => "wrong_type", BadTimestamp => "bad_timestamp", BadLifetime => "bad_lifetime",
    BadSubject => "bad_subject", SubjectMismatch => "subject_mismatch",
    DigestMismatch => "digest_mismatch", TooManyWaiting => "too_many_waiting",
});

/// A message that cannot be read as what its subject says it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct WireError {
    /// The stable code.
    pub code: RejectionCode,
    /// What is wrong, for a person; names fields and positions only.
    pub detail: String,
}

impl WireError {
    pub(crate) fn new(code: RejectionCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
        }
    }
}

/// A request that cannot be answered by an operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Rejection {
    /// The stable code.
    pub code: RejectionCode,
    /// What is wrong, for a person; names fields and positions only.
    pub detail: String,
    /// The request that the subject names; `None` when the subject is outside the grammar.
    pub key: Option<RequestKey>,
}
