//! Table `outbox`: decisions of this console on their way to the stream.

use rusqlite::params;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::direct::WriteConnection;
use super::request_states::{StateChange, confirm_states, write_states};
use super::{Reader, StoreError};
use crate::domain::Timestamp;

/// An outgoing decision.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
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

const COLUMNS: &str =
    "decision_id, request, subject, payload, key, sig, release_at, attempts, last_error, state";

/// Puts decisions into the outbox, and writes what that changes in their requests.
///
/// # Errors
/// [`StoreError`]; a row that is still open is a violated constraint.
pub async fn insert(
    tx: &mut WriteConnection,
    rows: &[OutboxRow],
    changes: &[StateChange],
) -> Result<(), StoreError> {
    if rows.is_empty() && changes.is_empty() {
        return Ok(());
    }
    tx.direct(|sqlite| {
        let mut insert = sqlite.prepare_cached(
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
        write_states(sqlite, changes)
    })
    .await
}

/// Removes a request's closed row so that another answer may be queued.
pub async fn clear_failed(tx: &mut SqliteConnection, request: i64) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM outbox WHERE request = ? AND state IN ('late', 'lost')")
        .bind(request)
        .execute(tx)
        .await?;
    Ok(())
}

/// The row of a request.
pub async fn of_request(
    tx: &mut SqliteConnection,
    request: i64,
) -> Result<Option<OutboxRow>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT ");
    query.push(COLUMNS);
    query.push(" FROM outbox WHERE request = ");
    query.push_bind(request);
    Ok(query.build_query_as().fetch_optional(tx).await?)
}

/// The same, outside a transaction.
pub async fn read(reader: &Reader, request: i64) -> Result<Option<OutboxRow>, StoreError> {
    of_request(&mut *reader.0.acquire().await?, request).await
}

/// Deletes a held row: undone or dropped.
pub async fn delete_held(tx: &mut SqliteConnection, request: i64) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM outbox WHERE request = ? AND state = 'holding'")
        .bind(request)
        .execute(tx)
        .await?;
    Ok(())
}

/// Held rows whose release has come, at most a page.
pub async fn due(tx: &mut SqliteConnection, now: Timestamp) -> Result<Vec<OutboxRow>, StoreError> {
    page(tx, "state = 'holding'", now.0, None).await
}

/// Held rows, at most a page: whoever needs all asks again once these are gone.
pub async fn held(tx: &mut SqliteConnection) -> Result<Vec<OutboxRow>, StoreError> {
    page(tx, "state = 'holding'", i64::MAX, None).await
}

/// A place in the order of the outbox: release, then id.
pub type OutboxCursor = (i64, String);

/// Rows that are signed and not known to be stored, at most [`PAGE`] from behind `after` on.
pub async fn queued(
    tx: &mut SqliteConnection,
    after: Option<&OutboxCursor>,
) -> Result<Vec<OutboxRow>, StoreError> {
    page(tx, "state = 'queued'", i64::MAX, after).await
}

/// Rows in one answer at most.
pub const PAGE: usize = 1_000;

async fn page(
    tx: &mut SqliteConnection,
    condition: &'static str,
    until: i64,
    after: Option<&OutboxCursor>,
) -> Result<Vec<OutboxRow>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT ");
    query.push(COLUMNS);
    query.push(" FROM outbox WHERE ");
    query.push(condition);
    query.push(" AND release_at <= ");
    query.push_bind(until);
    if let Some((release_at, decision_id)) = after {
        query.push(" AND (release_at, decision_id) > (");
        query.push_bind(*release_at);
        query.push(", ");
        query.push_bind(decision_id.as_str());
        query.push(")");
    }
    query.push(" ORDER BY release_at, decision_id LIMIT ");
    query.push_bind(PAGE as i64);
    Ok(query.build_query_as().fetch_all(tx).await?)
}

/// The earliest release of all held rows.
pub async fn next_release(tx: &mut SqliteConnection) -> Result<Option<Timestamp>, StoreError> {
    let earliest: Option<i64> =
        sqlx::query_scalar("SELECT min(release_at) FROM outbox WHERE state = 'holding'")
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
        "UPDATE outbox SET release_at = ?1 + max(0, min(?2,
           ((SELECT deadline_at FROM requests WHERE id = outbox.request) - ?1) / 2))
         WHERE state = 'holding' AND release_at > ?1 + ?2",
    )
    .bind(now.0)
    .bind(longest_ms)
    .execute(tx)
    .await?;
    Ok(())
}

/// Signs held rows: from now on they are on their way.
pub async fn release(
    tx: &mut SqliteConnection,
    signed: &[(String, String)],
) -> Result<(), StoreError> {
    for (decision_id, sig) in signed {
        sqlx::query("UPDATE outbox SET state = 'queued', sig = ? WHERE decision_id = ? AND state = 'holding'")
            .bind(sig)
            .bind(decision_id)
            .execute(&mut *tx)
            .await?;
    }
    Ok(())
}

/// Closes the open rows of these requests, given the `decision_id` that the stream holds for each:
/// our own means stored, any other means lost. Writes what that changes in the requests.
pub async fn settle(
    tx: &mut WriteConnection,
    on_stream: &[(i64, String)],
    changes: &[StateChange],
) -> Result<(), StoreError> {
    if on_stream.is_empty() && changes.is_empty() {
        return Ok(());
    }
    tx.direct(|sqlite| {
        let mut update = sqlite.prepare_cached(
            "UPDATE outbox SET state = iif(decision_id = ?2, 'stored', 'lost')
             WHERE request = ?1 AND state IN ('holding', 'queued')",
        )?;
        for (request, decision_id) in on_stream {
            update.execute(params![request, decision_id])?;
        }
        confirm_states(sqlite, changes)
    })
    .await
}

/// Closes a row whose subject holds another decision, as the stream's leader said. Returns its subject, none when it
/// was closed already.
pub async fn close_lost(
    tx: &mut SqliteConnection,
    decision_id: &str,
) -> Result<Option<String>, StoreError> {
    Ok(sqlx::query_scalar(
        "UPDATE outbox SET state = 'lost' WHERE decision_id = ? AND state = 'queued' RETURNING subject",
    )
    .bind(decision_id)
    .fetch_optional(tx)
    .await?)
}

/// Removes a row that is not to be sent after all. Returns its payload and signature, none when it was closed
/// already.
pub async fn take_back(
    tx: &mut SqliteConnection,
    decision_id: &str,
) -> Result<Option<(Vec<u8>, Option<String>)>, StoreError> {
    Ok(sqlx::query_as(
        "DELETE FROM outbox WHERE decision_id = ? AND state = 'queued' RETURNING payload, sig",
    )
    .bind(decision_id)
    .fetch_optional(tx)
    .await?)
}

/// Closes a row whose deadline passed before it was stored.
pub async fn close_late(tx: &mut SqliteConnection, decision_id: &str) -> Result<bool, StoreError> {
    let done =
        sqlx::query("UPDATE outbox SET state = 'late' WHERE decision_id = ? AND state = 'queued'")
            .bind(decision_id)
            .execute(tx)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes a try that led to nothing.
pub async fn note_attempt(
    tx: &mut SqliteConnection,
    decision_id: &str,
    error: &str,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE outbox SET attempts = attempts + 1, last_error = ? WHERE decision_id = ?")
        .bind(error)
        .bind(decision_id)
        .execute(tx)
        .await?;
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
