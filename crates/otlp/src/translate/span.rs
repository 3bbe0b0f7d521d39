//! One span.

use countersign_wire::{EventType, SPAN_MAX_BYTES, Span, SpanKind, Timestamp, args_digest};
use data_encoding::HEXLOWER;
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;

use super::Refusal;
use super::attributes::{self, Source};
use super::bounded::cut;
use super::content::content;
use super::kind::kind;
use super::lookup::Attributes;
use super::outcome::outcome;
use super::usage::usage;

/// Bytes of JSON that are kept of a name.
const NAME: usize = 1_024;
/// Bytes of an id that an instrumentation gives; longer ones stay among the attributes only.
const ID: usize = 200;

/// The event's payload.
pub(super) fn event(span: &OtlpSpan, source: &Source<'_>) -> Result<Vec<u8>, Refusal> {
    let trace_id = id(&span.trace_id, 16).ok_or(Refusal::TraceId)?;
    let span_id = id(&span.span_id, 8).ok_or(Refusal::SpanId)?;
    let parent_span_id = match span.parent_span_id.as_slice() {
        [] => None,
        bytes if bytes.len() == 8 => id(bytes, 8),
        _ => return Err(Refusal::ParentSpanId),
    };
    let ended_at = moment(span.end_time_unix_nano);
    // Without a start it is not known to have lasted.
    let started_at = moment(span.start_time_unix_nano)
        .or(ended_at)
        .ok_or(Refusal::StartTime)?;
    let attributes = Attributes::of_span(span);
    let kind = kind(attributes);
    let (status, error) = outcome(span);
    let content = content(span);
    let short = |names: &[&str]| {
        let text = attributes.first_text(names);
        text.filter(|text| text.len() <= ID).map(str::to_owned)
    };
    // Langfuse calls the span after the tool.
    let is_langfuse_tool = kind == SpanKind::Tool && attributes.has("langfuse.observation.type");
    let named =
        (is_langfuse_tool && (1..=ID).contains(&span.name.len())).then(|| span.name.clone());
    let function = || attributes.is_logfire_function().then(|| short(&["name"]));
    let args_digest = match &content.arguments {
        Some(arguments) if kind == SpanKind::Tool => {
            args_digest(arguments).ok().map(|digest| digest.to_string())
        }
        _ => None,
    };
    let event = Span {
        v: 1,
        event_type: EventType::Span,
        trace_id,
        span_id,
        parent_span_id,
        name: name(span, attributes),
        kind,
        started_at,
        ended_at,
        status: Some(status),
        run_id: None,
        thread_id: short(&["gen_ai.conversation.id", "session.id"]),
        call_id: short(&["gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id"]),
        // Only an agent that asks may say which request a span waits for.
        request_id: None,
        tool_name: short(&["gen_ai.tool.name", "tool.name", "ai.toolCall.name"])
            .or(named)
            .or_else(|| function().flatten()),
        args_digest,
        attributes: attributes::of_span(span, source, &content),
        input: content.input,
        output: content.output,
        artifacts: None,
        usage: usage(attributes, kind),
        error,
    };
    let payload = serde_json::to_vec(&event).map_err(|_| Refusal::Unwritable)?;
    if payload.len() > SPAN_MAX_BYTES {
        return Err(Refusal::Unwritable);
    }
    Ok(payload)
}

/// What is being done: Logfire's message, whose template is the name; a span without a name is called after its tool or
/// operation.
fn name(span: &OtlpSpan, attributes: Attributes<'_>) -> String {
    let name = match attributes.text("logfire.msg").unwrap_or(&span.name) {
        "" => attributes
            .first_text(&["gen_ai.tool.name", "gen_ai.operation.name"])
            .unwrap_or("unnamed span"),
        name => name,
    };
    cut(name, NAME)
}

/// An id in hexadecimal; none when it has another length or says nothing.
fn id(bytes: &[u8], length: usize) -> Option<String> {
    let usable = bytes.len() == length && bytes.iter().any(|byte| *byte != 0);
    usable.then(|| HEXLOWER.encode(bytes))
}

/// Nanoseconds since the Unix epoch, to the millisecond; 0 is not known.
fn moment(nanos: u64) -> Option<Timestamp> {
    let millis = i64::try_from(nanos / 1_000_000).ok()?;
    (nanos > 0)
        .then(|| Timestamp::from_unix_millis(millis))
        .flatten()
}
