//! The request that an ask with a key waits for: the one that its key left, or a new one.

use std::sync::Arc;

use countersign_wire::Risk;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::GateError;
use crate::asking::withdrawal;
use crate::clock::Timer;
use crate::inner::Inner;
use crate::journal::{Entry, Journal};
use crate::judge::Asked;

pub(crate) struct Resumed {
    pub(crate) asked: Asked,
    pub(crate) timer: Timer,
    /// Held until the ask ends.
    pub(crate) entry: Arc<Entry>,
}

/// `asked` and its timer are what a new request would be. Errors: `already_waiting`, `journal`, `invalid_request`.
pub(crate) async fn resume(
    inner: &Inner,
    journal: Journal,
    key: String,
    asked: Asked,
    timer: Timer,
) -> Result<Resumed, GateError> {
    let (entry, pending) = on_disk(move || journal.hold(&key)).await?;
    let entry = Arc::new(entry);
    if let Some(pending) = pending {
        if asks_the_same(&pending.asked, &asked) && risk(&asked) <= risk(&pending.asked) {
            let timer = Timer::resume(pending.asked.lifetime, pending.passed);
            return Ok(Resumed {
                asked: pending.asked,
                timer,
                entry,
            });
        }
        let reason = "the same key asks for another call".to_owned();
        if !inner.outbox.post(withdrawal(&pending.asked, Some(reason))) {
            return Err(GateError::TooManyWaiting {
                limit: inner.max_waiting,
            });
        }
        end_entry(Some(Arc::clone(&entry))).await?;
    }
    let writing = Arc::clone(&entry);
    let asked = on_disk(move || writing.begin(&asked).map(|()| asked)).await?;
    Ok(Resumed {
        asked,
        timer,
        entry,
    })
}

/// Marks the answer as handed out, where there is an entry. Error: `journal`.
pub(crate) async fn end_entry(entry: Option<Arc<Entry>>) -> Result<(), GateError> {
    match entry {
        Some(entry) => on_disk(move || entry.end()).await,
        None => Ok(()),
    }
}

/// Flushing takes some milliseconds, in which others go on.
pub(crate) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GateError> + Send + 'static,
) -> Result<T, GateError> {
    let done = spawn_blocking(work).await;
    done.map_err(|error| GateError::Journal {
        why: error.to_string(),
    })?
}

/// Kind, tool or question, and arguments.
fn asks_the_same(one: &Asked, other: &Asked) -> bool {
    one.args_digest == other.args_digest && about(one) == about(other)
}

/// A card of less risk is another way to approve.
fn risk(asked: &Asked) -> Option<Risk> {
    let body: Value = serde_json::from_slice(&asked.payload).ok()?;
    body["risk"].as_str().map(Risk::effective)
}

fn about(asked: &Asked) -> Option<[Value; 5]> {
    let body: Value = serde_json::from_slice(&asked.payload).ok()?;
    let paths = [
        "/kind",
        "/tool/name",
        "/tool/namespace",
        "/question",
        "/response_schema",
    ];
    Some(paths.map(|path| body.pointer(path).cloned().unwrap_or_default()))
}
