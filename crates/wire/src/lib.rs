//! The Countersign wire protocol, version 1: types, digests, signatures and strict parsing.
//!
//! It does no input or output, reads no clock and does not guess: whatever the protocol does not allow is an error with
//! its own stable code, and every error fails closed.

mod attestation;
pub mod contract;
mod controls;
mod creds;
mod decision;
mod digest;
mod enrolment;
mod error_code;
mod heartbeat;
mod hello;
mod json;
mod keys;
mod names;
pub mod pointer;
mod policy;
mod presence;
pub mod realm;
mod receipt;
mod rejection;
mod request;
mod shown;
mod signature;
mod span;
mod streams;
mod subjects;
mod succession;
mod text_newtype;
mod tighten;
mod timestamp;
mod tool_name;
mod uuid_text;
mod withdraw;
mod words;

pub use attestation::{ATTESTATION_HEADER, Attestation};
pub use controls::{
    AgentControl, BypassGrant, BypassValue, PanicValue, PauseValue, parse_bypass, parse_panic,
    parse_pause,
};
pub use creds::{creds_jwt, creds_seed};
pub use decision::{
    ApprovalDecision, DECISION_MAX_BYTES, DecidedBy, DecisionCheck, DecisionFault, DecisionVerdict,
    Origin, RequestFacts, Response, RuleRef, Scope, VerifiedDecision, Vote, VoteAttachment,
    VoteCheck, parse_decision, verify_decision, verify_vote,
};
pub use digest::{DigestError, Sha256Digest, args_digest, canonical_json, request_digest};
pub use enrolment::{Enrolment, LogHead, NkeySeed, TlsFiles, without_login};
pub use error_code::ErrorCode;
pub use heartbeat::{Heartbeat, parse_heartbeat};
pub use hello::{
    Credential, Hello, HelloFault, HelloReport, HelloTool, ToolDefinition, parse_hello,
    read_definition, read_hello,
};
pub use json::{
    CheckedValue, KeptJson, MAX_SAFE_INTEGER, certain_fields, certain_value, json_value, read_json,
    read_json_value, readable_request, request_fields,
};
pub use keys::{KeyError, KeyRole, PublicKey, Signer, SignerError, TrustedKey};
pub use names::{AgentKey, AgentName, NameError, RequestId, RequestKey, WorkspaceName};
pub use policy::{Anchor, EnvelopeError, PolicyKey, SignedEnvelope, policy_subject};
pub use presence::{Presence, parse_presence};
pub use receipt::{RECEIPT_MAX_BYTES, Receipt, Stage, parse_receipt};
pub use rejection::{Rejection, RejectionCode, WireError};
pub use request::{
    AgentInfo, ApprovalRequest, Chain, Confirm, Effective, Group, HistoryItem, MAX_LIFETIME,
    NativeDigest, ParsedRequest, Question, QuestionOption, REQUEST_MAX_BYTES, Skill, Tool,
    TraceContext, parse_request,
};
pub use shown::{
    Segment, Shown, TextWarning, escape, escape_bytes, escape_lines, is_hostile, json_ascii_safe,
    json_shown, judged, looks_like, read_plain, text_ascii_safe, warnings,
};
pub use signature::{Context, Signature, SignatureError, sign, signing_input, verify};
pub use span::{
    EventType, SPAN_MAX_BYTES, Span, SpanError, SpanKind, SpanStatus, Usage, parse_span,
};
pub use streams::{POLICY_BUCKET, SUBJECT_PREFIX, Stream};
pub use subjects::{
    ConsoleId, Subject, alive_subject, audit_subject, decided_subject, decision_subject,
    event_subject, hello_subject, realm_subject, receipt_subject, request_subject, tighten_subject,
    vote_subject, withdraw_subject,
};
pub use succession::{is_newer_than, is_timely, time_to_sign};
pub use tighten::{Tighten, parse_tighten};
pub use timestamp::{Timestamp, TimestampError};
pub use tool_name::{mcp_server, tool_slug};
pub use withdraw::{Withdraw, parse_withdraw};
pub use words::{Effects, RequestKind, Risk, ToolOrigin, Verdict, VerdictSet, is_bound_by_limits};
