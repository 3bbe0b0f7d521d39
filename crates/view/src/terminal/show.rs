//! What belongs to a request, as `show` prints it.

use countersign_domain::Timestamp;
use countersign_domain::facts::{
    Alarm, Contradicting, RequestSummary, ShownVote, StoredReceipt, StoredVote,
};
use countersign_wire::json_value;
use serde_json::{Value, json};

use crate::secrets::{Secrets, plain};

/// The call's place in the trace of its agent, if the request named one.
pub fn trace(line: &RequestSummary) -> Option<Value> {
    let id = line.trace_id.as_deref().map(plain)?;
    Some(json!({ "trace_id": id, "span_id": line.span_id.as_deref().map(plain) }))
}

/// An alarm about a request.
pub fn alarm(alarm: &Alarm) -> Value {
    json!({ "code": alarm.code, "at": Timestamp(alarm.at).rfc3339() })
}

/// The decision on the bus instead of the one that is kept here.
pub fn on_bus(current: &Contradicting, secrets: Secrets) -> Value {
    let said = json_value(&current.raw).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(|text| secrets.line(text));
    json!({
        "decision_id": text(&said["decision_id"]),
        "verdict": text(&said["verdict"]),
        "by": text(&said["decided_by"]["name"]),
        "message": text(&said["message"]),
        "stored_at": Timestamp(current.at).rfc3339(),
        "stream_seq": current.stream_seq,
    })
}

/// A vote; all null while it may not be shown to who has yet to vote.
pub fn vote(vote: &ShownVote) -> Value {
    let open = match vote {
        ShownVote::Hidden => None,
        ShownVote::Open(vote) => Some(vote),
    };
    let text =
        |field: fn(&StoredVote) -> Option<&str>| open.and_then(|vote| field(vote).map(plain));
    json!({
        "vote_id": text(|vote| vote.vote_id.as_deref()),
        "key": text(|vote| Some(&vote.key)),
        "name": text(|vote| vote.name.as_deref()),
        "verdict": text(|vote| vote.verdict.as_deref()),
        "args_digest": text(|vote| vote.args_digest.as_deref()),
        "stored_at": open.map(|vote| Timestamp(vote.at).rfc3339()),
        "stream_seq": open.map(|vote| vote.stream_seq),
        "mine": open.is_some_and(|vote| vote.mine),
    })
}

/// A receipt: `at` is the server's stamp, the rest is the agent's word.
pub fn receipt(receipt: &StoredReceipt, secrets: Secrets) -> Value {
    let said = json_value(&receipt.detail).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(|text| secrets.line(text));
    let degraded = said.get("degraded").and_then(Value::as_array);
    let degraded: Vec<String> = degraded.into_iter().flatten().filter_map(text).collect();
    json!({
        "decision_id": plain(&receipt.decision_id),
        "stage": receipt.stage,
        "at": Timestamp(receipt.at).rfc3339(),
        "executed_args_digest": said.get("executed_args_digest").and_then(text),
        "degraded": degraded,
        "message": said.get("message").and_then(text),
    })
}
