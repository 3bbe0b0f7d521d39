//! One request for a person at a terminal, in the order of the operator's desk.
//!
//! The agent's words are kept apart from facts and marked as such.

use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::{Approvals, Contradicting, RequestDetails, ShownVote};
use countersign_wire::{KeptJson, json_value};
use serde_json::Value;

use super::super::line::{agent, decided, what};
use super::super::output::{doubtful, heading, plain, wrong};
use super::super::when;
use super::{asked, on_bus, receipt};
use countersign_view::secrets::Secrets;

/// Bytes that are shown of a request that is too large.
const BEGIN: usize = 4_096;

/// The text, line by line.
pub(super) fn lines(
    story: &RequestDetails,
    request: Option<&KeptJson>,
    warnings: &[Value],
    now: Timestamp,
    secrets: Secrets,
) -> Vec<String> {
    let mut text = Vec::new();
    let request = request.and_then(KeptJson::value);
    head(story, now, secrets, &mut text);
    match &request {
        _ if story.line.error_code.as_deref() == Some("too_large") && story.removed.is_none() => {
            begin_of_raw(story, secrets, &mut text);
        }
        Some(request) => {
            asked::lines(request, &story.line, secrets, &mut text);
            // Of two fields with one name a reader keeps one.
            if story.line.error_code.as_deref() == Some("duplicate_key") {
                raw("Bytes as received", story, secrets, &mut text);
            }
        }
        None => match &story.removed {
            Some((at, digest)) => text.push(doubtful(&format!(
                "What was asked was removed by retention on {}; its digest is {digest}",
                when::shown(*at)
            ))),
            None => raw("Bytes as received, not JSON", story, secrets, &mut text),
        },
    }
    if !warnings.is_empty() {
        text.push(heading("Warnings"));
        text.extend(
            warnings
                .iter()
                .map(|warning| match warning["message"].as_str() {
                    Some(words) => {
                        let code = warning["code"].as_str().unwrap_or_default();
                        doubtful(&format!("  {words} ({code})"))
                    }
                    None => doubtful(&format!("  {warning}")),
                }),
        );
    }
    votes(story, &mut text);
    decision(story, secrets, &mut text);
    delivery(story, secrets, &mut text);
    if let Some(id) = story.line.trace_id.as_deref().map(plain) {
        text.push(heading("Trace"));
        text.push(format!("  {id} (countersign trace {id})"));
    }
    text
}

/// Why the agent withdrew the request, in its words.
pub(super) fn withdrawn(words: &str, secrets: Secrets) -> Vec<String> {
    let mut text = vec![heading("The agent says why it withdrew")];
    asked::block(words, secrets, &mut text);
    text
}

fn raw(title: &str, story: &RequestDetails, secrets: Secrets, text: &mut Vec<String>) {
    text.push(heading(title));
    asked::block(&String::from_utf8_lossy(&story.line.raw), secrets, text);
}

/// What is too large to be read is too large for a terminal.
fn begin_of_raw(story: &RequestDetails, secrets: Secrets, text: &mut Vec<String>) {
    let raw = &story.line.raw;
    text.push(heading(&format!(
        "The first {BEGIN} of {} bytes as received; --json has all",
        raw.len()
    )));
    let begin = raw.get(..BEGIN).unwrap_or(raw);
    asked::block(&String::from_utf8_lossy(begin), secrets, text);
}

fn head(story: &RequestDetails, now: Timestamp, secrets: Secrets, text: &mut Vec<String>) {
    let line = &story.line;
    let place = agent(line);
    let slash = if place.is_empty() { "" } else { "/" };
    text.push(heading(&format!(
        "{}, risk {}: {place}{slash}{}",
        what(line),
        line.risk,
        line.request_id
    )));
    let deadline = Timestamp(line.deadline_at);
    let state = match line.state.as_str() {
        "pending" | "holding" | "queued" => {
            format!(
                "{}, {} left (until {})",
                line.state,
                when::left(deadline, now),
                when::shown(deadline)
            )
        }
        _ => line.state.clone(),
    };
    text.push(format!(
        "  {state}; stored {} as request {}",
        when::shown(Timestamp(line.stored_at)),
        line.request_seq
    ));
    if let Some(code) = &line.error_code {
        let detail = line
            .error_detail
            .as_deref()
            .map(|detail| secrets.line(detail))
            .unwrap_or_default();
        text.push(wrong(&format!(
            "  rejected: {code}, {detail}; it can never be approved"
        )));
    }
}

fn votes(story: &RequestDetails, text: &mut Vec<String>) {
    let Some(approvals) = Approvals::of(&story.line) else {
        return;
    };
    let Approvals {
        required,
        given,
        mine,
        ..
    } = approvals;
    text.push(heading("Votes"));
    let yours = if mine {
        "you have voted"
    } else {
        "you have not voted"
    };
    text.push(format!("  {given} of {required}, {yours}"));
    text.extend(approvals.advice().map(|advice| format!("  {advice}")));
    for vote in &story.votes {
        let ShownVote::Open(vote) = vote else {
            continue;
        };
        let word = |text: &Option<String>| text.as_deref().map(plain).unwrap_or_default();
        text.push(format!(
            "  {} by {} at {}",
            word(&vote.verdict),
            word(&vote.name),
            when::shown(Timestamp(vote.at))
        ));
    }
    if story.votes.contains(&ShownVote::Hidden) {
        text.push("  the votes are shown after you have voted".to_owned());
    }
}

fn decision(story: &RequestDetails, secrets: Secrets, text: &mut Vec<String>) {
    let line = &story.line;
    if let Some(fault) = story
        .decision
        .as_ref()
        .and_then(|decision| decision.fault.as_deref())
    {
        text.push(wrong(&format!(
            "The stored decision does not verify: {}",
            plain(fault)
        )));
    }
    let Some(verdict) = &line.verdict else { return };
    text.push(heading("Decision"));
    let name = decided(line);
    let at = line
        .decided_at
        .map(|at| format!(" at {}", when::shown(Timestamp(at))));
    let by = name.map(|name| format!(" by {name}"));
    text.push(format!(
        "  {}{}{}",
        plain(verdict),
        by.unwrap_or_default(),
        at.unwrap_or_default()
    ));
    text.extend(by_rule(story));
    if let Some(message) = &line.message {
        asked::block(message, secrets, text);
    }
    let body: Option<Value> = story.given().and_then(json_value);
    let scope = body.as_ref().and_then(|body| body.get("scope")?.as_str());
    if let Some(scope) = scope.filter(|scope| *scope != "once") {
        text.push(format!(
            "  meant for: {}; the next call still asks",
            plain(scope)
        ));
    }
    for (name, title) in [
        ("edited_args", "Arguments that may run instead"),
        ("response", "Answer"),
    ] {
        if let Some(value) = body.as_ref().and_then(|body| body.get(name)) {
            text.push(heading(title));
            asked::value(value, secrets, "  ", text);
        }
    }
}

/// What decided where no person did, and the command that shows it.
fn by_rule(story: &RequestDetails) -> Option<String> {
    let line = &story.line;
    let id = plain(line.rule_id.as_deref()?);
    let ws = &line.ws;
    Some(match (line.origin.as_deref(), line.rule_version) {
        (Some("rule"), Some(version)) => {
            let name = story.rule_name.as_deref().map(plain);
            let named = name.map_or_else(|| id.clone(), |name| format!("{name} ({id})"));
            format!(
                "  by rule {named}, version {version}: countersign rules show {id} --workspace {ws}"
            )
        }
        (Some("setup_key"), _) => {
            format!("  by setup key {id}: countersign setup list --workspace {ws}")
        }
        _ => format!("  by {id}"),
    })
}

/// Agents act by this one.
fn instead(current: &Contradicting, secrets: Secrets, text: &mut Vec<String>) {
    let said = on_bus(current, secrets);
    let word = |name: &str| said[name].as_str().unwrap_or("unknown").to_owned();
    text.push(wrong(&format!(
        "  not on bus: decision {} on the bus is a different one, {} by {} at {}",
        current.stream_seq,
        word("verdict"),
        word("by"),
        when::shown(Timestamp(current.at))
    )));
    if let Some(message) = said["message"].as_str() {
        text.push(format!("            {message}"));
    }
}

fn delivery(story: &RequestDetails, secrets: Secrets, text: &mut Vec<String>) {
    text.push(heading("Delivery"));
    let line = &story.line;
    text.push(format!(
        "  stored    {}",
        when::shown(Timestamp(line.stored_at))
    ));
    if let Some(at) = line.decided_at {
        text.push(format!("  decided   {}", when::shown(Timestamp(at))));
    }
    if let Some(current) = &story.contradicting {
        instead(current, secrets, text);
    } else if let Some(seq) = line.stream_seq {
        text.push(format!("  on bus    as decision {seq}"));
    } else if let Some(out) = &story.outgoing {
        let why = out.last_error.as_deref().map(plain).unwrap_or_default();
        text.push(doubtful(&format!(
            "  {} in the outbox, not on the bus {why}",
            out.state
        )));
    }
    for stored in &story.receipts {
        let receipt = receipt(stored, secrets);
        let message = receipt
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let at = when::shown(Timestamp(stored.at));
        text.push(format!("  {:<9} {at} {message}", stored.stage));
        let degraded = receipt["degraded"].as_array().into_iter().flatten();
        let degraded: Vec<&str> = degraded.filter_map(Value::as_str).collect();
        if !degraded.is_empty() {
            text.push(doubtful(&format!(
                "            degraded: {}",
                degraded.join(", ")
            )));
        }
    }
    for alarm in &story.alarms {
        let at = when::shown(Timestamp(alarm.at));
        text.push(wrong(&format!("  alarm     {at} {}", alarm.code)));
    }
}
