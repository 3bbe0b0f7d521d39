//! What a client sends, read strictly.
//!
//! Refuses every text that the server might read as another message than the one seen here: the same key twice, a
//! batch, numbers without canonical form, keys and a method that differ from a known one in case or blanks only, a line
//! break inside.

use bytes::Bytes;
use countersign_wire::certain_value;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::answer;
use crate::id::Id;

/// The largest message of a client, in bytes.
pub(crate) const LARGEST: usize = 4 * 1024 * 1024;
/// The key under which a client of revision 2026-07-28 names it, in `_meta` of each request.
pub(crate) const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// The method that asks.
const CALL: &str = "tools/call";
const OF_A_MESSAGE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
const OF_A_CALL: [&str; 6] = [
    "name",
    "arguments",
    "_meta",
    "task",
    "inputResponses",
    "requestState",
];

/// A message that can be read in one way only.
#[derive(Debug, PartialEq)]
pub(crate) enum Sent {
    Call(Box<Call>),
    /// A tool call that nobody could be answered for.
    CallWithoutId,
    Cancelled(Id),
    /// A question for the result of a task.
    TaskResult(Id, String),
    Initialized,
    /// `server/discover`, with the keys of its `_meta` that every request of this revision has.
    Discover(Id, Map<String, Value>),
    Other,
}

/// A `tools/call`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: Id,
    pub(crate) name: String,
    /// `{}` where there are none.
    pub(crate) arguments: Value,
    /// The other parameters.
    pub(crate) others: Map<String, Value>,
}

/// Why a message is not relayed.
#[derive(Debug, PartialEq)]
pub(crate) struct Refused {
    /// Null where it is unknown.
    pub(crate) id: Value,
    pub(crate) code: i64,
    pub(crate) why: String,
}

pub(crate) const NOT_JSON: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const INVALID_PARAMS: i64 = -32602;

impl Call {
    fn meta(&self) -> Option<&Map<String, Value>> {
        self.others.get("_meta")?.as_object()
    }

    /// Where the caller wants to hear of progress.
    pub(crate) fn progress_token(&self) -> Option<&Value> {
        let token = self.meta()?.get("progressToken")?;
        (token.is_string() || token.is_i64() || token.is_u64()).then_some(token)
    }

    /// What every request of this client has in its `_meta`; empty before revision 2026-07-28.
    pub(crate) fn envelope(&self) -> Map<String, Value> {
        envelope(self.meta())
    }

    pub(crate) fn traceparent(&self) -> Option<&str> {
        self.meta()?.get("traceparent")?.as_str()
    }

    /// The message anew, with these arguments.
    pub(crate) fn message(&self, id: &Id, arguments: &Value, others: &Map<String, Value>) -> Value {
        let mut params = Map::new();
        params.insert("name".to_owned(), self.name.as_str().into());
        params.insert("arguments".to_owned(), arguments.clone());
        for (key, value) in others {
            params.insert(key.clone(), value.clone());
        }
        serde_json::json!({
            "jsonrpc": "2.0", "id": id.value(), "method": CALL, "params": params,
        })
    }
}

fn envelope(meta: Option<&Map<String, Value>>) -> Map<String, Value> {
    let ours = |(key, _): &(&String, &Value)| key.starts_with("io.modelcontextprotocol/");
    let meta = meta.into_iter().flatten().filter(ours);
    meta.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The answer to a message that was too long to read.
pub(crate) fn too_long() -> Bytes {
    let why = format!("larger than {LARGEST} bytes");
    answer::error(&refused(Value::Null, INVALID_REQUEST, &why))
}

/// Reads a body as one line: outside of texts a line break is a blank, and inside it is no JSON.
pub(crate) fn read_body(body: &[u8]) -> Result<Vec<u8>, Refused> {
    let line = one_line(body);
    let is_json = serde_json::from_slice::<IgnoredAny>(body).is_ok();
    read(if is_json { &line } else { body }).map(|_| line)
}

/// JSON with a blank in the place of each line break.
pub(crate) fn one_line(json: &[u8]) -> Vec<u8> {
    let bytes = json.iter().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        other => *other,
    });
    bytes.collect()
}

/// Reads a line without its end.
pub(crate) fn read(line: &[u8]) -> Result<Sent, Refused> {
    if serde_json::from_slice::<IgnoredAny>(line).is_err() {
        return Err(refused(Value::Null, NOT_JSON, "not JSON"));
    }
    let invalid = |why: &str| refused(likely_id(line), INVALID_REQUEST, why);
    // A server that takes it for the end of a line would find other messages in this one.
    if line.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
        return Err(invalid("a line break inside a message"));
    }
    let Some(value) = certain_value(line) else {
        return Err(invalid(
            "programs may read this message differently: a duplicate key, a number without canonical form, half a character, or nested too deep",
        ));
    };
    let message = match value {
        Value::Object(message) => message,
        Value::Array(_) => return Err(refused(Value::Null, INVALID_REQUEST, "a batch")),
        _ => return Err(refused(Value::Null, INVALID_REQUEST, "not an object")),
    };
    if let Some(key) = misspelt(&message, &OF_A_MESSAGE) {
        return Err(invalid(&format!(
            "a key {key:?} that some servers take for another"
        )));
    }
    sent(message)
}

fn sent(mut message: Map<String, Value>) -> Result<Sent, Refused> {
    let id = message.get("id").cloned();
    let params = message.remove("params");
    let method = match message.remove("method") {
        None => return Ok(Sent::Other),
        Some(Value::String(method)) => method,
        Some(_) => {
            let id = id.unwrap_or_default();
            return Err(refused(id, INVALID_REQUEST, "the method is not text"));
        }
    };
    match (method.as_str(), id) {
        (CALL, None) => Ok(Sent::CallWithoutId),
        (CALL, Some(id)) => call(&id, params),
        (odd, id) if folded(odd) == CALL && odd != CALL => {
            let id = id.unwrap_or_default();
            let why = format!("a method {odd:?} that some servers take for {CALL}");
            Err(refused(id, INVALID_REQUEST, &why))
        }
        ("tasks/result", Some(id)) => {
            let task = params
                .as_ref()
                .and_then(|params| params.get("taskId")?.as_str());
            let task = Id::of(&id).zip(task.map(str::to_owned));
            Ok(task.map_or(Sent::Other, |(id, task)| Sent::TaskResult(id, task)))
        }
        ("notifications/initialized", None) => Ok(Sent::Initialized),
        ("notifications/cancelled", None) => {
            let id = params.as_ref().and_then(|params| params.get("requestId"));
            Ok(id.and_then(Id::of).map_or(Sent::Other, Sent::Cancelled))
        }
        ("server/discover", Some(id)) => {
            let meta = params.as_ref().and_then(|params| params.get("_meta"));
            let meta = envelope(meta.and_then(Value::as_object));
            Ok(Id::of(&id).map_or(Sent::Other, |id| Sent::Discover(id, meta)))
        }
        _ => Ok(Sent::Other),
    }
}

fn call(id: &Value, params: Option<Value>) -> Result<Sent, Refused> {
    let Some(known) = Id::of(id) else {
        let why = "the id of a tool call must be a text or a whole number";
        return Err(refused(Value::Null, INVALID_REQUEST, why));
    };
    let invalid = |why: &str| Err(refused(id.clone(), INVALID_PARAMS, why));
    let Some(Value::Object(mut params)) = params else {
        return invalid("a tool call without parameters");
    };
    if let Some(key) = misspelt(&params, &OF_A_CALL) {
        return invalid(&format!("a key {key:?} that some servers take for another"));
    }
    let name = match params.shift_remove("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name,
        _ => return invalid("a tool call must name its tool"),
    };
    let arguments = params.shift_remove("arguments");
    Ok(Sent::Call(Box::new(Call {
        id: known,
        name,
        arguments: arguments.unwrap_or_else(|| Value::Object(Map::new())),
        others: params,
    })))
}

/// A name as a server reads it that looks at neither case nor blanks.
fn folded(name: &str) -> String {
    // Both ways, as Go's reader folds: the long s is an s, the sign of the kelvin a k.
    let upper = name.chars().flat_map(char::to_uppercase);
    let letters = upper.flat_map(char::to_lowercase);
    // Neither a blank nor one of the letters that nobody sees.
    letters
        .filter(|letter| letter.is_alphanumeric() || letter.is_ascii_punctuation())
        .collect()
}

/// A key that such a server takes for one of `known`.
fn misspelt<'a>(object: &'a Map<String, Value>, known: &[&str]) -> Option<&'a String> {
    object.keys().find(|key| {
        let folded = folded(key);
        let alike = |known: &&str| known.eq_ignore_ascii_case(&folded);
        known.iter().any(alike) && !known.contains(&key.as_str())
    })
}

/// The id of a message that is refused, for its sender alone.
fn likely_id(line: &[u8]) -> Value {
    let message = countersign_wire::json_value(line).unwrap_or_default();
    let id = message.get("id").and_then(Id::of);
    id.map_or(Value::Null, |id| id.value())
}

fn refused(id: Value, code: i64, why: &str) -> Refused {
    let why = why.to_owned();
    Refused { id, code, why }
}

#[cfg(test)]
mod tests;
