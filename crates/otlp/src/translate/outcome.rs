//! How a span ended.

use countersign_wire::{SpanError, SpanStatus};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::Value;

use super::bounded::cut;
use super::lookup::Attributes;

/// Bytes of an error's message that are kept.
const MESSAGE: usize = 8 * 1024;
/// Bytes of an error's type that are kept.
const TYPE: usize = 256;
/// The least level of Logfire that is an error.
const LOGFIRE_ERROR: i64 = 17;

/// Status and error. Never `denied` or `waiting`: those say what a person did or is to do.
pub(super) fn outcome(span: &Span) -> (SpanStatus, Option<SpanError>) {
    let attributes = Attributes::of_span(span);
    let status = span.status.as_ref();
    let failed = status.is_some_and(|status| status.code == StatusCode::Error as i32)
        || attributes.has("error.type")
        || attributes.text("langfuse.observation.level") == Some("ERROR")
        || attributes.whole("logfire.level_num") >= Some(LOGFIRE_ERROR);
    if !failed {
        let word = match span.end_time_unix_nano {
            0 => SpanStatus::Running,
            _ => SpanStatus::Ok,
        };
        return (word, None);
    }
    let exceptions = || span.events.iter().filter(|event| event.name == "exception");
    let of_exception = |name: &str| {
        let last = exceptions().next_back()?;
        Attributes::of(&last.attributes).text(name)
    };
    let error_type = attributes
        .text("error.type")
        .or_else(|| of_exception("exception.type"));
    let message = status
        .map(|status| status.message.as_str())
        .filter(|message| !message.is_empty())
        .or_else(|| of_exception("exception.message"))
        .or_else(|| attributes.first_text(&["langfuse.observation.status_message", "logfire.msg"]));
    let error = SpanError {
        error_type: error_type.map(|text| cut(text, TYPE)),
        code: code(attributes),
        message: message.map(|text| cut(text, MESSAGE)),
    };
    (word(error_type), Some(error))
}

/// The code of the protocol below, where the instrumentation reports it.
fn code(span: Attributes<'_>) -> Option<Value> {
    let codes = [
        "http.response.status_code",
        "http.status_code",
        "rpc.grpc.status_code",
    ];
    let number = codes.iter().find_map(|name| span.whole(name))?;
    (0..=9_999).contains(&number).then(|| Value::from(number))
}

/// The last part of a type's name decides: `asyncio.exceptions.TimeoutError`.
fn word(error_type: Option<&str>) -> SpanStatus {
    let last = error_type.and_then(|name| name.rsplit(['.', ':']).next());
    match last {
        Some("timeout" | "TimeoutError" | "TimeoutException" | "DEADLINE_EXCEEDED") => {
            SpanStatus::Timeout
        }
        Some("CancelledError" | "CANCELLED" | "AbortError" | "KeyboardInterrupt") => {
            SpanStatus::Cancelled
        }
        _ => SpanStatus::Error,
    }
}
