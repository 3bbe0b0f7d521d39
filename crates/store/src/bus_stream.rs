//! Table `bus_stream`: how far each stream is projected.

use rusqlite::{Connection, params};

use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// The position in one stream.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Position {
    /// Stream name, `CS_REQUESTS` for one.
    pub stream: String,
    /// Epoch under which `next_seq` counts.
    pub epoch: String,
    /// Sequence of the first message that is not projected; of the shared policy, the first behind every value that
    /// is kept, of the anchors the first behind every one of this console.
    pub next_seq: i64,
    /// Server stamp of the last projected message, ms.
    pub last_ts: i64,
}

/// All positions.
pub async fn all(reader: &Reader) -> Result<Vec<Position>, StoreError> {
    Ok(
        // A value of the shared policy is kept with its revision, which is its sequence, and an anchor with its own.
        sqlx::query_as(
            "SELECT stream, epoch, CASE stream
               WHEN 'KV_CS_POLICY' THEN max(next_seq, (SELECT ifnull(max(revision), 0) + 1 FROM policy))
               WHEN 'CS_AUDIT' THEN max(next_seq, (SELECT ifnull(max(a.stream_seq), 0) + 1 FROM anchors a
                                                   WHERE a.epoch = bus_stream.epoch))
               ELSE next_seq END AS next_seq, last_ts
             FROM bus_stream ORDER BY stream",
        )
        .fetch_all(&reader.0)
        .await?,
    )
}

/// The first sequence of a stream that is not projected under this epoch; 1 when none is.
pub fn next_seq(tx: &Connection, stream: &str, epoch: &str) -> Result<i64, StoreError> {
    let next = "SELECT next_seq FROM bus_stream WHERE stream = ? AND epoch = ?";
    let next = sql::first(tx, next, [stream, epoch], |row| row.get(0))?;
    Ok(next.unwrap_or(1))
}

/// Remembers under which epoch a stream was met first; a position that is known stays.
pub fn remember(tx: &Connection, stream: &str, epoch: &str) -> Result<(), StoreError> {
    let remember = "INSERT INTO bus_stream(stream, epoch, next_seq, last_ts) VALUES (?, ?, 1, 0)
         ON CONFLICT(stream) DO NOTHING";
    sql::change(tx, remember, [stream, epoch])?;
    Ok(())
}

/// The epoch under which a stream is known.
pub fn epoch(tx: &Connection, stream: &str) -> Result<Option<String>, StoreError> {
    let epoch = "SELECT epoch FROM bus_stream WHERE stream = ?";
    sql::first(tx, epoch, [stream], |row| row.get(0))
}

/// Notes that a stream which holds all that was read has another epoch now. False where it is the known one.
pub fn renew(tx: &Connection, stream: &str, epoch: &str) -> Result<bool, StoreError> {
    let renew = "UPDATE bus_stream SET epoch = ?1 WHERE stream = ?2 AND epoch <> ?1";
    Ok(sql::change(tx, renew, [epoch, stream])? > 0)
}

/// Begins a stream anew that was made or numbered anew.
pub fn restart(tx: &Connection, stream: &str, epoch: &str) -> Result<(), StoreError> {
    let restart = "UPDATE bus_stream SET epoch = ?, next_seq = 1 WHERE stream = ?";
    sql::change(tx, restart, [epoch, stream])?;
    Ok(())
}

/// Moves a position forward, in the transaction of the rows that it counts.
pub fn advance(
    tx: &Connection,
    stream: &str,
    epoch: &str,
    next_seq: i64,
    last_ts: Timestamp,
) -> Result<(), StoreError> {
    let advance = "INSERT INTO bus_stream(stream, epoch, next_seq, last_ts) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT(stream) DO UPDATE SET epoch = ?2, next_seq = ?3, last_ts = ?4";
    sql::change(tx, advance, params![stream, epoch, next_seq, last_ts.0])?;
    Ok(())
}
