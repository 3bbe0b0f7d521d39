//! What the writer keeps of feeds: how far each has come, its alarm and its rows of the audit log.

use super::writer_state::{Tx, WriterState};
use crate::Fault;
use crate::domain::AlarmCode;
use crate::runtime::App;
use crate::store::StoreError;
use crate::store::feeds::{self, FeedNote};

/// Writes it with its alarm and its row of the audit log, if nobody changed the feed meanwhile.
fn keep(writer: &WriterState, batch: &mut Tx<'_>, note: FeedNote) -> Result<bool, StoreError> {
    if !feeds::keep(batch.tx, &note, batch.now.0)? {
        return Ok(false);
    }
    let console = writer.identity.auto_key().to_string();
    let code = AlarmCode::FeedFailing;
    match note.failing {
        Some(true) => batch.alarm_unseen(&console, code, &note.feed)?,
        Some(false) => batch.clear_alarm(&console, code, &note.feed)?,
        None => {}
    }
    if let Some((detail, by_operator)) = note.audit {
        let actor = match by_operator {
            true => writer.identity.human_key().to_string(),
            false => console,
        };
        batch.record(actor, "feed", note.feed, detail);
    }
    Ok(true)
}

/// Hands it to the writer and waits until it is durable. Returns false where the feed has been changed since it was read:
/// then nothing is written.
///
/// # Errors
/// `ErrorCode::ReadOnly` when the store takes no writes.
pub async fn note(app: &App, note: FeedNote) -> Result<bool, Fault> {
    app.ask(move |writer, batch| keep(writer, batch, note))
        .await
}
