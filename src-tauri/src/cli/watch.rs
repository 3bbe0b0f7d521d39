//! `watch`: what happens, as it happens.
//!
//! It follows the audit log, where every change of state is a row.

use std::collections::HashMap;
use std::time::Duration;

use countersign_core::App;
use countersign_core::domain::alarm::sentence;
use countersign_core::domain::facts::RequestSummary;
use countersign_core::ops::votes::shown::votes_are_hidden;
use countersign_core::store::audit::Row;
use countersign_sdk::PROBE;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::config::Settings;
use super::console::reading;
use super::failure::Failure;
use super::line::{add_findings, agent, fields, votes, what};
use super::output::{Output, doubtful, plain, wrong};
use super::serve::Stop;

/// How often the log is looked at: soon enough for an eye, rare enough for a laptop.
const LOOK: Duration = Duration::from_millis(100);
const AT_ONCE: i64 = 500;
/// How often it is looked whether a console runs whose log there is to follow.
const RUNS_LOOK: Duration = Duration::from_secs(1);

const NOBODY: &str = "no console runs in this folder; start `countersign serve` or the window, and this continues automatically";

/// Follows until SIGTERM or SIGINT.
pub(crate) async fn run(settings: &Settings, out: Output) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    reading(settings, false, async |app| {
        tokio::select! {
            failed = follow(app, out) => failed,
            () = stop.asked() => Ok(()),
        }
    })
    .await
}

async fn follow(app: &App, out: Output) -> Result<(), Failure> {
    let mut seq = app.audit_head().await?.seq;
    // Said only now: what happens from here on is reported.
    out.remark("following; Ctrl+C ends");
    let (mut looked, mut runs) = (None::<Instant>, true);
    loop {
        if looked.is_none_or(|at| at.elapsed() >= RUNS_LOOK) {
            let before = std::mem::replace(&mut runs, app.data().is_running());
            match (before, runs) {
                (true, false) => out.caution(NOBODY),
                (false, true) => out.caution("a console runs in this folder; following"),
                _ => {}
            }
            looked = Some(Instant::now());
        }
        let rows = app.audit_after(seq, AT_ONCE).await?;
        let Some(last) = rows.last() else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        seq = last.seq;
        let mut known = HashMap::new();
        for row in rows.iter().filter(|row| is_shown(row)) {
            let line = line_of(app, &mut known, row).await;
            if line.is_some_and(|line| line.tool.as_deref() == Some(PROBE)) {
                continue;
            }
            if out.json {
                out.json_line(&event(row, line))?;
            } else {
                out.line(&row_text(row, line))?;
            }
        }
    }
}

/// Arrivals, decisions, receipts and alarms; not the console's own housekeeping.
fn is_shown(row: &Row) -> bool {
    const TOLD: [&str; 20] = [
        "request",
        "rejected",
        "conflict",
        "withdraw",
        "tighten",
        "hold",
        "undo",
        "decide",
        "answer",
        "decision",
        "expire",
        "late",
        "receipt",
        "alarm",
        "alarm_acknowledged",
        "alarm_cleared",
        "hold_dropped",
        "taken_back",
        "cast",
        "vote",
    ];
    TOLD.contains(&row.action.as_str())
}

async fn line_of<'k>(
    app: &App,
    known: &'k mut HashMap<String, Option<RequestSummary>>,
    row: &Row,
) -> Option<&'k RequestSummary> {
    if !known.contains_key(&row.subject) {
        // An alarm may be about something other than a request.
        let line = app.find(&row.subject).await.ok();
        known.insert(row.subject.clone(), line);
    }
    known.get(&row.subject).and_then(Option::as_ref)
}

/// Whether a vote of somebody else must stay hidden from an operator who has yet to vote.
fn is_hidden(row: &Row, line: Option<&RequestSummary>) -> bool {
    row.action == "vote" && line.is_none_or(votes_are_hidden)
}

fn event(row: &Row, line: Option<&RequestSummary>) -> Value {
    let hidden = is_hidden(row, line);
    let detail: Value = match hidden {
        true => json!({}),
        false => serde_json::from_str(&row.detail).unwrap_or_default(),
    };
    let actor = (!hidden).then(|| plain(&row.actor));
    let mut event = Map::new();
    event.insert("event".to_owned(), json!(row.action));
    event.insert("seq".to_owned(), json!(row.seq));
    event.insert("at".to_owned(), json!(row.at));
    event.insert("actor".to_owned(), json!(actor));
    event.insert("subject".to_owned(), json!(plain(&row.subject)));
    event.insert("detail".to_owned(), detail);
    if row.action == "alarm" {
        let code = row_code(row);
        event.insert(
            "sentence".to_owned(),
            json!(code.map(|code| sentence(&code, &row.subject))),
        );
    }
    if let Some(line) = line {
        event.extend(fields(line));
        add_findings(&mut event, line);
    }
    Value::Object(event)
}

fn row_code(row: &Row) -> Option<String> {
    let detail: Value = serde_json::from_str(&row.detail).ok()?;
    Some(detail.get("code")?.as_str()?.to_owned())
}

fn row_text(row: &Row, line: Option<&RequestSummary>) -> String {
    let at = row.at.get(11..19).unwrap_or_default();
    let subject = line.map_or_else(
        || plain(&row.subject),
        |line| {
            let place = agent(line);
            let slash = if place.is_empty() { "" } else { "/" };
            format!("{place}{slash}{}", line.request_id)
        },
    );
    let tool = line.map(what).unwrap_or_default();
    let more = more(row, line);
    let text = format!("{at} {:<9} {subject} {tool}{more}", row.action);
    match row.action.as_str() {
        "alarm" | "conflict" => wrong(&text),
        "request" => match line.map(|line| line.risk.as_str()) {
            Some("high" | "critical") => doubtful(&text),
            _ => text,
        },
        _ => text,
    }
}

fn more(row: &Row, line: Option<&RequestSummary>) -> String {
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let word = |name: &str| detail.get(name).and_then(Value::as_str).map(plain);
    match row.action.as_str() {
        "request" => line.map_or_else(String::new, |line| format!(", risk {}", line.risk)),
        "alarm" => word("code").map_or_else(String::new, |code| {
            let sentence = sentence(&code, &row.subject);
            format!(": {code}. {sentence}")
        }),
        "rejected" | "alarm_acknowledged" | "alarm_cleared" => {
            word("code").map_or_else(String::new, |code| format!(": {code}"))
        }
        "taken_back" => word("why").map_or_else(String::new, |why| format!(": {why}")),
        "receipt" => word("stage").map_or_else(String::new, |stage| format!(": {stage}")),
        "vote" => line.map_or_else(String::new, votes),
        "decide" | "hold" | "answer" | "cast" | "decision" => {
            let verdict = word("verdict").or_else(|| line?.verdict.as_deref().map(plain));
            verdict.map_or_else(String::new, |verdict| format!(": {verdict}"))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_that_was_taken_back_says_why() {
        let row = Row {
            seq: 1,
            prev: Vec::new(),
            hash: Vec::new(),
            at: "2026-11-21T12:00:00.000Z".to_owned(),
            actor: "U".to_owned(),
            action: "taken_back".to_owned(),
            subject: "acme/bot/r1".to_owned(),
            detail: r#"{"why":"panic is on"}"#.to_owned(),
        };
        assert!(row_text(&row, None).ends_with(": panic is on"));
    }
}
