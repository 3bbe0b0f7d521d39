//! Table `early_receipts`: requests whose receipt came before their decision.

use countersign_wire::RequestKey;
use sqlx::SqliteConnection;

use super::StoreError;
use super::bulk::{pieces, wanted};
use crate::domain::Timestamp;

/// Requests that are looked at in one transaction.
const PAGE: i64 = 500;

#[derive(sqlx::FromRow)]
struct KeyRow {
    ws: String,
    agent: String,
    request_id: String,
}

impl KeyRow {
    fn key(&self) -> Option<RequestKey> {
        let name = format!("{}/{}/{}", self.ws, self.agent, self.request_id);
        name.parse().ok()
    }
}

/// Notes requests, each with the time at which an execution counts as one without a decision; the first time that is
/// noted stays. Returns how many requests are new.
pub async fn note(
    tx: &mut SqliteConnection,
    rows: &[(RequestKey, Option<Timestamp>)],
) -> Result<i64, StoreError> {
    let mut new = 0;
    for (key, look_at) in rows {
        let words = [
            "INSERT INTO early_receipts(look_at, ws, agent, request_id) VALUES (?, ?, ?, ?)
             ON CONFLICT DO NOTHING",
            "UPDATE early_receipts SET look_at = coalesce(look_at, ?)
             WHERE ws = ? AND agent = ? AND request_id = ?",
        ];
        for (nth, sql) in words.into_iter().enumerate() {
            let done = sqlx::query(sql)
                .bind(look_at.map(|at| at.0))
                .bind(key.workspace.as_ref())
                .bind(key.agent.as_ref())
                .bind(key.request_id.as_ref())
                .execute(&mut *tx)
                .await?;
            if nth == 0 && done.rows_affected() == 1 {
                new += 1;
                break;
            }
        }
    }
    Ok(new)
}

/// Takes those of these requests out that are noted.
pub async fn take(
    tx: &mut SqliteConnection,
    keys: &[RequestKey],
) -> Result<Vec<RequestKey>, StoreError> {
    let mut taken = Vec::new();
    for piece in pieces(keys) {
        let mut query = wanted(piece);
        query.push(
            "DELETE FROM early_receipts WHERE (ws, agent, request_id) IN (SELECT * FROM wanted)
             RETURNING ws, agent, request_id",
        );
        let rows: Vec<KeyRow> = query.build_query_as().fetch_all(&mut *tx).await?;
        taken.extend(rows.iter().filter_map(KeyRow::key));
    }
    Ok(taken)
}

/// Requests whose time has come, at most a page; they are looked at once.
pub async fn due(tx: &mut SqliteConnection, now: Timestamp) -> Result<Vec<RequestKey>, StoreError> {
    let rows: Vec<KeyRow> = sqlx::query_as(
        "UPDATE early_receipts SET look_at = NULL WHERE (ws, agent, request_id) IN
           (SELECT ws, agent, request_id FROM early_receipts WHERE look_at <= ? ORDER BY look_at LIMIT ?)
         RETURNING ws, agent, request_id",
    )
    .bind(now.0)
    .bind(PAGE)
    .fetch_all(tx)
    .await?;
    Ok(rows.iter().filter_map(KeyRow::key).collect())
}

/// The earliest time at which a request is to be looked at.
pub async fn next_look(tx: &mut SqliteConnection) -> Result<Option<Timestamp>, StoreError> {
    let earliest: Option<i64> =
        sqlx::query_scalar("SELECT min(look_at) FROM early_receipts WHERE look_at IS NOT NULL")
            .fetch_one(tx)
            .await?;
    Ok(earliest.map(Timestamp))
}

/// How many requests are noted.
pub async fn count(tx: &mut SqliteConnection) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT count(*) FROM early_receipts")
        .fetch_one(tx)
        .await?)
}
