//! Table `vote_outbox`: votes of this console's operator on their way to the stream.

use rusqlite::{Connection, params};

use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// An outgoing vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingVote {
    /// UUIDv7.
    pub vote_id: String,
    /// The request's row.
    pub request: i64,
    /// The vote's subject.
    pub subject: String,
    /// The payload to be sent, byte for byte.
    pub payload: Vec<u8>,
    /// The voter's public key.
    pub key: String,
    /// Base64url; none until released.
    pub sig: Option<String>,
    /// When a held vote is signed and sent, ms.
    pub release_at: i64,
    /// Why it is not stored yet.
    pub last_error: Option<String>,
    /// One of `holding`, `queued`, `stored`, `lost`, `late`.
    pub state: String,
}

/// Rows in one answer at most.
pub const PAGE: usize = 1_000;

/// Puts a vote into the outbox.
///
/// # Errors
/// [`StoreError::Sqlite`]; a second vote of one key on one request is a violated constraint.
pub fn insert(tx: &Connection, row: &OutgoingVote) -> Result<(), StoreError> {
    let insert =
        "INSERT INTO vote_outbox(vote_id, request, subject, payload, key, sig, release_at, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    let values = params![
        row.vote_id,
        row.request,
        row.subject,
        row.payload,
        row.key,
        row.sig,
        row.release_at,
        row.state,
    ];
    sql::change(tx, insert, values).map(drop)
}

/// Rows of a state whose release is at or before `until`, earliest first, at most [`PAGE`].
pub fn in_state(
    tx: &Connection,
    state: &str,
    until: Timestamp,
) -> Result<Vec<OutgoingVote>, StoreError> {
    sql::all(
        tx,
        "SELECT vote_id, request, subject, payload, key, sig, release_at, last_error, state
         FROM vote_outbox WHERE state IN ('holding', 'queued') AND state = ? AND release_at <= ?
         ORDER BY release_at, vote_id LIMIT ?",
        params![state, until.0, PAGE as i64],
        |row| {
            Ok(OutgoingVote {
                vote_id: row.get(0)?,
                request: row.get(1)?,
                subject: row.get(2)?,
                payload: row.get(3)?,
                key: row.get(4)?,
                sig: row.get(5)?,
                release_at: row.get(6)?,
                last_error: row.get(7)?,
                state: row.get(8)?,
            })
        },
    )
}

/// The earliest release of all held votes.
pub fn next_release(tx: &Connection) -> Result<Option<Timestamp>, StoreError> {
    let earliest = "SELECT min(release_at) FROM vote_outbox
         WHERE state IN ('holding', 'queued') AND state = 'holding'";
    Ok(sql::value::<Option<i64>>(tx, earliest, [])?.map(Timestamp))
}

/// Begins holds anew at `now` that reach further than `longest_ms` from there: as long as that, or half the time that is
/// left to the request.
pub fn shorten_holds(tx: &Connection, now: Timestamp, longest_ms: i64) -> Result<(), StoreError> {
    let shorten = "UPDATE vote_outbox SET release_at = ?1 + max(0, min(?2,
           ((SELECT deadline_at FROM requests WHERE id = vote_outbox.request) - ?1) / 2))
         WHERE state IN ('holding', 'queued') AND state = 'holding' AND release_at > ?1 + ?2";
    sql::change(tx, shorten, [now.0, longest_ms]).map(drop)
}

/// Deletes a request's held vote: undone or dropped. Returns whether there was one.
pub fn delete_held(tx: &Connection, request: i64) -> Result<bool, StoreError> {
    let delete = "DELETE FROM vote_outbox WHERE request = ? AND state = 'holding'";
    Ok(sql::change(tx, delete, [request])? > 0)
}

/// Signs a held vote: from now on it is on its way.
pub fn release(tx: &Connection, vote_id: &str, sig: &str) -> Result<(), StoreError> {
    let release =
        "UPDATE vote_outbox SET state = 'queued', sig = ? WHERE vote_id = ? AND state = 'holding'";
    sql::change(tx, release, [sig, vote_id]).map(drop)
}

/// Notes what the stream holds of a key's vote on a request: our own means stored, another one lost.
pub fn settle(tx: &Connection, request: i64, key: &str, vote_id: &str) -> Result<(), StoreError> {
    let settle = "UPDATE vote_outbox SET state = iif(vote_id = ?3, 'stored', 'lost')
         WHERE request = ?1 AND key = ?2 AND state <> 'stored'";
    sql::change(tx, settle, params![request, key, vote_id]).map(drop)
}

/// Closes a vote that is on its way as `lost` or `late`. Returns the request's row.
pub fn close(tx: &Connection, vote_id: &str, state: &str) -> Result<Option<i64>, StoreError> {
    let close =
        "UPDATE vote_outbox SET state = ? WHERE vote_id = ? AND state = 'queued' RETURNING request";
    sql::first(tx, close, [state, vote_id], |row| row.get(0))
}

/// Closes what is held or on its way for a request that is decided: it is of no use any more.
pub fn close_of(tx: &Connection, request: i64) -> Result<(), StoreError> {
    let close = "UPDATE vote_outbox SET state = 'lost' WHERE request = ? AND state IN ('holding', 'queued')";
    sql::change(tx, close, [request]).map(drop)
}

/// Notes a try that led to nothing.
pub fn note_attempt(tx: &Connection, vote_id: &str, error: &str) -> Result<(), StoreError> {
    let note = "UPDATE vote_outbox SET attempts = attempts + 1, last_error = ? WHERE vote_id = ?";
    sql::change(tx, note, [error, vote_id]).map(drop)
}

/// What there is of a key's vote on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnVote {
    /// None.
    None,
    /// On the stream or on the way there.
    Given,
    /// What the stream holds in its place does not verify.
    Void,
}

/// Whether a key has voted on a request.
pub fn voted(tx: &Connection, key: &str, request: i64) -> Result<OwnVote, StoreError> {
    let vote = "SELECT stands FROM votes WHERE request = ?1 AND key = ?2";
    let stored: Option<Option<bool>> =
        sql::first(tx, vote, params![request, key], |row| row.get(0))?;
    if stored == Some(Some(false)) {
        return Ok(OwnVote::Void);
    }
    let on_its_way: bool = sql::value(
        tx,
        "SELECT EXISTS (SELECT 1 FROM vote_outbox WHERE request = ?1 AND key = ?2)",
        params![request, key],
    )?;
    Ok(match stored.is_some() || on_its_way {
        true => OwnVote::Given,
        false => OwnVote::None,
    })
}

/// The state of a vote.
pub async fn state(reader: &Reader, vote_id: &str) -> Result<Option<String>, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT state FROM vote_outbox WHERE vote_id = ?")
            .bind(vote_id)
            .fetch_optional(&reader.0)
            .await?,
    )
}
