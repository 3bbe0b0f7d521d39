//! What waits to be evaluated by rules, and what the evaluation needs of it.

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{Reader, StoreError, redefined, sql};
use crate::domain::Timestamp;

/// Row numbers of requests that wait behind row `after`.
pub fn waiting(tx: &Connection, after: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        "SELECT id FROM requests WHERE state <> 'decided' AND state = 'pending' AND id > ?
         ORDER BY id LIMIT ?",
        [after, limit],
    )
}

/// A waiting request as a trial of other rules needs it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct WaitingRow {
    /// Row number.
    pub id: i64,
    /// `WS/AGENT/ID`.
    pub key: String,
    /// Payload as received.
    pub raw: Vec<u8>,
    /// As in [`PendingEvaluation`], ms.
    pub redefined_at: Option<i64>,
    /// As in [`super::request_list::RequestSummary`].
    pub findings: Option<String>,
}

/// Requests of a workspace that wait behind row `after` and are not over at `now`.
pub async fn waiting_in(
    reader: &Reader,
    (ws, now): (&str, Timestamp),
    after: i64,
    limit: i64,
) -> Result<Vec<WaitingRow>, StoreError> {
    let sql = format!(
        "SELECT r.id, r.ws || '/' || r.agent || '/' || r.request_id AS key, r.raw, r.findings, {}
         WHERE r.state <> 'decided' AND r.state = 'pending' AND r.id > ? AND r.ws = ? AND r.deadline_at > ?
         ORDER BY r.id LIMIT ?",
        redefined::OF_REQUEST
    );
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(sql))
        .bind(after)
        .bind(ws)
        .bind(now.0)
        .bind(limit)
        .fetch_all(&reader.0)
        .await?)
}

/// What an evaluation needs of a request beside its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingEvaluation {
    /// Payload as received, where it was wanted.
    pub raw: Option<Vec<u8>>,
    /// When its tool was last defined otherwise than before, or may have been.
    pub redefined_at: Option<Timestamp>,
}

/// What an evaluation needs of these requests, in their order; none where a row is not known. Each says whether its
/// payload is wanted: what has just arrived is still at hand.
pub fn read(
    tx: &Connection,
    wanted: &[(i64, bool)],
) -> Result<Vec<Option<PendingEvaluation>>, StoreError> {
    let mut select = tx.prepare_cached(&format!(
        "SELECT iif(?2, r.raw, NULL), {} WHERE r.id = ?1",
        redefined::OF_REQUEST
    ))?;
    let read = |row: &Row<'_>| {
        Ok(PendingEvaluation {
            raw: row.get(0)?,
            redefined_at: row.get::<_, Option<i64>>(1)?.map(Timestamp),
        })
    };
    let mut found = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        found.push(select.query_row(*wanted, read).optional()?);
    }
    Ok(found)
}
