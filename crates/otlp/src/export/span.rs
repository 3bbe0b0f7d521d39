//! One span for each answered request, from the moment it was stored until its answer was.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use sha2::{Digest as _, Sha256};

/// Characters of a name that an agent wrote.
const NAME: usize = 200;

/// A request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Workspace.
    pub workspace: String,
    /// Agent.
    pub agent: String,
    /// The agent's id of the request.
    pub request_id: String,
    /// The tool's name; none for a question or a form.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: String,
    /// The trace that the agent named, 32 hexadecimal digits.
    pub trace_id: Option<String>,
    /// The span that wants to make the call, 16 hexadecimal digits.
    pub parent_span_id: Option<String>,
    /// The agent's id of the call.
    pub call_id: Option<String>,
    /// Digest of the request's bytes.
    pub request_digest: String,
    /// Digest of the arguments that may run; of those that were asked for where none may.
    pub args_digest: Option<String>,
    /// The decision.
    pub decision_id: Option<String>,
    /// As it reads everywhere: late ones are `expired`.
    pub verdict: String,
    /// Who decided, as the protocol's word.
    pub origin: Option<String>,
    /// Who decided.
    pub decider: Option<Decider>,
    /// The rule that decided, and its version.
    pub rule: Option<(String, i64)>,
    /// Server time, ms since the Unix epoch.
    pub stored_at: i64,
    /// Server time, ms since the Unix epoch.
    pub answered_at: i64,
}

/// Name and public key of who decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    /// As shown to people.
    pub name: String,
    /// Public nkey.
    pub key: String,
}

/// An export request with a span for each; `console` is this console's id.
#[must_use]
pub fn approval_spans(
    console: &str,
    version: &str,
    answered: &[Answered],
) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![
                    text("service.name", "countersign"),
                    text("service.version", version),
                    text("service.instance.id", console),
                ],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "countersign".to_owned(),
                    version: version.to_owned(),
                    ..InstrumentationScope::default()
                }),
                spans: answered.iter().map(span).collect(),
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

fn span(answered: &Answered) -> Span {
    let key = format!(
        "{}/{}/{}\n{}",
        answered.workspace, answered.agent, answered.request_id, answered.request_digest
    );
    // The same each time: what is sent twice is one span to whoever keeps it.
    let own =
        |what: &str, length: usize| Sha256::digest(format!("{what}\n{key}"))[..length].to_vec();
    let trace_id = answered.trace_id.as_deref().and_then(|id| bytes(id, 16));
    let parent = answered
        .parent_span_id
        .as_deref()
        .filter(|_| trace_id.is_some())
        .and_then(|id| bytes(id, 8));
    let what = answered.tool.as_deref().unwrap_or("question");
    Span {
        trace_id: trace_id.unwrap_or_else(|| own("trace", 16)),
        span_id: own("span", 8),
        parent_span_id: parent.unwrap_or_default(),
        name: format!("approval {}", short(what)),
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: nanos(answered.stored_at),
        end_time_unix_nano: nanos(answered.answered_at.max(answered.stored_at)),
        attributes: attributes(answered),
        status: Some(status(&answered.verdict)),
        ..Span::default()
    }
}

fn attributes(answered: &Answered) -> Vec<KeyValue> {
    let decider = answered.decider.as_ref();
    let texts = [
        ("gen_ai.agent.name", Some(answered.agent.as_str())),
        ("gen_ai.tool.name", answered.tool.as_deref()),
        ("gen_ai.tool.call.id", answered.call_id.as_deref()),
        ("countersign.workspace", Some(&answered.workspace)),
        ("countersign.request.id", Some(&answered.request_id)),
        ("countersign.request.digest", Some(&answered.request_digest)),
        ("countersign.request.risk", Some(&answered.risk)),
        ("countersign.args.digest", answered.args_digest.as_deref()),
        ("countersign.decision.id", answered.decision_id.as_deref()),
        ("countersign.verdict", Some(&answered.verdict)),
        ("countersign.origin", answered.origin.as_deref()),
        (
            "countersign.operator.name",
            decider.map(|by| by.name.as_str()),
        ),
        (
            "countersign.operator.key",
            decider.map(|by| by.key.as_str()),
        ),
        (
            "countersign.rule.id",
            answered.rule.as_ref().map(|(id, _)| id.as_str()),
        ),
    ];
    let mut attributes: Vec<KeyValue> = texts
        .into_iter()
        .filter_map(|(name, value)| Some(text(name, short(value?))))
        .collect();
    let whole = |name, number| pair(name, Any::IntValue(number));
    attributes.extend(
        answered
            .rule
            .as_ref()
            .map(|(_, version)| whole("countersign.rule.version", *version)),
    );
    let waited = answered.answered_at.saturating_sub(answered.stored_at);
    attributes.push(whole("countersign.waited_ms", waited.max(0)));
    attributes
}

/// Whoever looks for failures finds the requests that nobody answered, and not those that a person denied.
fn status(verdict: &str) -> Status {
    let code = match verdict {
        "expired" | "rejected" | "void" => StatusCode::Error,
        _ => StatusCode::Unset,
    };
    let message = match code {
        StatusCode::Error => verdict.to_owned(),
        _ => String::new(),
    };
    Status {
        code: code.into(),
        message,
    }
}

fn text(name: &str, value: impl Into<String>) -> KeyValue {
    pair(name, Any::StringValue(value.into()))
}

fn pair(name: &str, value: Any) -> KeyValue {
    KeyValue {
        key: name.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn short(name: &str) -> String {
    name.chars().take(NAME).collect()
}

fn nanos(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000)
}

/// An id that says something.
fn bytes(hex: &str, length: usize) -> Option<Vec<u8>> {
    if hex.len() != length * 2 || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let bytes: Option<Vec<u8>> = (0..length)
        .map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).ok())
        .collect();
    bytes.filter(|bytes| bytes.iter().any(|byte| *byte != 0))
}
