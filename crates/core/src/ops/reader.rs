//! What a second reader made of calls, and what it may know of earlier ones. Nothing here decides.

use serde_json::{Value, json};

use super::scrutiny::{APPROVED_MS, is_approval, person, ran};
use super::tool_record::call_of;
use super::writer_state::{Tx, WriterState};
use crate::Fault;
use crate::domain::reader::{ReadCall, ReaderNote, ReaderState, Reading};
use crate::runtime::App;
use crate::store::people_decided;
use crate::store::reader::{self, ReadRow, ReaderCounts};
use crate::store::request_list::RequestSummary;
use crate::store::tool_record::ToolCall;
use crate::store::{Reader, StoreError};

/// Writes it with its rows of the audit log. A card is drawn anew for marks alone.
pub(super) fn keep(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    note: ReaderNote,
) -> Result<(), StoreError> {
    let mut audit = note.audit;
    let is_skipped = |call: &ReadCall| call.reading == Reading::Skipped;
    let (skipped, calls): (Vec<_>, Vec<_>) = note.calls.into_iter().partition(is_skipped);
    if !skipped.is_empty() {
        let rows: Vec<i64> = skipped.iter().map(|call| call.request).collect();
        reader::skip(batch.tx, &json!(rows).to_string())?;
    }
    for mut call in calls {
        let kept = reader::keep(batch.tx, &call, batch.now.0)?;
        if kept == Reading::Skipped {
            continue;
        }
        if let Some(row) = call.audit.as_mut().filter(|_| kept == Reading::Late) {
            row.detail = json!({ "ms": row.detail["ms"], "late": true });
        }
        if kept == Reading::Answered && !call.marks.is_empty() {
            batch.effects.touched.push(call.request);
        }
        let rows = audit.take().into_iter().chain(call.audit);
        rows.for_each(|row| record(writer, batch, row));
    }
    audit.into_iter().for_each(|row| record(writer, batch, row));
    if let Some(state) = &note.state {
        reader::keep_state(batch.tx, state)?;
        batch.effects.status = true;
    }
    Ok(())
}

fn record(writer: &WriterState, batch: &mut Tx<'_>, row: crate::domain::reader::ReaderAudit) {
    let console = writer.identity.auto_key().to_string();
    batch.record(console, row.action, row.subject, row.detail);
}

/// Hands it to the writer and waits until it is durable.
///
/// # Errors
/// `ErrorCode::ReadOnly` when the store takes no writes.
pub async fn note(app: &App, note: ReaderNote) -> Result<(), Fault> {
    app.ask(move |writer, batch| keep(writer, batch, note))
        .await
}

/// How the reader is, and its counts.
pub async fn figures(app: &App) -> Result<(ReaderState, ReaderCounts), Fault> {
    let reader = app.reader();
    Ok((reader::state(reader).await?, reader::counts(reader).await?))
}

/// What was made of a request; none where it was never in line.
pub async fn of_request(app: &App, line: &RequestSummary) -> Result<Option<ReadRow>, Fault> {
    Ok(reader::of_request(app.reader(), line.id).await?)
}

/// The store, for the questions of table `reader`.
#[must_use]
pub fn store(app: &App) -> &Reader {
    app.reader()
}

/// A call that a person decided.
#[derive(Debug, Clone)]
pub struct EarlierCall {
    /// As it ran.
    pub args: Value,
    /// Of a denial what was said.
    pub why: Option<String>,
    /// Who decided; for nobody but this machine.
    pub by: Option<String>,
}

/// What people decided on the tool of a call in the last 180 days, the newest first.
pub async fn earlier(
    app: &App,
    line: &RequestSummary,
    most: usize,
) -> Result<Vec<EarlierCall>, Fault> {
    let Some(call) = call_of(line) else {
        return Ok(Vec::new());
    };
    let before = i64::MAX;
    let (call, since) = (ToolCall { before, ..call }, app.now().0 - APPROVED_MS);
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let decided = people_decided::newest(app.reader(), call, since, limit).await?;
    let earlier = decided.into_iter().filter_map(|one| {
        let why = (!is_approval(&one)).then(|| one.message.clone().unwrap_or_default());
        let (args, by) = (ran(&one)?, person(&one));
        Some(EarlierCall { args, why, by })
    });
    Ok(earlier.collect())
}
