//! Exports the answers that this console knows to a collector, each at least once.
//!
//! It reads what is stored, and what the collector does not take waits in the store, so that decisions go on.

use std::time::Duration;

use countersign_core::store::answered::AnsweredRow;
use countersign_core::{App, AppEvent, Fault};
use countersign_otlp::export::{Answered, Collector, CollectorError, Decider, approval_spans};
use serde_json::Value;
use tokio::sync::{broadcast, watch};

/// Answers sent at a time.
const PAGE: i64 = 200;
/// The store is looked at this often when nothing is heard.
const LOOK: Duration = Duration::from_secs(5);
/// And not more often than this.
const PAUSE: Duration = Duration::from_millis(200);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// Works until it is stopped; a page that is being exported then is exported to its end.
pub(super) async fn run(app: App, collector: Collector, mut stop: watch::Receiver<bool>) {
    let mut events = app.subscribe();
    let mut known = app.caught_up();
    tokio::select! {
        _ = stop.wait_for(|stop| *stop) => return,
        // What was answered before it was switched on is left out; so the past must be known first.
        _ = known.wait_for(|known| *known) => {}
    }
    let mut wait = FIRST_RETRY;
    while !*stop.borrow() {
        let exported = export_page(&app, &collector).await;
        let next = async {
            match &exported {
                Ok(true) => {}
                Ok(false) => something_changes(&mut events).await,
                Err(error) => {
                    tracing::warn!(%error, retry_in_s = wait.as_secs(), "answers are not sent to the collector");
                    tokio::time::sleep(wait).await;
                }
            }
            tokio::time::sleep(PAUSE).await;
        };
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = next => {}
        }
        wait = match exported {
            Ok(_) => FIRST_RETRY,
            Err(_) => (wait * 2).min(LONGEST_RETRY),
        };
    }
}

/// Why a page was not exported.
#[derive(Debug, thiserror::Error)]
enum ExportFault {
    #[error(transparent)]
    Store(#[from] Fault),
    #[error(transparent)]
    Collector(#[from] CollectorError),
}

/// Exports one page; whether there was one.
async fn export_page(app: &App, collector: &Collector) -> Result<bool, ExportFault> {
    let from = app.answers_exported().await?;
    let (rows, up_to) = app.answered_after(from, PAGE).await?;
    if up_to == from {
        return Ok(false);
    }
    let answered: Vec<Answered> = rows.into_iter().filter_map(answered).collect();
    if !answered.is_empty() {
        let console = app.identity().console_id.to_string();
        let spans = approval_spans(&console, env!("CARGO_PKG_VERSION"), &answered);
        match collector.send(spans).await {
            Err(error @ CollectorError::Never(_)) => {
                // To send them again would hold up all that follow.
                tracing::error!(%error, answers = answered.len(), "these answers are left out");
            }
            sent => sent?,
        }
    }
    app.note_answers_exported(up_to).await?;
    Ok(true)
}

fn answered(row: AnsweredRow) -> Option<Answered> {
    let by: Option<Value> = row
        .decided_by
        .as_deref()
        .and_then(|by| serde_json::from_str(by).ok());
    let text = |name: &str| Some(by.as_ref()?.get(name)?.as_str()?.to_owned());
    let decider = text("key").map(|key| Decider {
        name: text("name").unwrap_or_default(),
        key,
    });
    Some(Answered {
        workspace: row.ws,
        agent: row.agent,
        request_id: row.request_id,
        tool: row.tool,
        risk: row.risk?,
        trace_id: row.trace_id,
        parent_span_id: row.span_id,
        call_id: row.call_id,
        request_digest: row.request_digest?,
        args_digest: row.args_digest,
        decision_id: row.decision_id,
        verdict: row.verdict.unwrap_or_else(|| "void".to_owned()),
        origin: row.origin,
        decider,
        rule: row.rule_id.zip(row.rule_version),
        stored_at: row.asked_at?,
        answered_at: row.stored_at,
    })
}

/// Waits for news, or for the next look; news that was missed is news.
async fn something_changes(events: &mut broadcast::Receiver<AppEvent>) {
    if let Ok(Err(broadcast::error::RecvError::Closed)) =
        tokio::time::timeout(LOOK, events.recv()).await
    {
        // The console stops, and says so in a moment.
        tokio::time::sleep(LOOK).await;
    }
}
