//! Table `outbox`: decisions and votes of this console on their way to the stream.

use countersign_wire::words;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Connection, Row, params};

use super::request_states::{StateChange, confirm_states, write_states};
use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// What an outgoing message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of a request there is one, whatever key signs it.
    Decision,
    /// Of a request there is one of each key.
    Vote,
}

words!(Kind { Decision => "decision", Vote => "vote" });

impl FromSql for Kind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::from_word(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

/// An outgoing decision or vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// UUIDv7, as its payload says it.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// The request's row.
    pub request: i64,
    /// The subject on which it is stored.
    pub subject: String,
    /// The payload to be sent, byte for byte.
    pub payload: Vec<u8>,
    /// The signer's public key.
    pub signer: String,
    /// Base64url; none until released.
    pub sig: Option<String>,
    /// When a held message is signed and sent, ms.
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
            id: row.get(0)?,
            kind: row.get(1)?,
            request: row.get(2)?,
            subject: row.get(3)?,
            payload: row.get(4)?,
            signer: row.get(5)?,
            sig: row.get(6)?,
            release_at: row.get(7)?,
            attempts: row.get(8)?,
            last_error: row.get(9)?,
            state: row.get(10)?,
        })
    }
}

const COLUMNS: &str =
    "id, kind, request, subject, payload, signer, sig, release_at, attempts, last_error, state";

/// Puts messages into the outbox, and writes what that changes in their requests.
///
/// # Errors
/// [`StoreError`]; a second decision on a request, or a second vote of one key, is a violated constraint.
pub fn insert(
    tx: &Connection,
    rows: &[OutboxRow],
    changes: &[StateChange],
) -> Result<(), StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO outbox(id, kind, request, subject, payload, signer, sig, release_at, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for row in rows {
        insert.execute(params![
            row.id,
            row.kind.as_str(),
            row.request,
            row.subject,
            row.payload,
            row.signer,
            row.sig,
            row.release_at,
            row.state,
        ])?;
    }
    write_states(tx, changes)?;
    Ok(())
}

/// Removes a request's closed decision so that another answer may be queued.
pub fn clear_failed(tx: &Connection, request: i64) -> Result<(), StoreError> {
    let clear =
        "DELETE FROM outbox WHERE kind = 'decision' AND request = ? AND state IN ('late', 'lost')";
    sql::change(tx, clear, [request])?;
    Ok(())
}

/// The decision on a request.
pub fn of_request(tx: &Connection, request: i64) -> Result<Option<OutboxRow>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM outbox WHERE kind = 'decision' AND request = ?");
    sql::first(tx, &select, [request], OutboxRow::read)
}

/// The same, outside a transaction.
pub async fn read(reader: &Reader, request: i64) -> Result<Option<OutboxRow>, StoreError> {
    reader
        .direct(move |sqlite| of_request(sqlite, request))
        .await
}

/// Deletes what is held of a request: undone or dropped.
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
    let (release_at, id) = after.map_or((i64::MIN, ""), |(at, id)| (*at, id));
    let select = format!(
        "SELECT {COLUMNS} FROM outbox WHERE {condition} AND release_at <= ?
         AND (release_at, id) > (?, ?) ORDER BY release_at, id LIMIT ?"
    );
    let place = params![until, release_at, id, PAGE as i64];
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
        "UPDATE outbox SET state = 'queued', sig = ? WHERE id = ? AND state = 'holding'",
    )?;
    for (id, sig) in signed {
        update.execute([sig, id])?;
    }
    Ok(())
}

/// A message on the stream: its request's row, the voter where it is a vote, and its id.
pub type OnStream<'a> = (i64, Option<&'a str>, &'a str);

/// Closes our messages in whose place the stream holds these: the same id means stored, any other means lost. A vote
/// counts for its key, so it is stored also where it was closed before. Writes what that changes in the requests.
pub fn settle(
    tx: &Connection,
    on_stream: &[OnStream<'_>],
    changes: &[StateChange],
) -> Result<(), StoreError> {
    for message in on_stream {
        let settle = match message.1 {
            None => {
                "UPDATE outbox SET state = iif(id = ?3, 'stored', 'lost') WHERE kind = 'decision'
                 AND request = ?1 AND ?2 IS NULL AND state IN ('holding', 'queued')"
            }
            Some(_) => {
                "UPDATE outbox SET state = iif(id = ?3, 'stored', 'lost') WHERE kind = 'vote'
                 AND request = ?1 AND signer = ?2 AND state <> 'stored'"
            }
        };
        sql::change(tx, settle, *message)?;
    }
    confirm_states(tx, changes)?;
    Ok(())
}

/// Closes a message that is on its way as `lost` or `late`. Returns what it is and the request's row, none when it was
/// closed already.
pub fn close(tx: &Connection, id: &str, state: &str) -> Result<Option<(Kind, i64)>, StoreError> {
    let close =
        "UPDATE outbox SET state = ? WHERE id = ? AND state = 'queued' RETURNING kind, request";
    sql::first(tx, close, [state, id], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Closes the votes on a request that is decided: they are of no use any more.
pub fn close_votes(tx: &Connection, request: i64) -> Result<(), StoreError> {
    let close = "UPDATE outbox SET state = 'lost'
         WHERE kind = 'vote' AND request = ? AND state IN ('holding', 'queued')";
    sql::change(tx, close, [request]).map(drop)
}

/// Payload and signature of a row.
pub type Signed = (Vec<u8>, Option<String>);

/// Removes a row that is not to be sent after all. Returns its payload and signature, none when it was closed
/// already.
pub fn take_back(tx: &Connection, id: &str) -> Result<Option<Signed>, StoreError> {
    let take = "DELETE FROM outbox WHERE id = ? AND state = 'queued' RETURNING payload, sig";
    sql::first(tx, take, [id], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Notes a try that led to nothing.
pub fn note_attempt(tx: &Connection, id: &str, error: &str) -> Result<(), StoreError> {
    let note = "UPDATE outbox SET attempts = attempts + 1, last_error = ? WHERE id = ?";
    sql::change(tx, note, [error, id]).map(drop)
}

/// The state of a message.
pub async fn state(reader: &Reader, id: &str) -> Result<Option<String>, StoreError> {
    Ok(sqlx::query_scalar("SELECT state FROM outbox WHERE id = ?")
        .bind(id)
        .fetch_optional(&reader.0)
        .await?)
}

/// How many decisions and votes are held or on their way.
pub async fn count_open(reader: &Reader) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM outbox WHERE state = 'holding')
              + (SELECT count(*) FROM outbox WHERE state = 'queued')",
    )
    .fetch_one(&reader.0)
    .await?)
}

/// Why the oldest message that was tried in vain is not on the bus yet.
pub async fn oldest_error(reader: &Reader) -> Result<Option<String>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT last_error FROM outbox WHERE state = 'queued' AND last_error IS NOT NULL
         ORDER BY release_at, id LIMIT 1",
    )
    .fetch_optional(&reader.0)
    .await?)
}

/// How many decisions and votes are signed and not known to be stored.
pub async fn under_way(reader: &Reader) -> Result<i64, StoreError> {
    let under_way = "SELECT count(*) FROM outbox WHERE state = 'queued'";
    Ok(sqlx::query_scalar(under_way).fetch_one(&reader.0).await?)
}
