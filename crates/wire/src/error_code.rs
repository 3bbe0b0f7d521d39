//! Stable error codes of commands and of the window (command line, "Exit codes").
//!
//! Every code has an exit status.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;

/// Why a command did not do what was asked.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Something went wrong that has no code of its own.
    Failed,
    /// The command line is wrong.
    Usage,
    /// Something that the command needs is not there.
    Environment,
    /// A request id that several requests have.
    AmbiguousId,
    /// It does not exist.
    NotFound,
    /// Somebody decided before; also holding, queued and withdrawn ones.
    AlreadyDecided,
    /// The deadline passed.
    Expired,
    /// The agent cannot honour this verdict.
    VerdictNotAllowed,
    /// The stored arguments have another digest.
    DigestDiffers,
    /// A rejected or void request.
    NotApprovable,
    /// Arguments or a rule file that cannot be taken.
    InvalidArgs,
    /// The bus cannot be reached; a decision is queued.
    BusUnreachable,
    /// No console of this folder takes decisions now, as `status --ready` was asked.
    NotReady,
    /// The console may not write now (epoch changed, disk full).
    ReadOnly,
}

words!(ErrorCode {
    Failed => "failed", Usage => "usage", Environment => "environment",
    AmbiguousId => "ambiguous_id", NotFound => "not_found", AlreadyDecided => "already_decided",
    Expired => "expired", VerdictNotAllowed => "verdict_not_allowed",
    DigestDiffers => "digest_differs", NotApprovable => "not_approvable",
    InvalidArgs => "invalid_args", BusUnreachable => "bus_unreachable", NotReady => "not_ready",
    ReadOnly => "read_only",
});

impl ErrorCode {
    /// The exit status of a command that ends with this code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage | Self::Environment | Self::AmbiguousId => 2,
            Self::NotFound => 3,
            Self::AlreadyDecided => 4,
            Self::Expired => 5,
            Self::VerdictNotAllowed
            | Self::DigestDiffers
            | Self::NotApprovable
            | Self::InvalidArgs => 6,
            Self::BusUnreachable | Self::NotReady => 7,
            Self::ReadOnly => 8,
        }
    }
}
