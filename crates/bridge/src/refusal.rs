//! Why a command is refused before anybody is asked (systems, 5.4).

/// A reason, in the words of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    BadSubject,
    PayloadNotJson,
    PayloadControlField,
    PayloadExtraKey,
    PayloadMissingKey,
    PayloadWrongType,
    BadAfterExecution,
    MissingHeader,
    HeaderMismatch,
    BadTurnEpoch,
    BadRecursionDepth,
    RecursionDepthExceeded,
    BadTraceparent,
    UnknownTool,
    ToolMismatch,
}

impl Reason {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::BadSubject => "bad_subject",
            Self::PayloadNotJson => "payload_not_json",
            Self::PayloadControlField => "payload_control_field",
            Self::PayloadExtraKey => "payload_extra_key",
            Self::PayloadMissingKey => "payload_missing_key",
            Self::PayloadWrongType => "payload_wrong_type",
            Self::BadAfterExecution => "bad_after_execution",
            Self::MissingHeader => "missing_header",
            Self::HeaderMismatch => "header_mismatch",
            Self::BadTurnEpoch => "bad_turn_epoch",
            Self::BadRecursionDepth => "bad_recursion_depth",
            Self::RecursionDepthExceeded => "recursion_depth_exceeded",
            Self::BadTraceparent => "bad_traceparent",
            Self::UnknownTool => "unknown_tool",
            Self::ToolMismatch => "tool_mismatch",
        }
    }

    /// Whether CommonGround's report can name the call: not where its identity is what is wrong.
    pub(crate) fn is_reported(self) -> bool {
        !matches!(
            self,
            Self::BadSubject | Self::MissingHeader | Self::HeaderMismatch
        )
    }
}

/// A command that nobody is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    /// What of the command it is about: a key, a header.
    pub(crate) what: String,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, what: impl Into<String>) -> Self {
        Self {
            reason,
            what: what.into(),
        }
    }
}
