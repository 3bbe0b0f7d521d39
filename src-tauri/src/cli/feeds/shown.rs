//! Feeds as a command prints them.

use countersign_core::App;
use countersign_core::domain::Timestamp;
use countersign_core::ops::reader;
use countersign_core::store::feed_events::{KeptEvent, of_feed};
use countersign_core::store::feeds::{FeedRow, all};
use countersign_feeds::Backlog;
use countersign_feeds::config::{Feed, Target};
use serde_json::{Value, json};

use super::super::failure::Failure;
use super::super::output::{Output, plain};
use super::{store_failed, wanted};
use crate::cli::config::Settings;

fn time(at: Option<i64>) -> Option<String> {
    at.map(|at| Timestamp(at).rfc3339())
}

/// Where it sends, without what may be secret.
fn to(feed: &Feed) -> String {
    let of = feed.address();
    match feed.to {
        Target::File(_) => of["path"].as_str().unwrap_or_default().to_owned(),
        _ => format!(
            "{}://{}:{}",
            of["scheme"].as_str().unwrap_or_default(),
            of["host"].as_str().unwrap_or_default(),
            of["port"]
        ),
    }
}

async fn as_json(app: &App, feed: &Feed, row: Option<&FeedRow>) -> Result<Value, Failure> {
    let kept = of_feed(reader::store(app), &feed.name)
        .await
        .map_err(store_failed)?;
    let (dead, open): (Vec<_>, Vec<_>) = kept.iter().partition(|kept| kept.state == "dead");
    let (mut backlog, mut rows) = (Backlog::default(), usize::MAX);
    let counted = backlog.count(reader::store(app), feed, &mut rows).await;
    let (count, oldest) = counted.map_err(store_failed)?;
    Ok(json!({
        "name": feed.name,
        "kind": feed.kind(),
        "to": plain(&to(feed)),
        "events": feed.events,
        "workspaces": feed.workspaces,
        "state": row.map_or("ok", |row| row.state.as_str()),
        "cursor": row.map(|row| row.cursor),
        "pending": count,
        "refused": open.iter().filter(|kept| kept.tries > 0).count(),
        "dead": dead.len(),
        "oldest_pending_at": oldest,
        "last_taken_at": row.and_then(|row| time(row.last_taken_at)),
        "last_error": row.and_then(|row| row.last_error.as_deref()).map(plain),
    }))
}

async fn lines(app: &App, feeds: &[Feed]) -> Result<Vec<Value>, Failure> {
    let rows = all(reader::store(app)).await.map_err(store_failed)?;
    let mut lines = Vec::new();
    for feed in feeds {
        let row = rows.iter().find(|row| row.name == feed.name);
        lines.push(as_json(app, feed, row).await?);
    }
    Ok(lines)
}

pub(super) async fn list(app: &App, out: Output, feeds: &[Feed]) -> Result<(), Failure> {
    for line in lines(app, feeds).await? {
        match out.json {
            true => out.json_line(&line)?,
            false => out.line(&sentence(&line))?,
        }
    }
    Ok(())
}

fn sentence(line: &Value) -> String {
    let text = |name: &str| line[name].as_str().unwrap_or_default();
    let error = match text("last_error") {
        "" => String::new(),
        error => format!(", last error {error}"),
    };
    format!(
        "{:<16} {:<8} {} to {}: {} waiting, {} refused, {} dead{error}",
        text("name"),
        text("state"),
        text("kind"),
        text("to"),
        line["pending"],
        line["refused"],
        line["dead"],
    )
}

/// What `doctor` says of them: whether each is well.
pub(crate) async fn states(settings: &Settings, app: &App) -> Result<Vec<(bool, String)>, Failure> {
    let lines = lines(app, &wanted(settings)?).await?;
    let is_well = |line: &Value| line["state"] == "ok" && line["dead"] == 0;
    Ok(lines
        .iter()
        .map(|line| (is_well(line), sentence(line)))
        .collect())
}

pub(super) fn failed(out: Output, kept: &[KeptEvent]) -> Result<(), Failure> {
    for event in kept.iter().filter(|event| event.tries > 0) {
        let error = event.last_error.as_deref().map(plain);
        let (first, last) = (time(Some(event.first_at)), time(Some(event.last_at)));
        match out.json {
            true => out.json_line(&json!({
                "id": event.id, "seq": event.seq, "type": event.kind, "subject": plain(&event.subject),
                "tries": event.tries, "first_at": first, "last_at": last, "last_error": error, "state": event.state,
            }))?,
            false => out.line(&format!(
                "{} {} {} {}: {} tries, {} ({})",
                last.unwrap_or_default(),
                event.id,
                event.kind,
                plain(&event.subject),
                event.tries,
                error.unwrap_or_default(),
                event.state,
            ))?,
        }
    }
    Ok(())
}

/// What to do about a try that failed.
pub(super) fn fix(error: &str) -> &'static str {
    match error {
        "address_forbidden" => {
            "its name has an address that nothing may be sent to; use another host"
        }
        "tls" => "its certificate is not accepted; check its name, its end and tls_ca",
        "timeout" => "it did not answer in time; check the receiver, or set a larger timeout_s",
        "status" => "the receiver refused it; check its address, headers_file and its log",
        "write" => "the file or the secret cannot be written; check the folder and its owner",
        _ => "nobody answers there; check the address and whether the receiver runs",
    }
}
