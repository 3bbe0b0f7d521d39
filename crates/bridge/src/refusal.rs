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

countersign_sdk::wire::words!(Reason {
    BadSubject => "bad_subject", PayloadNotJson => "payload_not_json",
    PayloadControlField => "payload_control_field", PayloadExtraKey => "payload_extra_key",
    PayloadMissingKey => "payload_missing_key", PayloadWrongType => "payload_wrong_type",
    BadAfterExecution => "bad_after_execution", MissingHeader => "missing_header",
    HeaderMismatch => "header_mismatch", BadTurnEpoch => "bad_turn_epoch",
    BadRecursionDepth => "bad_recursion_depth",
    RecursionDepthExceeded => "recursion_depth_exceeded", BadTraceparent => "bad_traceparent",
    UnknownTool => "unknown_tool", ToolMismatch => "tool_mismatch",
});

impl Reason {
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
