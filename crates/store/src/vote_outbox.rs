//! Table `vote_outbox`: votes of this console's operator on their way to the stream.

use sqlx::SqliteConnection;

use super::{Reader, StoreError};
use crate::domain::Timestamp;

/// An outgoing vote.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
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
pub async fn insert(tx: &mut SqliteConnection, row: &OutgoingVote) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO vote_outbox(vote_id, request, subject, payload, key, sig, release_at, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&row.vote_id)
    .bind(row.request)
    .bind(&row.subject)
    .bind(&row.payload)
    .bind(&row.key)
    .bind(&row.sig)
    .bind(row.release_at)
    .bind(&row.state)
    .execute(tx)
    .await?;
    Ok(())
}

/// Rows of a state whose release is at or before `until`, earliest first, at most [`PAGE`].
pub async fn in_state(
    tx: &mut SqliteConnection,
    state: &str,
    until: Timestamp,
) -> Result<Vec<OutgoingVote>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT vote_id, request, subject, payload, key, sig, release_at, last_error, state
         FROM vote_outbox WHERE state IN ('holding', 'queued') AND state = ? AND release_at <= ?
         ORDER BY release_at, vote_id LIMIT ?",
    )
    .bind(state)
    .bind(until.0)
    .bind(PAGE as i64)
    .fetch_all(tx)
    .await?)
}

/// The earliest release of all held votes.
pub async fn next_release(tx: &mut SqliteConnection) -> Result<Option<Timestamp>, StoreError> {
    let earliest: Option<i64> = sqlx::query_scalar(
        "SELECT min(release_at) FROM vote_outbox
         WHERE state IN ('holding', 'queued') AND state = 'holding'",
    )
    .fetch_one(tx)
    .await?;
    Ok(earliest.map(Timestamp))
}

/// Begins holds anew at `now` that reach further than `longest_ms` from there: as long as that, or half the time that is
/// left to the request.
pub async fn shorten_holds(
    tx: &mut SqliteConnection,
    now: Timestamp,
    longest_ms: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE vote_outbox SET release_at = ?1 + max(0, min(?2,
           ((SELECT deadline_at FROM requests WHERE id = vote_outbox.request) - ?1) / 2))
         WHERE state IN ('holding', 'queued') AND state = 'holding' AND release_at > ?1 + ?2",
    )
    .bind(now.0)
    .bind(longest_ms)
    .execute(tx)
    .await?;
    Ok(())
}

/// Deletes a request's held vote: undone or dropped. Returns whether there was one.
pub async fn delete_held(tx: &mut SqliteConnection, request: i64) -> Result<bool, StoreError> {
    let done = sqlx::query("DELETE FROM vote_outbox WHERE request = ? AND state = 'holding'")
        .bind(request)
        .execute(tx)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Signs a held vote: from now on it is on its way.
pub async fn release(
    tx: &mut SqliteConnection,
    vote_id: &str,
    sig: &str,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE vote_outbox SET state = 'queued', sig = ? WHERE vote_id = ? AND state = 'holding'",
    )
    .bind(sig)
    .bind(vote_id)
    .execute(tx)
    .await?;
    Ok(())
}

/// Notes what the stream holds of a key's vote on a request: our own means stored, another one lost.
pub async fn settle(
    tx: &mut SqliteConnection,
    request: i64,
    key: &str,
    vote_id: &str,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE vote_outbox SET state = iif(vote_id = ?3, 'stored', 'lost')
         WHERE request = ?1 AND key = ?2 AND state <> 'stored'",
    )
    .bind(request)
    .bind(key)
    .bind(vote_id)
    .execute(tx)
    .await?;
    Ok(())
}

/// Closes a vote that is on its way as `lost` or `late`. Returns the request's row.
pub async fn close(
    tx: &mut SqliteConnection,
    vote_id: &str,
    state: &str,
) -> Result<Option<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "UPDATE vote_outbox SET state = ? WHERE vote_id = ? AND state = 'queued' RETURNING request",
    )
    .bind(state)
    .bind(vote_id)
    .fetch_optional(tx)
    .await?)
}

/// Closes what is held or on its way for a request that is decided: it is of no use any more.
pub async fn close_of(tx: &mut SqliteConnection, request: i64) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE vote_outbox SET state = 'lost' WHERE request = ? AND state IN ('holding', 'queued')",
    )
    .bind(request)
    .execute(tx)
    .await?;
    Ok(())
}

/// Notes a try that led to nothing.
pub async fn note_attempt(
    tx: &mut SqliteConnection,
    vote_id: &str,
    error: &str,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE vote_outbox SET attempts = attempts + 1, last_error = ? WHERE vote_id = ?")
        .bind(error)
        .bind(vote_id)
        .execute(tx)
        .await?;
    Ok(())
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
pub async fn voted(
    tx: &mut SqliteConnection,
    key: &str,
    request: i64,
) -> Result<OwnVote, StoreError> {
    let stored: Option<Option<bool>> =
        sqlx::query_scalar("SELECT stands FROM votes WHERE request = ?1 AND key = ?2")
            .bind(request)
            .bind(key)
            .fetch_optional(&mut *tx)
            .await?;
    if stored == Some(Some(false)) {
        return Ok(OwnVote::Void);
    }
    let on_its_way: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM vote_outbox WHERE request = ?1 AND key = ?2)",
    )
    .bind(request)
    .bind(key)
    .fetch_one(tx)
    .await?;
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
