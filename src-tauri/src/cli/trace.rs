//! `trace`: the call tree of agents, with the decisions that it waited for.
//!
//! A span is a claim of its agent: names are escaped, secrets in inputs and outputs are hidden, and what had to be
//! repaired is said.

mod tree;

use std::collections::HashMap;

use countersign_core::App;
use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::{Entry, Trace};
use countersign_core::domain::trace::{Look, Run, Subchat, span_state, subchats};
use countersign_wire::json_value;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::config::Settings;
use super::console::reading;
use super::failure::Failure;
use super::output::{Output, doubtful, heading, plain, wrong};
use super::when;
use tree::nested;

/// Bodies read for one answer, in spans; those after it are listed without.
const BODIES: usize = 5_000;
/// Missing credentials of one span that are named.
const MISSING: usize = 50;

/// Prints the trace with this id, or the one of this request.
pub(crate) async fn run(settings: &Settings, out: Output, id: &str) -> Result<(), Failure> {
    reading(settings, true, async |app| {
        let trace = app.trace(id).await?;
        let bodies = bodies(app, &trace).await?;
        let subchats = conversations(&trace.entries, &bodies);
        if out.json {
            return Ok(out.json_line(&as_json(&trace, &bodies, &subchats))?);
        }
        for line in lines(&trace, &bodies, &subchats, app.now()) {
            out.line(&line)?;
        }
        if trace.truncated {
            out.remark("more spans are stored than are shown: the earliest are listed");
        }
        Ok(())
    })
    .await
}

async fn bodies(app: &App, trace: &Trace) -> Result<HashMap<i64, Vec<u8>>, Failure> {
    let spans = trace.entries.iter().filter_map(|entry| entry.span.as_ref());
    let ids: Vec<i64> = spans.map(|span| span.id).take(BODIES).collect();
    Ok(app.span_bodies(&ids).await?)
}

/// Which runs are subchats, as the window names them.
fn conversations(entries: &[Entry], bodies: &HashMap<i64, Vec<u8>>) -> Vec<Subchat> {
    #[derive(Deserialize)]
    struct Body {
        thread_id: Option<String>,
    }
    let thread = |entry: &Entry| {
        let body = bodies.get(&entry.span.as_ref()?.id)?;
        serde_json::from_slice::<Body>(body).ok()?.thread_id
    };
    let threads: Vec<Option<String>> = entries.iter().map(thread).collect();
    let ended = |entry: &Entry| matches!(&entry.span, Some(span) if span.ended_at.is_some());
    let runs: Vec<Run<'_>> = entries
        .iter()
        .zip(&threads)
        .map(|(Entry { span, place, .. }, thread)| {
            let above = place.parent.and_then(|at| entries.get(at));
            let status = span.as_ref().and_then(|span| span.status.as_deref());
            let has_ended = matches!(span, Some(span) if span.ended_at.is_some());
            let look = span_state(status, has_ended, above.is_some_and(ended));
            Run {
                is_agent: matches!(span, Some(span) if span.kind == "agent"),
                parent: place.parent,
                thread: thread.as_deref(),
                goes_on: matches!(look, Look::Running | Look::Waiting),
            }
        })
        .collect();
    subchats(&runs)
}

fn as_json(trace: &Trace, bodies: &HashMap<i64, Vec<u8>>, subchats: &[Subchat]) -> Value {
    json!({
        "trace_id": plain(&trace.trace_id),
        "spans": trace.entries.iter().filter(|entry| entry.span.is_some()).count(),
        "truncated": trace.truncated,
        "duration_ms": trace.duration_ms,
        "waiting_ms": trace.waiting_ms,
        "roots": nested(&trace.entries, bodies, subchats),
    })
}

fn lines(
    trace: &Trace,
    bodies: &HashMap<i64, Vec<u8>>,
    subchats: &[Subchat],
    now: Timestamp,
) -> Vec<String> {
    let mut text = vec![heading(&format!(
        "{}: {} lines, {}, {} waiting for a decision",
        plain(&trace.trace_id),
        trace.entries.len(),
        seconds(trace.duration_ms),
        seconds(trace.waiting_ms)
    ))];
    let mut agent = None;
    for (entry, subchat) in trace.entries.iter().zip(subchats) {
        let who = who(entry);
        if agent.as_ref() != Some(&who) {
            text.push(format!("  {who}"));
            agent = Some(who);
        }
        let body = entry.span.as_ref().and_then(|span| bodies.get(&span.id));
        text.push(line(entry, *subchat, &fault(body), now));
    }
    text
}

fn who(entry: &Entry) -> String {
    let pair = match (&entry.span, &entry.gate) {
        (Some(span), _) => (&span.ws, &span.agent),
        (None, Some(gate)) => (&gate.ws, &gate.agent),
        (None, None) => return String::new(),
    };
    format!("{}/{}", pair.0, pair.1)
}

/// One line: place, kind, name, state and time.
fn line(entry: &Entry, subchat: Subchat, fault: &str, now: Timestamp) -> String {
    let indent = "  ".repeat(entry.place.depth + 2);
    let mut words = Vec::new();
    let state = entry.gate.as_ref().map(|gate| gate.state.as_str());
    let decides = matches!(state, Some("pending" | "holding" | "queued"));
    match (&entry.span, &entry.gate) {
        (Some(span), _) => {
            let kind = match subchat.is_one {
                true => "subchat",
                false => span.kind.as_str(),
            };
            words.push(format!("{kind} {}", plain(&span.name)));
            let time = match span.ended_at {
                Some(end) => seconds((end - span.started_at).max(0)),
                None => "not ended".to_owned(),
            };
            words.push(time);
            words.extend(
                span.status.as_deref().filter(|status| *status != "ok").map(
                    |status| match status {
                        "error" => wrong(fault),
                        "denied" | "timeout" | "incomplete" => wrong(status),
                        "waiting" if !decides => doubtful(&awaited(subchat.awaited)),
                        other => doubtful(other),
                    },
                ),
            );
        }
        (None, Some(gate)) => {
            let tool = gate.tool.as_deref().map_or("question".to_owned(), plain);
            words.push(format!("request {tool}"));
        }
        (None, None) => {}
    }
    if let Some(gate) = &entry.gate {
        let verdict = gate.verdict.as_deref().unwrap_or(&gate.state);
        let waited = seconds(entry.waiting_ms.unwrap_or(0));
        words.push(if decides {
            let left = when::left(Timestamp(gate.deadline_at), now);
            doubtful(&format!(
                "waiting for a decision since {waited}, {left} left"
            ))
        } else {
            format!(
                "{} after {waited} ({})",
                plain(verdict),
                plain(&gate.request_id)
            )
        });
    }
    for repair in &entry.place.repairs {
        words.push(doubtful(&repair.as_str().replace('_', " ")));
    }
    format!("{indent}{}", words.join(", "))
}

/// `error` with its code, and the names of what is missing.
fn fault(body: Option<&Vec<u8>>) -> String {
    let body = body.and_then(|body| json_value(body)).unwrap_or_default();
    let error = &body["error"];
    let mut words = "error".to_owned();
    match &error["code"] {
        Value::String(code) => words.push_str(&format!(" {}", plain(code))),
        Value::Number(code) => words.push_str(&format!(" {code}")),
        _ => {}
    }
    let attributes = &body["attributes"]["missing_keys"];
    let missing = error["missing_keys"].as_array().or(attributes.as_array());
    let names = missing.into_iter().flatten().filter_map(Value::as_str);
    let names: Vec<String> = names.take(MISSING).map(plain).collect();
    if !names.is_empty() {
        words.push_str(&format!(", missing {}", names.join(" ")));
    }
    words
}

/// What a span waits for that waits for no decision.
fn awaited(subchats: u32) -> String {
    match subchats {
        0 => "waiting".to_owned(),
        1 => "waits for 1 subchat".to_owned(),
        many => format!("waits for {many} subchats"),
    }
}

fn seconds(ms: i64) -> String {
    if ms < 1_000 {
        return format!("{ms} ms");
    }
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

/// What is known of a request in a trace.
fn gate(entry: &Entry) -> Option<Value> {
    let gate = entry.gate.as_ref()?;
    let by: Option<Value> = gate
        .decided_by
        .as_deref()
        .and_then(|by| serde_json::from_str(by).ok());
    let by = by.map(|by: Value| {
        let field = |name: &str| by.get(name).and_then(Value::as_str).map(plain);
        json!({ "name": field("name"), "key": field("key") })
    });
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("request_id", json!(plain(&gate.request_id)));
    put("tool", json!(gate.tool.as_deref().map(plain)));
    put("risk", json!(gate.risk));
    put("state", json!(gate.state));
    put("verdict", json!(gate.verdict.as_deref().map(plain)));
    put("origin", json!(gate.origin));
    put("decided_by", json!(by));
    put("stored_at", json!(Timestamp(gate.stored_at).rfc3339()));
    let decided = gate.decided_at.map(|at| Timestamp(at).rfc3339());
    put("decided_at", json!(decided));
    put("waiting_ms", json!(entry.waiting_ms));
    Some(Value::Object(fields))
}
