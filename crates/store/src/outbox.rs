//! Table `outbox`: decisions of this console on their way to the stream.

use rusqlite::{Connection, Row, params};

use super::request_states::{StateChange, confirm_states, write_states};
use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// An outgoing decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// UUIDv7.
    pub decision_id: String,
    /// The request's row.
    pub request: i64,
    /// The decision's subject.
    pub subject: String,
    /// The payload to be sent, byte for byte.
    pub payload: Vec<u8>,
    /// The signer's public key.
    pub key: String,
    /// Base64url; none until released.
    pub sig: Option<String>,
    /// When a held decision is signed and sent, ms.
    pub release_at: i64,
    /// How often it was sent.
    pub attempts: i64,
    /// Why it is not stored yet.
    pub last_error: Option<String>,
    /// One of `holding`, `queued`, `stored`, `lost`, `late`.
    pub state: String,
}

impl OutboxRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            decision_id: row.get(0)?,
            request: row.get(1)?,
            subject: row.get(2)?,
            payload: row.get(3)?,
            key: row.get(4)?,
            sig: row.get(5)?,
            release_at: row.get(6)?,
            attempts: row.get(7)?,
            last_error: row.get(8)?,
            state: row.get(9)?,
        })
    }
}

const COLUMNS: &str =
    "decision_id, request, subject, payload, key, sig, release_at, attempts, last_error, state";

/// Puts decisions into the outbox, and writes what that changes in their requests.
///
/// # Errors
/// [`StoreError`]; a row that is still open is a violated constraint.
pub fn insert(
    tx: &Connection,
    rows: &[OutboxRow],
    changes: &[StateChange],
) -> Result<(), StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO outbox(decision_id, request, subject, payload, key, sig, release_at, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for row in rows {
        insert.execute(params![
            row.decision_id,
            row.request,
            row.subject,
            row.payload,
            row.key,
            row.sig,
            row.release_at,
            row.state,
        ])?;
    }
    write_states(tx, changes)?;
    Ok(())
}

/// Removes a request's closed row so that another answer may be queued.
pub fn clear_failed(tx: &Connection, request: i64) -> Result<(), StoreError> {
    let clear = "DELETE FROM outbox WHERE request = ? AND state IN ('late', 'lost')";
    sql::change(tx, clear, [request])?;
    Ok(())
}

/// The row of a request.
pub fn of_request(tx: &Connection, request: i64) -> Result<Option<OutboxRow>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM outbox WHERE request = ?");
    sql::first(tx, &select, [request], OutboxRow::read)
}

/// The same, outside a transaction.
pub async fn read(reader: &Reader, request: i64) -> Result<Option<OutboxRow>, StoreError> {
    reader
        .direct(move |sqlite| of_request(sqlite, request))
        .await
}

/// Deletes a held row: undone or dropped.
pub fn delete_held(tx: &Connection, request: i64) -> Result<(), StoreError> {
    let delete = "DELETE FROM outbox WHERE request = ? AND state = 'holding'";
    sql::change(tx, delete, [request])?;
    Ok(())
}

/// Held rows whose release has come, at most a page.
pub fn due(tx: &Connection, now: Timestamp) -> Result<Vec<OutboxRow>, StoreError> {
    page(tx, "state = 'holding'", now.0, None)
}

/// Held rows, at most a page: whoever needs all asks again once these are gone.
pub fn held(tx: &Connection) -> Result<Vec<OutboxRow>, StoreError> {
    page(tx, "state = 'holding'", i64::MAX, None)
}

/// A place in the order of the outbox: release, then id.
pub type OutboxCursor = (i64, String);

/// Rows that are signed and not known to be stored, at most [`PAGE`] from behind `after` on.
pub fn queued(tx: &Connection, after: Option<&OutboxCursor>) -> Result<Vec<OutboxRow>, StoreError> {
    page(tx, "state = 'queued'", i64::MAX, after)
}

/// Rows in one answer at most.
pub const PAGE: usize = 1_000;

fn page(
    tx: &Connection,
    condition: &'static str,
    until: i64,
    after: Option<&OutboxCursor>,
) -> Result<Vec<OutboxRow>, StoreError> {
    let (release_at, decision_id) = after.map_or((i64::MIN, ""), |(at, id)| (*at, id));
    let select = format!(
        "SELECT {COLUMNS} FROM outbox WHERE {condition} AND release_at <= ?
         AND (release_at, decision_id) > (?, ?) ORDER BY release_at, decision_id LIMIT ?"
    );
    let place = params![until, release_at, decision_id, PAGE as i64];
    sql::all(tx, &select, place, OutboxRow::read)
}

/// The earliest release of all held rows.
pub fn next_release(tx: &Connection) -> Result<Option<Timestamp>, StoreError> {
    let earliest = "SELECT min(release_at) FROM outbox WHERE state = 'holding'";
    let earliest: Option<i64> = sql::value(tx, earliest, [])?;
    Ok(earliest.map(Timestamp))
}

/// Begins holds anew at `now` that reach further than `longest_ms` from there: as long as that, or half the time that is
/// left to the request.
pub fn shorten_holds(tx: &Connection, now: Timestamp, longest_ms: i64) -> Result<(), StoreError> {
    sql::change(
        tx,
        "UPDATE outbox SET release_at = ?1 + max(0, min(?2,
           ((SELECT deadline_at FROM requests WHERE id = outbox.request) - ?1) / 2))
         WHERE state = 'holding' AND release_at > ?1 + ?2",
        [now.0, longest_ms],
    )?;
    Ok(())
}

/// Signs held rows: from now on they are on their way.
pub fn release(tx: &Connection, signed: &[(String, String)]) -> Result<(), StoreError> {
    let mut update = tx.prepare_cached(
        "UPDATE outbox SET state = 'queued', sig = ? WHERE decision_id = ? AND state = 'holding'",
    )?;
    for (decision_id, sig) in signed {
        update.execute([sig, decision_id])?;
    }
    Ok(())
}

/// Closes the open rows of these requests, given the `decision_id` that the stream holds for each:
/// our own means stored, any other means lost. Writes what that changes in the requests.
pub fn settle(
    tx: &Connection,
    on_stream: &[(i64, String)],
    changes: &[StateChange],
) -> Result<(), StoreError> {
    let mut update = tx.prepare_cached(
        "UPDATE outbox SET state = iif(decision_id = ?2, 'stored', 'lost')
         WHERE request = ?1 AND state IN ('holding', 'queued')",
    )?;
    for (request, decision_id) in on_stream {
        update.execute(params![request, decision_id])?;
    }
    confirm_states(tx, changes)?;
    Ok(())
}

/// Closes a row whose subject holds another decision, as the stream's leader said. Returns its subject, none when it
/// was closed already.
pub fn close_lost(tx: &Connection, decision_id: &str) -> Result<Option<String>, StoreError> {
    let close = "UPDATE outbox SET state = 'lost' WHERE decision_id = ? AND state = 'queued' RETURNING subject";
    sql::first(tx, close, [decision_id], |row| row.get(0))
}

/// Payload and signature of a row.
pub type Signed = (Vec<u8>, Option<String>);

/// Removes a row that is not to be sent after all. Returns its payload and signature, none when it was closed
/// already.
pub fn take_back(tx: &Connection, decision_id: &str) -> Result<Option<Signed>, StoreError> {
    let take =
        "DELETE FROM outbox WHERE decision_id = ? AND state = 'queued' RETURNING payload, sig";
    sql::first(tx, take, [decision_id], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// Closes a row whose deadline passed before it was stored.
pub fn close_late(tx: &Connection, decision_id: &str) -> Result<bool, StoreError> {
    let close = "UPDATE outbox SET state = 'late' WHERE decision_id = ? AND state = 'queued'";
    Ok(sql::change(tx, close, [decision_id])? == 1)
}

/// Notes a try that led to nothing.
pub fn note_attempt(tx: &Connection, decision_id: &str, error: &str) -> Result<(), StoreError> {
    let note = "UPDATE outbox SET attempts = attempts + 1, last_error = ? WHERE decision_id = ?";
    sql::change(tx, note, [error, decision_id])?;
    Ok(())
}

/// How many decisions and votes are held or on their way.
pub async fn count_open(reader: &Reader) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM outbox WHERE state = 'holding')
              + (SELECT count(*) FROM outbox WHERE state = 'queued')
              + (SELECT count(*) FROM vote_outbox WHERE state IN ('holding', 'queued'))",
    )
    .fetch_one(&reader.0)
    .await?)
}

/// Why the oldest row that was tried in vain is not on the bus yet.
pub async fn oldest_error(reader: &Reader) -> Result<Option<String>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT last_error FROM outbox WHERE state = 'queued' AND last_error IS NOT NULL
         ORDER BY release_at, decision_id LIMIT 1",
    )
    .fetch_optional(&reader.0)
    .await?)
}

/// How many decisions and votes are signed and not known to be stored.
pub async fn under_way(reader: &Reader) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM outbox WHERE state = 'queued')
              + (SELECT count(*) FROM vote_outbox WHERE state = 'queued')",
    )
    .fetch_one(&reader.0)
    .await?)
}
