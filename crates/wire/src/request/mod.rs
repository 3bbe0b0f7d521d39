//! Requests: what an agent asks (protocol, sections 2 and 3).
//!
//! What the agent says about itself is not interpreted; risk and effects are read at their worst.

mod parse;
mod parts;
mod read;
mod read_parts;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use time::{Duration, OffsetDateTime};

use crate::{
    Effects, KeptJson, RequestId, RequestKey, RequestKind, Risk, Sha256Digest, Timestamp,
    VerdictSet, WorkspaceName,
};

pub use parse::{ParsedRequest, parse_request};
pub use parts::{
    AgentInfo, Chain, Confirm, Effective, Group, HistoryItem, NativeDigest, Question,
    QuestionOption, Skill, Tool, TraceContext,
};

/// The most bytes of a request, 512 KiB (protocol, section 2).
pub const REQUEST_MAX_BYTES: usize = 512 * 1024;

/// The fields that are kept and never interpreted: anything that JSON can write (protocol, section 2).
pub(crate) const FREE_FIELDS: [&str; 2] = ["metadata", "native"];

/// The longest life of a request, and that of one which names no end (protocol, section 2).
pub const MAX_LIFETIME: Duration = Duration::days(30);

/// A request for one decision. Unknown fields are kept.
#[derive(Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("allOf" = parts::required_by_kind()))]
pub struct ApprovalRequest {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// What is asked.
    pub kind: RequestKind,
    /// The request's id, as in the subject.
    pub request_id: RequestId,
    /// The workspace, as in the subject.
    pub workspace: WorkspaceName,
    /// The agent; its name as in the subject.
    pub agent: AgentInfo,
    /// The agent's own id of its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The agent's own id of its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The agent's own id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The tool to call; required for `tool_call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Tool>,
    /// The arguments at the gate; required for `tool_call`, where null is a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    pub args: Option<Value>,
    /// The digest of `args`; required for `tool_call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<Sha256Digest>,
    /// The model's own text of the arguments, where it differs in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_raw: Option<String>,
    /// What the framework changes after the gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective: Option<Effective>,
    /// The framework's own digest; kept and shown, not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_digest: Option<NativeDigest>,
    /// safe, low, medium, high or critical; any other word is treated as critical.
    pub risk: String,
    /// A confirmation that a setup key can give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// The agent's words: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The agent's words: what it will look like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The agent's words: a heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The question; required for `question`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// The shape of the answer; required for `form`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "parts::optional_json_schema")]
    pub response_schema: Option<Value>,
    /// What led here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<HistoryItem>>,
    /// The skill in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<Skill>,
    /// The chain of calls that this one belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
    /// The verdicts that the agent can honour; `deny` always is, unknown words are ignored.
    pub allowed_verdicts: Vec<String>,
    /// How many distinct operators must agree, 1 to 5; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    pub approvals_required: Option<u8>,
    /// The kinds of signatures beside ed25519 that the agent checks; only `webauthn` is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verifies: Option<Vec<String>>,
    /// Calls raised together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// When the agent asked, by its own clock.
    pub requested_at: Timestamp,
    /// When the agent stops waiting, by its own clock; only the distance counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The W3C trace context of the span that wants to make the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// Anything else, kept, never interpreted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub metadata: Option<KeptJson>,
    /// What the framework itself calls things, kept, never interpreted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub native: Option<KeptJson>,
    /// Unknown fields, kept.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// Names the request only: what an agent wrote never reaches a log.
impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApprovalRequest({})", self.key())
    }
}

impl<'de> Deserialize<'de> for ApprovalRequest {
    /// Reads the fields as [`parse_request`] does; the checks which need the
    /// bytes or the subject are only made there.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = crate::json::Fields::deserialize(from)?;
        read::request(fields).map_err(serde::de::Error::custom)
    }
}

impl ApprovalRequest {
    /// What the request calls itself; the subject decides.
    pub fn key(&self) -> RequestKey {
        RequestKey {
            workspace: self.workspace.clone(),
            agent: self.agent.name.clone(),
            request_id: self.request_id.clone(),
        }
    }

    /// The risk to act on; an unknown word is critical.
    pub fn effective_risk(&self) -> Risk {
        Risk::effective(&self.risk)
    }

    /// The effects to act on; absent is unknown, an unknown word is irreversible.
    pub fn effects(&self) -> Effects {
        Effects::effective(self.tool.as_ref().and_then(|tool| tool.effects.as_deref()))
    }

    /// The verdicts that may be given; always holds `deny`.
    pub fn allowed(&self) -> VerdictSet {
        VerdictSet::from_words(self.allowed_verdicts.iter().map(String::as_str))
    }

    /// How many distinct operators must agree, 1 to 5.
    pub fn approvals_required(&self) -> u8 {
        self.approvals_required.unwrap_or(1)
    }

    /// Whether its agent checks signatures of devices.
    pub fn verifies_devices(&self) -> bool {
        let words = self.verifies.as_deref().unwrap_or_default();
        words.iter().any(|word| word == "webauthn")
    }

    /// How long the request lives from being stored; at most [`MAX_LIFETIME`].
    pub fn lifetime(&self) -> Duration {
        self.expires_at.map_or(MAX_LIFETIME, |expires_at| {
            (expires_at.get() - self.requested_at.get()).clamp(Duration::ZERO, MAX_LIFETIME)
        })
    }

    /// The deadline, from the server's time stamp of the stored request (protocol, section 2).
    pub fn deadline(&self, stored_at: OffsetDateTime) -> OffsetDateTime {
        stored_at.saturating_add(self.lifetime())
    }

    /// The span that wants to make the call; `None` when absent or malformed.
    pub fn trace_context(&self) -> Option<TraceContext> {
        TraceContext::parse(self.traceparent.as_deref()?)
    }
}
