//! The request for a person: every field of it, known or unknown.
//!
//! The agent's words are marked as such.

use countersign_core::domain::facts::RequestSummary;
use serde_json::{Map, Value};

use super::super::output::heading;
use countersign_view::secrets::Secrets;

/// The agent's words: never the thing approved (protocol, section 2).
const SAID: [&str; 4] = ["title", "reason", "preview", "confirm"];
/// What would run, or what is asked.
const GATE: [(&str, &str); 5] = [
    ("args", "Arguments"),
    ("args_raw", "The model's own text of the arguments"),
    ("question", "Question"),
    ("response_schema", "Form"),
    ("effective", "Changes that the framework still makes"),
];
/// Where the request comes from, by the agent's account.
const AROUND: [(&str, &str); 7] = [
    ("tool", "The tool, as the agent describes it"),
    ("agent", "The agent, as it describes itself"),
    ("skill", "Skill, as the agent says"),
    ("chain", "Chain of calls, as the agent says"),
    ("group", "Asked together, as the agent says"),
    ("native_digest", "The framework's own digest, not checked"),
    (
        "history",
        "Conversation before this call, reported by the agent",
    ),
];
/// What nobody interprets.
const KEPT: [(&str, &str); 2] = [
    ("metadata", "Metadata of the agent, not interpreted"),
    ("native", "The framework's own form, not interpreted"),
];
const VERDICTS: &str = "allowed_verdicts";

/// The lines of a request that could be read as JSON.
pub(super) fn lines(
    request: &Value,
    line: &RequestSummary,
    secrets: Secrets,
    text: &mut Vec<String>,
) {
    let Some(request) = request.as_object() else {
        text.push(heading("Not a JSON object"));
        return value(request, secrets, "  ", text);
    };
    let mut rest = request.clone();
    rest.retain(|name, value| !is_shown_above(name, value, line));
    said(&mut rest, secrets, text);
    gate(&mut rest, secrets, text);
    sections(&AROUND, &mut rest, secrets, text);
    sections(&KEPT, &mut rest, secrets, text);
    // What is rejected gets no verdict of an operator.
    let decidable = line.error_code.is_none();
    let verdicts = decidable.then(|| rest.remove(VERDICTS));
    if !rest.is_empty() {
        text.push(heading("Other fields"));
        value(&Value::Object(rest), secrets, "  ", text);
    }
    if let Some(verdicts) = verdicts {
        honoured(verdicts.as_ref(), secrets, text);
    }
}

/// Text as it was written, line by line.
pub(super) fn block(words: &str, secrets: Secrets, text: &mut Vec<String>) {
    let shown = secrets.block(words);
    text.extend(shown.lines().map(|line| format!("    {line}")));
}

/// A value as indented JSON.
pub(super) fn value(value: &Value, secrets: Secrets, indent: &str, text: &mut Vec<String>) {
    let shown = secrets.json(value);
    text.extend(shown.lines().map(|line| format!("{indent}{line}")));
}

/// Whether the first lines say just this already.
fn is_shown_above(name: &str, value: &Value, line: &RequestSummary) -> bool {
    let is = |reported: &str| value.as_str() == Some(reported);
    let only_named = |reported: Option<&str>| match value.as_object() {
        Some(fields) => {
            reported.is_some()
                && fields.len() == 1
                && fields.get("name").and_then(Value::as_str) == reported
        }
        None => false,
    };
    match name {
        "v" => value.as_u64() == Some(1),
        "kind" => line.kind.as_deref().is_some_and(is),
        "request_id" => is(&line.request_id),
        "workspace" => is(&line.ws),
        "risk" => is(&line.risk),
        "agent" => only_named(Some(&line.agent)),
        "tool" => only_named(line.tool.as_deref()),
        _ => false,
    }
}

fn said(rest: &mut Map<String, Value>, secrets: Secrets, text: &mut Vec<String>) {
    let words: Vec<(&str, Value)> = SAID
        .into_iter()
        .filter_map(|name| Some((name, rest.remove(name)?)))
        .collect();
    if words.is_empty() {
        return;
    }
    text.push(heading("The agent says"));
    for (name, words) in words {
        text.push(format!("  {name}:"));
        match &words {
            Value::String(words) => block(words, secrets, text),
            other => value(other, secrets, "    ", text),
        }
    }
}

fn gate(rest: &mut Map<String, Value>, secrets: Secrets, text: &mut Vec<String>) {
    let digest = match (rest.get("args"), rest.get("args_digest")) {
        (Some(_), Some(Value::String(digest))) => {
            let shown = format!(" ({})", secrets.line(digest));
            rest.remove("args_digest");
            shown
        }
        _ => String::new(),
    };
    for (name, title) in GATE {
        let digest = if name == "args" { digest.as_str() } else { "" };
        section(name, &format!("{title}{digest}"), rest, secrets, text);
    }
}

fn sections(
    named: &[(&str, &str)],
    rest: &mut Map<String, Value>,
    secrets: Secrets,
    text: &mut Vec<String>,
) {
    for (name, title) in named {
        section(name, title, rest, secrets, text);
    }
}

fn section(
    name: &str,
    title: &str,
    rest: &mut Map<String, Value>,
    secrets: Secrets,
    text: &mut Vec<String>,
) {
    let Some(found) = rest.remove(name) else {
        return;
    };
    text.push(heading(title));
    match &found {
        // Quotes and escapes of its own would hide how this text differs.
        Value::String(words) if name == "args_raw" => block(words, secrets, text),
        other => value(other, secrets, "  ", text),
    }
}

fn honoured(verdicts: Option<&Value>, secrets: Secrets, text: &mut Vec<String>) {
    text.push(heading("Verdicts that the agent can honour"));
    let words: Option<Vec<String>> = verdicts
        .and_then(Value::as_array)
        .map(|words| {
            words
                .iter()
                .map(|word| word.as_str().map(|word| secrets.line(word)))
                .collect()
        })
        .unwrap_or_default();
    match (words, verdicts) {
        (Some(words), _) => text.push(format!("  {}", words.join(", "))),
        (None, Some(other)) => value(other, secrets, "  ", text),
        (None, None) => text.push("  deny".to_owned()),
    }
}
