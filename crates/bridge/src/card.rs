//! From a command and its card to the request on the desk (systems, 5.5).

use countersign_sdk::wire::{args_digest, tool_slug};
use serde_json::{Map, Value, json};

use crate::api::Card;
use crate::call::Call;
use crate::store_rows::stamp;

/// Why a card cannot be approved; none where it checks out.
pub(crate) fn unverifiable(call: &Call<'_>, card: &Card) -> Option<&'static str> {
    let card = match card {
        Card::Found(card) => card,
        Card::NotFound => return Some("card_not_found"),
        Card::Malformed => return Some("card_malformed"),
    };
    let text = |pointer: &str| card.pointer(pointer).and_then(Value::as_str);
    let well_formed = text("/card_id").is_some()
        && text("/content/tool_name").is_some()
        && card
            .pointer("/content/arguments")
            .is_some_and(Value::is_object);
    let other = |pointer: &str, wanted: &str| {
        card.pointer(pointer)
            .filter(|found| !found.is_null())
            .is_some_and(|found| found.as_str() != Some(wanted))
    };
    if text("/type").is_some_and(|kind| kind != "tool.call") {
        Some("card_wrong_type")
    } else if !well_formed || text("/type").is_none() {
        Some("card_malformed")
    } else if text("/project_id") != Some(call.project) {
        Some("card_other_project")
    } else if other("/tool_call_id", call.tool_call_id) {
        Some("card_other_call")
    } else if text("/content/tool_name") != Some(&call.payload.tool_name) {
        Some("card_other_tool")
    } else if other("/content/target_subject", &call.message.subject) {
        Some("card_other_target")
    } else {
        None
    }
}

/// Whether a card that is read again is still what was approved: it checks out, with the arguments of the request and
/// the same merged into them.
pub(crate) fn is_as_approved(call: &Call<'_>, card: &Card, request: &Value) -> bool {
    let Card::Found(found) = card else {
        return false;
    };
    let args = &found["content"]["arguments"];
    unverifiable(call, card).is_none()
        && args_digest(args).is_ok_and(|digest| request["args_digest"] == digest.to_string())
        && request["effective"] == effective(found, args).unwrap_or_default()
}

/// The request's body, from the moment `now_ms` to the deadline.
pub(crate) fn request(
    call: &Call<'_>,
    card: &Card,
    workspace: &str,
    agent: &str,
    times: (i64, i64),
) -> Value {
    let fault = unverifiable(call, card);
    let found = match card {
        Card::Found(card) => Some(card),
        _ => None,
    };
    let args = match fault {
        None => found.and_then(|card| card.pointer("/content/arguments").cloned()),
        Some(_) => None,
    };
    let mut body = json!({
        "v": 1,
        "kind": "tool_call",
        "request_id": call.request_id(),
        "workspace": workspace,
        "agent": {"name": agent, "type": call.agent_id, "framework": "commonground", "framework_version": "v1r4"},
        "thread_id": call.channel,
        "call_id": call.tool_call_id,
        "tool": tool(call),
        "args": args.clone().unwrap_or_default(),
        "risk": if fault.is_some() { "critical" } else { call.tool.risk.as_str() },
        "allowed_verdicts": ["approve", "deny", "skip", "terminate"],
        "requested_at": stamp(times.0),
        "expires_at": stamp(times.1),
        "traceparent": call.traceparent(),
        "metadata": {"commonground": commonground(call, found, fault)},
        "native": native(call, found),
    });
    if let Ok(digest) = args_digest(&body["args"]) {
        body["args_digest"] = json!(digest.to_string());
    }
    if let Some(turn) = call.turn() {
        body["run_id"] = json!(turn);
    }
    match (fault, found, args) {
        (Some(fault), ..) => {
            body["title"] = json!(format!("Unverifiable: {fault}"));
            body["allowed_verdicts"] = json!(["deny"]);
        }
        (None, Some(card), Some(args)) => {
            if let Some(effective) = effective(card, &args) {
                body["effective"] = effective;
            }
        }
        _ => {}
    }
    body
}

fn tool(call: &Call<'_>) -> Value {
    let mut tool = json!({"name": tool_slug(&call.tool.name), "namespace": call.project});
    if let Some(text) = &call.tool.description {
        tool["description"] = json!(text);
    }
    if let Some(word) = &call.tool.effects {
        tool["effects"] = json!(word);
    }
    tool
}

fn commonground(call: &Call<'_>, card: Option<&Value>, fault: Option<&str>) -> Value {
    let header = |name: &str| call.message.header(name);
    let number = |name: &str| {
        header(name)
            .and_then(|text| text.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let from_card = |name: &str| {
        card.and_then(|card| card.pointer(&format!("/metadata/{name}")))
            .cloned()
    };
    let mut known = json!({
        "project_id": call.project,
        "channel_id": call.channel,
        "agent_id": call.agent_id,
        "turn_id": call.turn(),
        "turn_epoch": number("CG-Turn-Epoch"),
        "step_id": header("CG-Step-Id").map(Value::from).or_else(|| from_card("step_id")),
        "tool_call_id": call.tool_call_id,
        "trace_id": call.trace_id(),
        "parent_step_id": header("CG-Parent-Step-Id").map(Value::from).or_else(|| from_card("parent_step_id")),
        "recursion_depth": number("CG-Recursion-Depth"),
        "after_execution": call.payload.after_execution,
        "tool_call_card_id": call.payload.card_id,
    });
    if let Some(fault) = fault {
        known["unverifiable"] = json!(fault);
    }
    known
}

fn native(call: &Call<'_>, card: Option<&Value>) -> Value {
    let headers: Map<String, Value> = call
        .message
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let mut native = json!({
        "subject": call.message.subject,
        "headers": headers,
        "payload": call.message.known_payload(),
        "stream_seq": call.message.stream_seq,
    });
    if let Some(card) = card {
        let parts = ["card_id", "author_id", "created_at", "metadata"];
        let known =
            parts.map(|name| (name.to_owned(), card.get(name).cloned().unwrap_or_default()));
        native["card"] = Value::Object(known.into_iter().collect());
    }
    native
}

/// What CommonGround merged into the arguments: from the card's metadata, with the values that are in `args`.
fn effective(card: &Value, args: &Value) -> Option<Value> {
    let names = |list: &str| -> Map<String, Value> {
        let listed = card
            .pointer(&format!("/metadata/{list}"))
            .and_then(Value::as_array);
        listed
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter_map(|name| Some((name.to_owned(), args.get(name)?.clone())))
            .collect()
    };
    let (fixed, mut defaults) = (
        names("tool_args_fixed_applied"),
        names("tool_args_defaults_applied"),
    );
    // An argument that the model gave as null was given.
    defaults.retain(|_, value| !value.is_null());
    let injected: Vec<&String> = card
        .pointer("/metadata/tool_args_envs")
        .and_then(Value::as_object)
        .map(|map| map.keys().collect())
        .unwrap_or_default();
    let mut effective = Map::new();
    for (name, map) in [("fixed", fixed), ("defaults", defaults)] {
        if !map.is_empty() {
            effective.insert(name.to_owned(), Value::Object(map));
        }
    }
    if !injected.is_empty() {
        effective.insert("injected_names".to_owned(), json!(injected));
    }
    (!effective.is_empty()).then_some(Value::Object(effective))
}
