//! What went in and what came out: messages, arguments and results, in the forms of several conventions.
//!
//! A text that is too long is not left out: its beginning is kept, and how long it was.

use std::collections::HashSet;

use countersign_wire::{KeptJson, certain_value};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Map, Value, json};

use super::bounded::{Budget, DEEPEST, cut};
use super::indexed::{ANSWERED, ASKED, messages};
use super::lookup::Attributes;

/// Bytes of JSON that are kept of what went in, and of what came out.
pub(super) const MOST: usize = 256 * 1024;
/// Parts of an output.
const PARTS: usize = 256;

const INPUTS: [&str; 14] = [
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "ai.toolCall.args",
    "gen_ai.input.messages",
    "ai.prompt.messages",
    "ai.prompt",
    "ai.values",
    "ai.value",
    "langfuse.observation.input",
    "input.value",
    "traceloop.entity.input",
    "gen_ai.prompt",
    "events",
    "pydantic_ai.all_messages",
];
const OUTPUTS: [&str; 12] = [
    "gen_ai.tool.call.result",
    "tool_response",
    "ai.toolCall.result",
    "gen_ai.output.messages",
    "ai.response.text",
    "ai.response.object",
    "ai.response.toolCalls",
    "langfuse.observation.output",
    "output.value",
    "traceloop.entity.output",
    "gen_ai.completion",
    "final_result",
];

/// What a span says of its content, and which attributes said it.
#[derive(Default)]
pub(super) struct Content<'a> {
    pub(super) input: Option<KeptJson>,
    pub(super) output: Option<KeptJson>,
    /// The input as a value, where that is exactly what came.
    pub(super) arguments: Option<Value>,
    /// Names of attributes that need not be kept twice.
    pub(super) used: HashSet<&'a str>,
    /// Whether messages came as the span's events.
    pub(super) from_events: bool,
}

/// Finds it.
pub(super) fn content(span: &Span) -> Content<'_> {
    let attributes = Attributes::of_span(span);
    let mut content = Content::default();
    let mut first = |names: &[&'static str], prefixes: &[&str]| {
        let says = |value: &&Any| !matches!(value, Any::StringValue(text) if text.is_empty());
        let found = names
            .iter()
            .find_map(|name| Some((*name, attributes.get(name).filter(says)?)));
        if let Some((name, value)) = found {
            content.used.insert(name);
            return Some(read(value));
        }
        let (messages, used) = messages(attributes, prefixes)?;
        content.used.extend(used);
        Some(Read::Json(messages))
    };
    let (input, output) = match attributes.is_logfire_function() {
        true => (first(&["input"], &[]), first(&["output"], &[])),
        false => (first(&INPUTS, &ASKED), first(&OUTPUTS, &ANSWERED)),
    };
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    for event in &span.events {
        let list = match event.name.as_str() {
            "gen_ai.choice" | "gen_ai.content.completion" => &mut answered,
            "gen_ai.content.prompt" => &mut asked,
            name if is_message(name) => &mut asked,
            _ => continue,
        };
        content.from_events = true;
        if list.len() < PARTS {
            list.push(message(&event.name, &event.attributes));
        }
    }
    let listed = |list: Vec<Value>| (!list.is_empty()).then_some(Read::Json(Value::Array(list)));
    let input = input.or_else(|| listed(asked));
    let output = output.or_else(|| listed(answered));
    content.input = input.as_ref().and_then(|input| kept(&input.value()));
    content.output = output.and_then(|output| kept(&Value::Array(parts(output))));
    content.arguments = match input {
        Some(Read::Json(value)) => match WRAPPED.iter().any(|name| content.used.contains(name)) {
            true => unwrapped(value),
            false => Some(value),
        },
        _ => None,
    };
    content
}

/// Inputs that may hold a tool's arguments beside other things.
const WRAPPED: [&str; 2] = ["traceloop.entity.input", "langfuse.observation.input"];

/// The arguments in what OpenLLMetry writes of a tool of LangChain (`{input_str, inputs, …}`) and of MCP, and in what
/// decorators write of a function (`{args, kwargs}`); none where it does not say them by name.
fn unwrapped(value: Value) -> Option<Value> {
    let field = |name: &str| value.get(name).filter(|field| field.is_object()).cloned();
    let text = value
        .get("input_str")
        .map(|text| text.as_str().unwrap_or_default());
    let args = value.get("args").and_then(Value::as_array);
    match (text, args) {
        (Some(text), _) => field("inputs").or_else(|| {
            let read = certain_value(text.as_bytes());
            read.filter(Value::is_object)
        }),
        (None, Some(args)) if value.get("kwargs").is_some() => {
            field("kwargs").filter(|_| args.is_empty())
        }
        _ if value.get("tool_name").is_some() => field("arguments"),
        _ => Some(value),
    }
}

/// The older form: one event a message.
fn is_message(name: &str) -> bool {
    name.strip_prefix("gen_ai.")
        .and_then(|rest| rest.strip_suffix(".message"))
        .is_some_and(|role| matches!(role, "system" | "user" | "assistant" | "tool"))
}

fn message(name: &str, event: &[KeyValue]) -> Value {
    let mut budget = Budget::new(MOST / 2);
    let mut fields = budget.pairs(event, 1);
    let role = name
        .strip_prefix("gen_ai.")
        .and_then(|rest| rest.strip_suffix(".message"));
    if let Some(role) = role {
        fields.entry("role").or_insert_with(|| json!(role));
    }
    Value::Object(fields)
}

enum Read {
    Json(Value),
    /// A value that is cut or written otherwise.
    Changed(Value),
    Text(String),
}

impl Read {
    fn value(&self) -> Value {
        match self {
            Self::Json(value) | Self::Changed(value) => value.clone(),
            Self::Text(text) => Value::String(text.clone()),
        }
    }
}

/// An attribute's value; a text that is a JSON array or object is read as what it says, if every reader reads the same.
fn read(value: &Any) -> Read {
    if let Any::StringValue(text) = value {
        return text_or_json(text);
    }
    let value = AnyValue {
        value: Some(value.clone()),
    };
    let mut budget = Budget::new(MOST);
    match budget.value(&value, 1) {
        Some(Value::String(text)) => Read::Text(text),
        Some(value) if budget.changed || budget.left_out > 0 => Read::Changed(value),
        Some(value) => Read::Json(value),
        None => Read::Text(String::new()),
    }
}

fn text_or_json(text: &str) -> Read {
    let structured = matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'['));
    if structured
        && text.len() <= MOST
        && let Some(value) = certain_value(text.as_bytes())
        && depth(&value) <= DEEPEST
    {
        return Read::Json(value);
    }
    Read::Text(cut(text, MOST))
}

/// Levels of a value that serde_json has read, which are 128 at most.
fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The value as JSON of at most [`MOST`] bytes; a longer one becomes the beginning of its text.
fn kept(value: &Value) -> Option<KeptJson> {
    let text = serde_json::to_string(value).ok()?;
    if text.len() <= MOST {
        return KeptJson::from_text(text).ok();
    }
    let short = cut(&text, MOST - 2);
    // An output is a list of parts, cut or not.
    match value {
        Value::Array(items) if items.iter().all(is_part) => {
            let short = cut(&text, MOST - 64);
            KeptJson::of(&json!([part("text", short)])).ok()
        }
        _ => KeptJson::of(&short).ok(),
    }
}

fn is_part(value: &Value) -> bool {
    value.get("m_type").is_some()
}

fn part(kind: &str, content: impl Into<Value>) -> Value {
    json!({ "m_type": kind, "m_content": content.into() })
}

/// The protocol's form: `[{m_type, m_content}]`, both texts.
fn parts(output: Read) -> Vec<Value> {
    let value = match output {
        Read::Text(text) => return vec![part("text", text)],
        Read::Json(value) | Read::Changed(value) => value,
    };
    let messages = match &value {
        Value::Array(items) if items.iter().any(is_chat) => items,
        _ => return vec![part("text", value.to_string())],
    };
    let mut found = Vec::new();
    for message in messages {
        match message.get("parts").and_then(Value::as_array) {
            Some(parts) => found.extend(parts.iter().filter_map(Value::as_object).map(of_part)),
            None => of_message(message, &mut found),
        }
        if found.len() > PARTS {
            let left_out = format!("[more than {PARTS} parts]");
            found.truncate(PARTS);
            found.push(part("text", left_out));
            break;
        }
    }
    found
}

fn is_chat(value: &Value) -> bool {
    let older = value.get("role").is_some() && value.get("content").is_some_and(Value::is_string);
    older || value.get("parts").is_some_and(Value::is_array)
}

/// A message of the older form: what it says, and then whatever else there is, such as calls of tools.
fn of_message(message: &Value, found: &mut Vec<Value>) {
    let mut rest = message.clone();
    if let Some(fields) = rest.as_object_mut()
        && fields.contains_key("role")
    {
        if let Some(Value::String(text)) = fields.get("content") {
            found.push(part("text", text.as_str()));
            fields.shift_remove("content");
        }
        fields.shift_remove("role");
        if fields.is_empty() {
            return;
        }
    }
    found.push(part("text", rest.to_string()));
}

/// A part of a message of the conventions: text, an image or file inline, or something else as JSON.
fn of_part(fields: &Map<String, Value>) -> Value {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    match (text("type"), text("content"), text("mime_type")) {
        (Some("text"), Some(content), _) => part("text", content),
        (Some("blob"), Some(content), Some(mime)) => part(&cut(mime, 128), content),
        (kind, _, _) => {
            let kind = cut(kind.unwrap_or("json"), 128);
            part(&kind, Value::Object(fields.clone()).to_string())
        }
    }
}
