//! Removes payloads that need not be kept any longer, a few at a time, through the one writer.
//!
//! It runs only where decisions are made, gives way to people, and removes only what the audit log names in the same
//! transaction.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use serde_json::json;

use super::writer_state::{Tx, WriterState};
use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::retention::{Kind, Retention, goes_before};
use crate::runtime::App;
use crate::store::retention::{self, Gone, Item};
use crate::store::{Reader, StoreError, audit};

/// Removed in one transaction: a verdict waits no longer than for these.
fn at_once(kind: Kind) -> usize {
    match kind {
        // A piece of them is many already.
        Kind::Spans => 1,
        Kind::Requests | Kind::Receipts | Kind::Quarantine => 100,
    }
}

/// Between two transactions, so that others come first.
const PAUSE: Duration = Duration::from_millis(20);
const FIRST: Duration = Duration::from_secs(5 * 60);
/// After a run that could not be, or failed.
const AGAIN: Duration = FIRST;
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// The audit action that names what was removed.
pub(crate) const ACTION: &str = "retention";

/// What one run removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Run {
    /// Payloads, receipts, messages and spans.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl App {
    /// Removes what the limits of this console let go, until nothing is left to remove.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` when the store takes no writes, `ErrorCode::Store`.
    pub async fn run_retention(&self, limits: &Retention) -> Result<Run, Fault> {
        let mut run = Run::default();
        for kind in Kind::ALL {
            let limit = limits.of(kind);
            loop {
                let oversized = match limit.bytes() {
                    Some(bytes) => retention::oversized_before(self.reader(), kind, bytes).await?,
                    None => None,
                };
                let Some(before) = goes_before(kind, limit, self.now(), oversized) else {
                    break;
                };
                let found = retention::find(self.reader(), kind, before).await?;
                let mut removed = 0;
                for items in found.chunks(at_once(kind)) {
                    let items = items.to_vec();
                    let gone =
                        self.ask(move |writer, batch| remove(writer, batch, kind, &items, before));
                    let gone = gone.await?;
                    removed += gone.count;
                    run.count += gone.count;
                    run.bytes += gone.bytes;
                    tracing::info!(
                        kind = kind.as_str(),
                        run.count,
                        run.bytes,
                        "payloads removed by retention"
                    );
                    tokio::time::sleep(PAUSE).await;
                }
                if removed == 0 {
                    break;
                }
            }
        }
        Ok(run)
    }

    /// Runs once a day for as long as the console does.
    pub(crate) async fn keep_retention(self) {
        let (stop, limits) = (self.inner.stop.clone(), self.inner.options.retention);
        let weak = std::sync::Arc::downgrade(&self.inner);
        drop(self);
        let mut wait = FIRST;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
            // Where nothing is decided nothing is removed either; the day's run waits for a better moment.
            wait = AGAIN;
            let Some(inner) = weak.upgrade() else { return };
            let app = Self { inner };
            if app.health().borrow().read_only.is_some() || !*app.caught_up().borrow() {
                continue;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                done = app.run_retention(&limits) => match done {
                    Ok(_) => wait = EVERY,
                    Err(error) => tracing::warn!(%error, "retention stopped; it goes on in five minutes"),
                }
            }
        }
    }
}

/// Removes these and names them in the audit log.
fn remove(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    kind: Kind,
    items: &[Item],
    before: Timestamp,
) -> Result<Run, StoreError> {
    if writer.read_only.is_some() {
        return Ok(Run::default());
    }
    retention::start_erasing(batch.tx)?;
    let mut gone: Vec<Gone> = Vec::with_capacity(items.len());
    for item in items {
        gone.extend(retention::remove(batch.tx, item, batch.now)?);
    }
    retention::stop_erasing(batch.tx)?;
    let bytes: i64 = gone.iter().map(|gone| gone.bytes).sum();
    if !gone.is_empty() {
        let names: Vec<&str> = gone.iter().map(|gone| gone.name.as_str()).collect();
        let auto = writer.identity.auto_key().to_string();
        let mut detail = json!({ "before": before.rfc3339(), "bytes": bytes, "removed": names });
        if kind == Kind::Spans {
            // Their traces: naming each span would take as much room as what goes.
            let traces: BTreeSet<&str> = names.into_iter().collect();
            detail["removed"] = json!(traces);
            detail["spans"] = json!(gone.len());
        }
        batch.record(auto, ACTION, kind.as_str(), detail);
    }
    Ok(Run {
        count: u64::try_from(gone.len()).unwrap_or(0),
        bytes: u64::try_from(bytes).unwrap_or(0),
    })
}

/// The requests whose payload was removed, as the audit log names them.
pub(super) async fn named(reader: &Reader) -> Result<HashSet<String>, StoreError> {
    let mut names = HashSet::new();
    let requests = Kind::Requests.as_str();
    let read = reader.direct(move |sqlite| audit::details_of(sqlite, ACTION, requests));
    for detail in read.await? {
        let detail: serde_json::Value = serde_json::from_str(&detail).unwrap_or_default();
        let removed = detail["removed"].as_array().into_iter().flatten();
        names.extend(removed.filter_map(|name| name.as_str().map(str::to_owned)));
    }
    Ok(names)
}
