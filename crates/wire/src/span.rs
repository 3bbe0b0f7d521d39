//! Spans: what an agent did (protocol, section 6).
//!
//! Inputs, outputs and attributes are not interpreted; they stay text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    KeptJson, Subject, Timestamp,
    heartbeat::check_version,
    json::parse_document,
    rejection::{RejectionCode, WireError},
    words::words,
};

/// The most bytes of a span, 900 KiB (protocol, section 6).
pub const SPAN_MAX_BYTES: usize = 900 * 1024;

/// What a span is about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // The words say it.
pub enum SpanKind {
    Tool,
    Llm,
    Agent,
    Chain,
    Retriever,
    Embedding,
    Approval,
}

words!(SpanKind {
    Tool => "tool", Llm => "llm", Agent => "agent", Chain => "chain", Retriever => "retriever",
    Embedding => "embedding", Approval => "approval",
});

/// How a span is going.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // The words say it.
pub enum SpanStatus {
    Running,
    Waiting,
    Ok,
    Error,
    Denied,
    Timeout,
    Cancelled,
    Incomplete,
}

words!(SpanStatus {
    Running => "running", Waiting => "waiting", Ok => "ok", Error => "error", Denied => "denied",
    Timeout => "timeout", Cancelled => "cancelled", Incomplete => "incomplete",
});

/// The word that `type` always has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// A span.
    Span,
}

/// A span. Keyed by workspace, agent, trace and span; the later replaces the earlier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// Always `span`.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// The trace.
    #[schemars(length(min = 1))]
    pub trace_id: String,
    /// The span.
    #[schemars(length(min = 1))]
    pub span_id: String,
    /// The span that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<String>,
    /// What is being done.
    pub name: String,
    /// What it is about.
    pub kind: SpanKind,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it is going.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SpanStatus>,
    /// The agent's own id of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The agent's own id of its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The agent's own id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The request that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The digest of the arguments, or a framework's own: any text, only shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<String>,
    /// What went in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<KeptJson>,
    /// What came out: `[{m_type, m_content} or {artifact_ref}]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<KeptJson>,
    /// Artifacts: `[{url, mime_type, filename, sha256, size, role, retention}]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<KeptJson>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SpanError>,
    /// OpenTelemetry GenAI attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<KeptJson>,
}

/// What a span cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Usage {
    /// Tokens that were charged for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_charged: Option<f64>,
    /// Time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_time_ms: Option<f64>,
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<f64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<f64>,
    /// Price, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What went wrong in a span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpanError {
    /// The kind of error.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// Its code: a number or a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<serde_json::Value>,
    /// The agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Reads a span.
pub fn parse_span(subject: &str, payload: &[u8]) -> Result<Span, WireError> {
    let Some(Subject::Event(_)) = Subject::parse(subject) else {
        return Err(WireError::new(
            RejectionCode::BadSubject,
            "not the subject of an event",
        ));
    };
    let free = ["input", "output", "artifacts", "attributes"];
    let span: Span = parse_document(payload, SPAN_MAX_BYTES, &free)?;
    check_version(span.v)?;
    Ok(span)
}
