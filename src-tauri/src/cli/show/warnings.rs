//! Reasons to look twice at a request. A missing warning proves little.

use std::collections::BTreeSet;

use countersign_core::App;
use countersign_core::domain::facts::{RequestDetails, RequestSummary};
use countersign_core::domain::{CallWarning, Timestamp};
use countersign_core::store::request_list::Filter;
use countersign_wire::{KeptJson, Risk, TextWarning, looks_like, pointer, warnings};
use serde_json::{Map, Value, json};

use super::super::failure::Failure;
use super::super::output::plain;

/// Requests that are looked through for the names of tools.
const LOOKED_THROUGH: i64 = 1_000;
/// More than these are not listed; the last one then says how many there were.
const LISTED: usize = 100;

/// Names of tools that this workspace has used lately.
pub(super) async fn known_tools(
    app: &App,
    line: &RequestSummary,
) -> Result<BTreeSet<String>, Failure> {
    if line.tool.is_none() {
        return Ok(BTreeSet::new());
    }
    let filter = Filter {
        workspace: Some(line.ws.clone()),
        ..Filter::default()
    };
    let rows = app.history(&filter, None, LOOKED_THROUGH).await?;
    Ok(rows.into_iter().filter_map(|row| row.tool).collect())
}

/// Every warning with the place that it is about, a JSON pointer into the request.
pub(super) fn of(
    story: &RequestDetails,
    request: Option<&KeptJson>,
    known: &BTreeSet<String>,
    now: Timestamp,
) -> Vec<Value> {
    let line = &story.line;
    let asked_ms_ago = now.since_ms(Timestamp(line.stored_at));
    let cautions = story.cautions.iter();
    let mut found: Vec<Value> = cautions.map(|of| caution(of, asked_ms_ago)).collect();
    let request = request.and_then(KeptJson::value);
    if let Some(tool) = &line.tool
        && let Some(other) = looks_like(tool, known.iter().map(String::as_str))
    {
        let words = format!("The tool's name looks like that of another tool: {other}.");
        found.push(json!({
            "code": "look_alike_tool", "at": "/tool/name", "other": plain(other), "message": plain(&words),
        }));
    }
    let risk = request
        .as_ref()
        .and_then(|request| request.get("risk")?.as_str());
    if let Some(word) = risk.filter(|word| Risk::from_word(word).is_none()) {
        let words =
            format!("The agent's word for the risk is not known and counts as critical: {word}.");
        found.push(json!({ "code": "unknown_risk", "at": "/risk", "word": plain(word), "message": plain(&words) }));
    }
    if let Some(request) = &request {
        walk(request, &mut String::new(), &mut found);
    }
    let more = found.len().saturating_sub(LISTED);
    if more > 0 {
        found.truncate(LISTED);
        let words = format!("{more} more warnings of these kinds.");
        found.push(json!({ "code": "more_warnings", "at": "", "count": more, "message": words }));
    }
    found
}

/// As the wire has it, every text escaped, with the sentence that people read.
fn caution(warning: &CallWarning, asked_ms_ago: i64) -> Value {
    let mut reported = serde_json::to_value(warning).unwrap_or_default();
    for value in reported
        .as_object_mut()
        .into_iter()
        .flat_map(Map::values_mut)
    {
        match value {
            Value::String(text) => *text = plain(text),
            Value::Array(items) => {
                for item in items {
                    if let Value::String(text) = item {
                        *text = plain(text);
                    }
                }
            }
            _ => {}
        }
    }
    let (what, words) = warning.words(asked_ms_ago);
    reported["message"] = plain(&format!("{what} {words}")).into();
    reported["at"] = match warning {
        CallWarning::ToolChanged { .. } | CallWarning::CredentialIncomplete { .. } => "/tool/name",
        CallWarning::OutsideSkill { .. } => "/skill",
        CallWarning::ThroughGateway { .. } => "/native/gateway",
        CallWarning::TightenUnreadable => "/expires_at",
        _ => "",
    }
    .into();
    reported
}

fn walk(value: &Value, at: &mut String, found: &mut Vec<Value>) {
    match value {
        Value::String(text) => look(text, at, found),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                step(item, &place.to_string(), at, found);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                // A name can deceive as well as a value.
                look(name, at, found);
                step(item, &pointer::step(name), at, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn step(value: &Value, name: &str, at: &mut String, found: &mut Vec<Value>) {
    let length = at.len();
    at.push('/');
    at.push_str(name);
    walk(value, at, found);
    at.truncate(length);
}

fn look(text: &str, at: &str, found: &mut Vec<Value>) {
    for warning in warnings(text) {
        let mut reported = serde_json::to_value(&warning).unwrap_or_default();
        if let TextWarning::MixedScriptHost { host } = &warning {
            reported["host"] = plain(host).into();
        }
        reported["message"] = plain(&format!("{at} {}", warning.words())).into();
        reported["at"] = plain(at).into();
        found.push(reported);
    }
}
