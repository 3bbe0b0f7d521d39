//! A command from CommonGround's stream, read and checked (systems, 5.0 and 5.4).

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::config::{GuardedTool, Project};
use crate::refusal::{Reason, Refusal};

const CONTROL_FIELDS: [&str; 16] = [
    "project_id",
    "channel_id",
    "channel",
    "agent_id",
    "agent_turn_id",
    "turn_epoch",
    "step_id",
    "tool_call_id",
    "trace_id",
    "traceparent",
    "tracestate",
    "parent_agent_id",
    "parent_agent_turn_id",
    "parent_step_id",
    "parent_traceparent",
    "recursion_depth",
];
const KEYS: [&str; 3] = ["tool_call_card_id", "tool_name", "after_execution"];
const DEEPEST: u64 = 20;

/// A message as it was stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inbound {
    pub(crate) subject: String,
    /// In the order and with the spelling of the message.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) payload: Bytes,
    pub(crate) stream_seq: u64,
    /// The stream's stamp, milliseconds since 1970.
    pub(crate) at_ms: i64,
}

/// The parts of a gate's subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateSubject {
    pub(crate) project: String,
    pub(crate) channel: String,
    pub(crate) gate: String,
}

impl GateSubject {
    pub(crate) fn parse(subject: &str) -> Option<Self> {
        let tokens: Vec<&str> = subject.split('.').collect();
        let [
            "cg",
            "v1r4",
            project,
            channel,
            "cmd",
            "tool",
            "approval",
            gate,
        ] = tokens[..]
        else {
            return None;
        };
        let whole = ![project, channel, gate].contains(&"");
        whole.then(|| Self {
            project: project.to_owned(),
            channel: channel.to_owned(),
            gate: gate.to_owned(),
        })
    }
}

/// What the payload names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payload {
    pub(crate) card_id: String,
    pub(crate) tool_name: String,
    pub(crate) after_execution: String,
}

impl Inbound {
    /// The header of exactly this spelling.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(held, _)| held == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// The identity of the call, where the header names one.
    pub(crate) fn tool_call_id(&self) -> Option<&str> {
        self.header("CG-Tool-Call-Id")
    }

    /// The known keys of the payload that are texts, for a report.
    pub(crate) fn known_payload(&self) -> Map<String, Value> {
        let body: Option<Map<String, Value>> = serde_json::from_slice(&self.payload).ok();
        let mut known = body.unwrap_or_default();
        known.retain(|key, value| KEYS.contains(&key.as_str()) && value.is_string());
        known
    }
}

/// The tool and the payload of a command that can be asked about; else the first reason that applies.
pub(crate) fn read<'a>(
    message: &Inbound,
    project: Option<&'a Project>,
) -> Result<(Payload, &'a GuardedTool), Refusal> {
    let Some(subject) = GateSubject::parse(&message.subject) else {
        return Err(Refusal::new(Reason::BadSubject, message.subject.clone()));
    };
    let payload = payload(&message.payload)?;
    headers(message, &subject)?;
    let tool = project
        .and_then(|project| project.at_gate(&subject.gate))
        .ok_or_else(|| Refusal::new(Reason::UnknownTool, subject.gate.clone()))?;
    if tool.name != payload.tool_name {
        return Err(Refusal::new(Reason::ToolMismatch, payload.tool_name));
    }
    Ok((payload, tool))
}

fn payload(bytes: &[u8]) -> Result<Payload, Refusal> {
    let Ok(body) = serde_json::from_slice::<Map<String, Value>>(bytes) else {
        return Err(Refusal::new(Reason::PayloadNotJson, "payload"));
    };
    let first = |wrong: &dyn Fn(&str) -> bool| body.keys().find(|key| wrong(key)).cloned();
    if let Some(key) = first(&|key| CONTROL_FIELDS.contains(&key)) {
        return Err(Refusal::new(Reason::PayloadControlField, key));
    }
    if let Some(key) = first(&|key| !KEYS.contains(&key)) {
        return Err(Refusal::new(Reason::PayloadExtraKey, key));
    }
    let absent = |key: &&&str| match body.get(**key) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(_) => false,
    };
    if let Some(key) = KEYS.iter().find(absent) {
        return Err(Refusal::new(Reason::PayloadMissingKey, *key));
    }
    let text = |key: &str| match body.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(Refusal::new(Reason::PayloadWrongType, key)),
    };
    let payload = Payload {
        card_id: text(KEYS[0])?,
        tool_name: text(KEYS[1])?,
        after_execution: text(KEYS[2])?,
    };
    if !matches!(payload.after_execution.as_str(), "suspend" | "terminate") {
        return Err(Refusal::new(
            Reason::BadAfterExecution,
            payload.after_execution,
        ));
    }
    Ok(payload)
}

fn headers(message: &Inbound, subject: &GateSubject) -> Result<(), Refusal> {
    for name in ["CG-Agent-Id", "CG-Tool-Call-Id"] {
        if message.header(name).is_none() {
            return Err(Refusal::new(Reason::MissingHeader, name));
        }
    }
    let named = [
        ("CG-Project-Id", &subject.project),
        ("CG-Channel-Id", &subject.channel),
    ];
    for (name, wanted) in named {
        if message.header(name).is_some_and(|found| found != wanted) {
            return Err(Refusal::new(Reason::HeaderMismatch, name));
        }
    }
    let number = |name, reason| match message.header(name).map(str::parse::<u64>) {
        None => Ok(0),
        Some(Ok(number)) => Ok(number),
        Some(Err(_)) => Err(Refusal::new(reason, name)),
    };
    number("CG-Turn-Epoch", Reason::BadTurnEpoch)?;
    let depth = "CG-Recursion-Depth";
    if number(depth, Reason::BadRecursionDepth)? >= DEEPEST {
        return Err(Refusal::new(Reason::RecursionDepthExceeded, depth));
    }
    if message
        .header("traceparent")
        .is_some_and(|text| !is_traceparent(text))
    {
        return Err(Refusal::new(Reason::BadTraceparent, "traceparent"));
    }
    Ok(())
}

/// `hh-32 hex-16 hex-hh`, and a trace id that is not all zero.
pub(crate) fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    lengths == [2, 32, 16, 2]
        && parts.iter().all(|part| part.chars().all(hex))
        && parts[1].contains(|c| c != '0')
}
