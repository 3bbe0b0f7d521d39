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

impl RejectionCode {
    /// Every code, in order of precedence.
    pub const ALL: [Self; 17] = [
        Self::TooLarge,
        Self::NotJson,
        Self::TooDeep,
        Self::DuplicateKey,
        Self::IntegerOutOfRange,
        Self::NonFiniteNumber,
        Self::LoneSurrogate,
        Self::BadVersion,
        Self::UnknownKind,
        Self::MissingField,
        Self::WrongType,
        Self::BadTimestamp,
        Self::BadLifetime,
        Self::BadSubject,
        Self::SubjectMismatch,
        Self::DigestMismatch,
        Self::TooManyWaiting,
    ];

    /// The word of the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::NotJson => "not_json",
            Self::TooDeep => "too_deep",
            Self::DuplicateKey => "duplicate_key",
            Self::IntegerOutOfRange => "integer_out_of_range",
            Self::NonFiniteNumber => "non_finite_number",
            Self::LoneSurrogate => "lone_surrogate",
            Self::BadVersion => "bad_version",
            Self::UnknownKind => "unknown_kind",
            Self::MissingField => "missing_field",
            Self::WrongType => "wrong_type",
            Self::BadTimestamp => "bad_timestamp",
            Self::BadLifetime => "bad_lifetime",
            Self::BadSubject => "bad_subject",
            Self::SubjectMismatch => "subject_mismatch",
            Self::DigestMismatch => "digest_mismatch",
            Self::TooManyWaiting => "too_many_waiting",
        }
    }

    /// The code of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == word)
    }
}

impl std::fmt::Display for RejectionCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

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
