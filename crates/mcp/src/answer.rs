//! What the proxy itself says to a client.
//!
//! Refuses to say by a JSON-RPC error that a call did not run: models do not see those.

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::id::Id;
use crate::message::{Call, REVISION, Refused};

/// How many calls of this name reached the server, in `_meta` of the answer to a probe.
pub(crate) const RELAYED: &str = "countersign/relayed";

/// The type of error of a call that its client took back.
pub(crate) const CANCELLED: &str = "cancelled";

/// The type of error of a call whose end nobody saw: a word of `degraded`, and no error of the call.
pub(crate) const NO_REPORT: &str = "no_execution_report";

/// A line of its own.
pub(crate) fn line(message: &Value) -> Bytes {
    Bytes::from(message.to_string())
}

pub(crate) fn error(refused: &Refused) -> Bytes {
    line(&json!({
        "jsonrpc": "2.0", "id": refused.id,
        "error": {"code": refused.code, "message": format!("not relayed: {}", refused.why)},
    }))
}

/// The call did not run, and why, for the model.
pub(crate) fn refusal(call: &Call, words: &str) -> Bytes {
    result(call, words, Some(true), None)
}

/// A result of one text.
pub(crate) fn text(call: &Call, text: &str) -> Bytes {
    result(call, text, None, None)
}

/// A person's answer takes the place of the result.
pub(crate) fn response(call: &Call, content: &Value) -> Bytes {
    let text = match content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    result(call, &text, None, None)
}

/// The answer to a probe: it never ran, and so many calls of its name reached the server.
pub(crate) fn probe(call: &Call, words: &str, relayed: u64) -> Bytes {
    result(call, words, Some(true), Some(json!({RELAYED: relayed})))
}

fn result(call: &Call, text: &str, is_error: Option<bool>, meta: Option<Value>) -> Bytes {
    let mut result = Map::new();
    result.insert("content".to_owned(), json!([item(text)]));
    if let Some(is_error) = is_error {
        result.insert("isError".to_owned(), is_error.into());
    }
    if call.envelope().contains_key(REVISION) {
        result.insert("resultType".to_owned(), "complete".into());
    }
    if let Some(meta) = meta {
        result.insert("_meta".to_owned(), meta);
    }
    line(&json!({"jsonrpc": "2.0", "id": call.id.value(), "result": result}))
}

pub(crate) fn item(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The call still waits; `count` grows with each. So little of it that the server's own numbers are larger.
pub(crate) fn progress(token: &Value, count: u32) -> Bytes {
    line(&json!({
        "jsonrpc": "2.0", "method": "notifications/progress",
        "params": {
            "progressToken": token, "progress": f64::from(count) / 1e6,
            "message": "waits for a person in Countersign",
        },
    }))
}

/// An answer to the request of this id.
pub(crate) fn result_of(id: &Value, result: &Value) -> Bytes {
    line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Asks the server for its tools, from `cursor` on.
pub(crate) fn list_tools(id: &Id, cursor: Option<&str>, envelope: &Map<String, Value>) -> Bytes {
    let mut params = Map::new();
    if let Some(cursor) = cursor {
        params.insert("cursor".to_owned(), cursor.into());
    }
    if !envelope.is_empty() {
        params.insert("_meta".to_owned(), Value::Object(envelope.clone()));
    }
    line(&json!({"jsonrpc": "2.0", "id": id.value(), "method": "tools/list", "params": params}))
}

/// Puts a text before the items of `content`, a part of `line`; every other byte stays.
pub(crate) fn with_notice(line: &[u8], content: &RawValue, notice: &str) -> Option<Bytes> {
    let inside = content.get();
    let start = (inside.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
    let rest = inside.strip_prefix('[')?;
    let empty = rest.trim_start().starts_with(']');
    let mut reported = line.get(..=start)?.to_vec();
    reported.extend_from_slice(item(notice).to_string().as_bytes());
    if !empty {
        reported.push(b',');
    }
    reported.extend_from_slice(line.get(start + 1..)?);
    Some(Bytes::from(reported))
}
