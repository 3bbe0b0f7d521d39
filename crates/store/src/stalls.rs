//! Table `stalls`: answers whose next rung is awaited, and those that are overdue.

use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::StoreError;
use super::bulk::{pieces, with_values};
use crate::domain::{Delivery, Stall, State, Timestamp};

/// An answer and what is known of its way.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Row of the request.
    pub request: i64,
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// Its state.
    pub state: State,
    /// How far it has come.
    pub delivery: Delivery,
    /// As it reads everywhere.
    pub verdict: Option<String>,
    /// A tool call, and not a question.
    pub is_call: bool,
    /// When the agent stops waiting.
    pub deadline_at: Timestamp,
    /// When the decision was signed here, while it is in the outbox.
    pub queued_at: Option<Timestamp>,
    /// Stamp and id of the stored decision.
    pub stored_at: Option<Timestamp>,
    /// Stamp of the receipt `received`.
    pub received_at: Option<Timestamp>,
    /// When the agent was last heard.
    pub heard_at: Option<Timestamp>,
    /// Since when it was heard without a pause.
    pub alive_since: Option<Timestamp>,
    /// The alarm that is raised for it.
    pub alarmed: Option<Stall>,
}

#[derive(sqlx::FromRow)]
struct WatchedRow {
    id: i64,
    ws: String,
    agent: String,
    request_id: String,
    state: String,
    delivery: String,
    verdict: Option<String>,
    kind: Option<String>,
    deadline_at: i64,
    queued_at: Option<i64>,
    stored_at: Option<i64>,
    received_at: Option<i64>,
    last_seen: Option<i64>,
    alive_since: Option<i64>,
    code: Option<String>,
}

impl WatchedRow {
    fn into_watched(self) -> Result<Watched, StoreError> {
        let corrupt =
            |column: &str| StoreError::corrupt(format!("an unknown {column} in requests"));
        Ok(Watched {
            request: self.id,
            state: self.state.parse().map_err(|_| corrupt("state"))?,
            delivery: Delivery::from_word(&self.delivery).ok_or_else(|| corrupt("delivery"))?,
            ws: self.ws,
            agent: self.agent,
            request_id: self.request_id,
            verdict: self.verdict,
            is_call: self.kind.as_deref() == Some("tool_call"),
            deadline_at: Timestamp(self.deadline_at),
            queued_at: self.queued_at.map(Timestamp),
            stored_at: self.stored_at.map(Timestamp),
            received_at: self.received_at.map(Timestamp),
            heard_at: self.last_seen.map(Timestamp),
            alive_since: self.alive_since.map(Timestamp),
            alarmed: self.code.as_deref().and_then(Stall::from_code),
        })
    }
}

/// What is known of these requests' answers.
pub async fn look_up(tx: &mut SqliteConnection, ids: &[i64]) -> Result<Vec<Watched>, StoreError> {
    let mut found = Vec::with_capacity(ids.len());
    for piece in pieces(ids) {
        let mut query = QueryBuilder::<Sqlite>::new("");
        with_values!(query, "wanted(id)", piece, |values, id| {
            values.push_bind(*id);
        });
        query.push(
            "SELECT r.id, r.ws, r.agent, r.request_id, r.state, r.delivery, r.verdict, r.kind, r.deadline_at,
               o.release_at AS queued_at, d.stored_at,
               (SELECT min(c.at) FROM receipts c WHERE c.ws = r.ws AND c.agent = r.agent
                 AND c.request_id = r.request_id AND c.decision_id = d.decision_id
                 AND c.stage = 'received') AS received_at,
               a.last_seen, a.alive_since, s.code
             FROM wanted CROSS JOIN requests r ON r.id = wanted.id
             LEFT JOIN outbox o ON o.request = r.id AND o.state = 'queued'
             LEFT JOIN decisions d ON d.request = r.id
             LEFT JOIN agents a ON a.ws = r.ws AND a.name = r.agent
             LEFT JOIN stalls s ON s.request = r.id",
        );
        let rows: Vec<WatchedRow> = query.build_query_as().fetch_all(&mut *tx).await?;
        for row in rows {
            found.push(row.into_watched()?);
        }
    }
    Ok(found)
}

/// Looks at an answer again at `look_at`; no alarm is raised for it.
pub async fn park(
    tx: &mut SqliteConnection,
    request: i64,
    look_at: Timestamp,
) -> Result<(), StoreError> {
    put(tx, request, None, look_at).await
}

/// Notes that an alarm is raised for an answer.
pub async fn mark(
    tx: &mut SqliteConnection,
    request: i64,
    stall: Stall,
    at: Timestamp,
) -> Result<(), StoreError> {
    put(tx, request, Some(stall.code()), at).await
}

async fn put(
    tx: &mut SqliteConnection,
    request: i64,
    code: Option<&str>,
    look_at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO stalls(request, code, look_at) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET code = ?2, look_at = ?3",
    )
    .bind(request)
    .bind(code)
    .bind(look_at.0)
    .execute(tx)
    .await?;
    Ok(())
}

/// Watches an answer no longer.
pub async fn forget(tx: &mut SqliteConnection, request: i64) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM stalls WHERE request = ?")
        .bind(request)
        .execute(tx)
        .await?;
    Ok(())
}

/// Those of these requests that are watched.
pub async fn watched_of(tx: &mut SqliteConnection, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let mut found = Vec::new();
    for piece in pieces(ids) {
        let mut query = QueryBuilder::<Sqlite>::new("");
        with_values!(query, "wanted(id)", piece, |values, id| {
            values.push_bind(*id);
        });
        query.push("SELECT s.request FROM wanted CROSS JOIN stalls s ON s.request = wanted.id");
        found.extend(
            query
                .build_query_scalar::<i64>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(found)
}

/// Requests to be looked at by now, the longest overdue first.
pub async fn due(
    tx: &mut SqliteConnection,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT request FROM stalls WHERE code IS NULL AND look_at <= ? ORDER BY look_at LIMIT ?",
    )
    .bind(now.0)
    .bind(limit)
    .fetch_all(tx)
    .await?)
}

/// Requests whose decision is signed since before `since` and still in the outbox, without an alarm.
pub async fn unsent(
    tx: &mut SqliteConnection,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT request FROM outbox WHERE state = 'queued' AND release_at <= ?
         AND NOT EXISTS (SELECT 1 FROM stalls s WHERE s.request = outbox.request)
         ORDER BY release_at, decision_id LIMIT ?",
    )
    .bind(since.0)
    .bind(limit)
    .fetch_all(tx)
    .await?)
}

/// When the oldest decision in the outbox was signed.
pub async fn oldest_unsent(tx: &mut SqliteConnection) -> Result<Option<Timestamp>, StoreError> {
    let oldest: Option<i64> = sqlx::query_scalar(
        "SELECT release_at FROM outbox WHERE state = 'queued'
         AND NOT EXISTS (SELECT 1 FROM stalls s WHERE s.request = outbox.request)
         ORDER BY release_at, decision_id LIMIT 1",
    )
    .fetch_optional(tx)
    .await?;
    Ok(oldest.map(Timestamp))
}

/// The earliest time at which an answer is to be looked at.
pub async fn next_look(tx: &mut SqliteConnection) -> Result<Option<Timestamp>, StoreError> {
    let earliest: Option<i64> =
        sqlx::query_scalar("SELECT min(look_at) FROM stalls WHERE code IS NULL")
            .fetch_one(tx)
            .await?;
    Ok(earliest.map(Timestamp))
}

/// How many answers are watched, and for how many an alarm is raised.
pub async fn counts(tx: &mut SqliteConnection) -> Result<(i64, i64), StoreError> {
    Ok(sqlx::query_as("SELECT count(*), count(code) FROM stalls")
        .fetch_one(tx)
        .await?)
}

/// A stored decision that no sweep has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct Unswept {
    /// Row of the decision.
    pub id: i64,
    /// Row of its request, where that is here.
    pub request: Option<i64>,
    /// The server's stamp, ms.
    pub stored_at: i64,
    /// Whether a further rung can be awaited.
    pub waits: bool,
}

/// Decisions after row `after`, in the order of their arrival.
pub async fn unswept(
    tx: &mut SqliteConnection,
    after: i64,
    limit: i64,
) -> Result<Vec<Unswept>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT d.id, d.request, d.stored_at,
           coalesce(r.state = 'decided' AND r.delivery IN ('on_bus', 'received'), 0) AS waits
         FROM decisions d LEFT JOIN requests r ON r.id = d.request
         WHERE d.id > ? ORDER BY d.id LIMIT ?",
    )
    .bind(after)
    .bind(limit)
    .fetch_all(tx)
    .await?)
}
