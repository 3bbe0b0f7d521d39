//! The AsyncAPI 3 document: every channel, seen from an agent.
//!
//! What NATS itself does (accounts, streams) is described in `docs/protocol/v1.md`.

use serde_json::{Map, Value, json};

use crate::{
    DECISION_MAX_BYTES, REQUEST_MAX_BYTES, SPAN_MAX_BYTES, SUBJECT_PREFIX, policy_subject,
};

/// The stream of the shared policy, a key-value bucket.
const POLICY_STREAM: &str = "KV_CS_POLICY";

/// Who sends on a channel.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Agent,
    Console,
    Server,
}

struct Channel {
    name: &'static str,
    /// What follows the prefix and the name in the address.
    parameters: &'static [&'static str],
    message: &'static str,
    stream: Option<&'static str>,
    by: By,
    about: &'static str,
}

const OF_REQUEST: &[&str] = &["workspace", "agent", "request_id"];
const OF_AGENT: &[&str] = &["workspace", "agent"];

const fn channel(
    name: &'static str,
    parameters: &'static [&'static str],
    message: &'static str,
    stream: Option<&'static str>,
    by: By,
    about: &'static str,
) -> Channel {
    Channel {
        name,
        parameters,
        message,
        stream,
        by,
        about,
    }
}

#[rustfmt::skip]
const CHANNELS: &[Channel] = &[
    channel("request", OF_REQUEST, "request", Some("CS_REQUESTS"), By::Agent,
        "An agent asks for one decision. Stored once."),
    channel("withdraw", OF_REQUEST, "withdraw", Some("CS_REQUESTS"), By::Agent,
        "An agent no longer wants the answer. Counts whatever its body says."),
    channel("tighten", OF_REQUEST, "tighten", Some("CS_REQUESTS"), By::Agent,
        "An earlier deadline. The first one counts, and it only ever shortens."),
    channel("decision", OF_REQUEST, "decision", Some("CS_DECISIONS"), By::Console,
        "The one answer. Stored once; read by direct get."),
    channel("vote", &["workspace", "agent", "request_id", "key"], "vote", Some("CS_DECISIONS"), By::Console,
        "One operator's vote, when several approvals are needed."),
    channel("decided", OF_REQUEST, "decision", None, By::Server,
        "A decision, republished by the server: a hint to read the stored one."),
    channel("receipt", OF_REQUEST, "receipt", Some("CS_RECEIPTS"), By::Agent,
        "What the agent did with the decision."),
    channel("event", OF_AGENT, "span", Some("CS_EVENTS"), By::Agent,
        "Spans. The later one of the same span replaces the earlier."),
    channel("hello", OF_AGENT, "hello", Some("CS_AGENTS"), By::Agent,
        "An agent introduces itself, at start and on change."),
    channel("alive", OF_AGENT, "alive", None, By::Agent,
        "A heartbeat every 10 s."),
    channel("audit", &["console"], "signed-envelope", Some("CS_AUDIT"), By::Console,
        "A signed head of the console's audit chain. The payload is an anchor."),
    channel("realm", &["slot"], "signed-envelope", Some("CS_DECISIONS"), By::Console,
        "A slot of the realm log. Stored once; read by direct get. The payload is an entry (realm-entry.schema.json)."),
    channel("ask", &["key"], "signed-envelope", Some(POLICY_STREAM), By::Console,
        "A key asks to be let into the realm. The last one counts. The payload is an ask (ask.schema.json)."),
];

/// The AsyncAPI 3 document as JSON. Payload schemas are the files beside it.
pub fn asyncapi() -> Value {
    let mut channels = Map::new();
    let mut operations = Map::new();
    let mut messages = Map::new();
    for channel in CHANNELS {
        channels.insert(channel.name.to_owned(), described(channel));
        messages.insert(channel.message.to_owned(), message(channel.message));
        if let Some((name, operation)) = operation(channel) {
            operations.insert(name, operation);
        }
    }
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Countersign",
            "version": "1",
            "description": "Requests of agents and decisions of operators over NATS JetStream, \
                            protocol version 1. Operations are those of an agent.",
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "parameters": parameters()},
    })
}

fn described(channel: &Channel) -> Value {
    let tokens: Vec<_> = channel
        .parameters
        .iter()
        .map(|name| format!("{{{name}}}"))
        .collect();
    let parameters: Map<_, _> = channel
        .parameters
        .iter()
        .map(|name| {
            (
                (*name).to_owned(),
                json!({"$ref": format!("#/components/parameters/{name}")}),
            )
        })
        .collect();
    let name = format!("{}.{}", channel.name, tokens.join("."));
    let address = match channel.stream {
        Some(POLICY_STREAM) => policy_subject(&name),
        _ => format!("{SUBJECT_PREFIX}{name}"),
    };
    let mut described = json!({
        "address": address,
        "description": channel.about,
        "parameters": parameters,
        "messages": {channel.message: {"$ref": format!("#/components/messages/{}", channel.message)}},
    });
    if let Some(stream) = channel.stream {
        described["x-stream"] = json!(stream);
    }
    described
}

fn operation(channel: &Channel) -> Option<(String, Value)> {
    let (verb, action) = match channel.by {
        By::Agent => ("send", "send"),
        By::Server => ("receive", "receive"),
        By::Console => return None,
    };
    let name = channel.name;
    let operation = json!({
        "action": action,
        "channel": {"$ref": format!("#/channels/{name}")},
        "messages": [{"$ref": format!("#/channels/{name}/messages/{}", channel.message)}],
    });
    Some((format!("{verb}_{name}"), operation))
}

fn message(name: &str) -> Value {
    let mut message = json!({
        "name": name,
        "payload": {"$ref": format!("./{name}.schema.json")},
    });
    let signed = json!({
        "type": "object",
        "required": ["CS-Key", "CS-Sig"],
        "properties": {
            "CS-Key": {"type": "string", "description": "Public nkey; equals decided_by.key"},
            "CS-Sig": {
                "type": "string",
                "description": "ed25519 in base64url without padding, over what section 5 of v1.md says",
            },
        },
    });
    if matches!(name, "decision" | "vote") {
        message["headers"] = signed;
    }
    let most = match name {
        "request" => Some(REQUEST_MAX_BYTES),
        "decision" => Some(DECISION_MAX_BYTES),
        "span" => Some(SPAN_MAX_BYTES),
        _ => None,
    };
    if let Some(most) = most {
        message["x-max-bytes"] = json!(most);
    }
    message
}

fn parameters() -> Value {
    json!({
        "workspace": {"description": "A workspace's name: [a-z0-9][a-z0-9_-]{0,62}"},
        "agent": {"description": "An agent's name: [a-z0-9][a-z0-9_-]{0,62}"},
        "request_id": {"description": "A request's id: [A-Za-z0-9][A-Za-z0-9_-]{0,63}"},
        "key": {"description": "A public key: the voter's, or the one that asks"},
        "slot": {"description": "A number from 1: decimal, at most 15 digits, no leading zero"},
        "console": {"description": "The console's id: [A-Za-z0-9_-]{1,64}"},
    })
}
