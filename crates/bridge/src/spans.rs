//! The call tree of CommonGround's turns as spans (systems, 5.9). Events may come in any order and twice.

use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::digest::span_id;
use crate::store_rows::stamp;

/// A piece of a span: what one event says of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    pub(crate) parent: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) kind: &'static str,
    pub(crate) status: Option<&'static str>,
    pub(crate) at_ms: i64,
    pub(crate) more: Map<String, Value>,
}

/// Whether a status is the last one of its span.
fn ends(status: &str) -> bool {
    !matches!(status, "running" | "waiting")
}

/// Joins what is known with one piece. `_at` is the time of the status; the wire never sees it ([`wire`]).
pub(crate) fn join(known: Option<Value>, piece: &Piece) -> Value {
    let mut span = known.unwrap_or_else(|| {
        json!({"v": 1, "type": "span", "trace_id": piece.trace_id, "span_id": piece.span_id, "kind": piece.kind,
            "name": piece.name.as_deref().unwrap_or(piece.kind), "status": "running",
            "started_at": stamp(piece.at_ms), "_at": i64::MIN})
    });
    if let Some(name) = &piece.name {
        span["name"] = json!(name);
    }
    if let Some(parent) = &piece.parent {
        span["parent_span_id"] = json!(parent);
    }
    let started = stamp(piece.at_ms);
    if span["started_at"]
        .as_str()
        .is_some_and(|known| started.as_str() < known)
    {
        span["started_at"] = json!(started);
    }
    for (name, value) in &piece.more {
        span[name] = value.clone();
    }
    if let Some(status) = piece.status {
        let ended = span["status"].as_str().is_some_and(ends);
        let newer = piece.at_ms >= span["_at"].as_i64().unwrap_or(i64::MIN);
        if (ends(status) && !ended) || (newer && ends(status) == ended) {
            span["status"] = json!(status);
            span["_at"] = json!(piece.at_ms);
            if ends(status) {
                span["ended_at"] = json!(stamp(piece.at_ms));
            }
        }
    }
    span
}

/// The span as it is sent.
pub(crate) fn wire(mut span: Value) -> Value {
    if let Some(fields) = span.as_object_mut() {
        fields.remove("_at");
    }
    span
}

/// The span of a call, when its command is known.
pub(crate) fn of_call(
    call: &Call<'_>,
    card_step: Option<&str>,
    status: &'static str,
    at_ms: i64,
) -> Piece {
    let project = call.project;
    let step = call.message.header("CG-Step-Id").or(card_step);
    let parent = match (step, call.turn()) {
        (Some(step), _) => Some(span_id("step", project, step)),
        (None, Some(turn)) => Some(span_id("turn", project, turn)),
        (None, None) => None,
    };
    let mut more = Map::new();
    more.insert("call_id".to_owned(), json!(call.tool_call_id));
    more.insert("tool_name".to_owned(), json!(call.payload.tool_name));
    more.insert("request_id".to_owned(), json!(call.request_id()));
    more.insert("thread_id".to_owned(), json!(call.channel));
    if let Some(turn) = call.turn() {
        more.insert("run_id".to_owned(), json!(turn));
    }
    Piece {
        trace_id: call.trace_id(),
        span_id: span_id("call", project, call.tool_call_id),
        parent,
        name: Some(call.payload.tool_name.clone()),
        kind: "tool",
        status: Some(status),
        at_ms,
        more,
    }
}

/// The status of a call by CommonGround's word for its result.
pub(crate) fn of_result(status: &str, code: Option<&str>) -> &'static str {
    match (status, code) {
        ("success", _) => "ok",
        ("failed", Some("auth_failed")) => "denied",
        ("failed", _) => "error",
        ("canceled", _) => "cancelled",
        ("timeout", _) => "timeout",
        _ => "incomplete",
    }
}
