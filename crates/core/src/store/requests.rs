//! Table `requests`: one row a request, in the order of arrival.

use countersign_wire::{RequestKey, Risk, Verdict, VerdictSet};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::bulk::{pieces, with_values};
use super::{Reader, StoreError};
use crate::domain::{Delivery, RequestRecord, State, Timestamp};

/// A row to be inserted.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// Workspace, or empty where the subject gave none.
    pub ws: String,
    /// Agent, or empty where the subject gave none.
    pub agent: String,
    /// Request id, or `rejected:SEQ` where the subject gave none.
    pub request_id: String,
    /// `tool_call`, `question` or `form`; none when rejected.
    pub kind: Option<String>,
    /// Tool name as the agent wrote it.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: Risk,
    /// The agent's title.
    pub title: Option<String>,
    /// The agent's identifiers.
    pub run_id: Option<String>,
    /// The agent's identifiers.
    pub thread_id: Option<String>,
    /// The agent's identifiers.
    pub call_id: Option<String>,
    /// From `traceparent`.
    pub trace_id: Option<String>,
    /// From `traceparent`.
    pub span_id: Option<String>,
    /// Calls raised together.
    pub group_id: Option<String>,
    /// Verdicts that the agent can honour.
    pub allowed: VerdictSet,
    /// 1 to 5.
    pub approvals_required: u8,
    /// Digest of the arguments.
    pub args_digest: Option<String>,
    /// Digest of `raw`.
    pub request_digest: String,
    /// Payload as received.
    pub raw: Vec<u8>,
    /// Stream epoch and sequence.
    pub stream_epoch: String,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// The agent's clock.
    pub requested_at: Option<Timestamp>,
    /// The server's stamp.
    pub stored_at: Timestamp,
    /// When this console read it, server time.
    pub received_at: Timestamp,
    /// `expires_at` − `requested_at`, ms.
    pub lifetime_ms: i64,
    /// `stored_at` + lifetime.
    pub deadline_at: Timestamp,
    /// `pending` or `rejected`, or what a tombstone makes of it.
    pub state: State,
    /// Why it was rejected: code and detail.
    pub error: Option<(String, String)>,
    /// Seen a `tighten` already.
    pub tightened_at: Option<Timestamp>,
}

/// What the life cycle changes in a row.
#[derive(Debug, Clone)]
pub struct StateChange {
    /// Row number.
    pub id: i64,
    /// New state.
    pub state: State,
    /// Verdict as it reads everywhere.
    pub verdict: Option<String>,
    /// Who decided.
    pub origin: Option<String>,
    /// When it was decided, server time.
    pub decided_at: Option<Timestamp>,
    /// New rung.
    pub delivery: Delivery,
}

#[derive(sqlx::FromRow)]
struct RecordRow {
    id: i64,
    ws: String,
    agent: String,
    request_id: String,
    state: String,
    delivery: String,
    risk: String,
    args_digest: Option<String>,
    request_digest: String,
    allowed: String,
    approvals_required: i64,
    stored_at: i64,
    deadline_at: i64,
    kind: Option<String>,
    lifetime: i64,
    tightened_at: Option<i64>,
    withdrawn_at: Option<i64>,
}

impl RecordRow {
    /// None for a row whose subject gave no valid key: nothing can be decided on it.
    fn into_record(self) -> Result<Option<RequestRecord>, StoreError> {
        let Ok(key) =
            format!("{}/{}/{}", self.ws, self.agent, self.request_id).parse::<RequestKey>()
        else {
            return Ok(None);
        };
        let corrupt =
            |column: &str| StoreError::corrupt(format!("an unknown {column} in requests"));
        Ok(Some(RequestRecord {
            id: self.id,
            key,
            state: self.state.parse().map_err(|_| corrupt("state"))?,
            delivery: Delivery::from_word(&self.delivery).ok_or_else(|| corrupt("delivery"))?,
            risk: Risk::effective(&self.risk),
            args_digest: self.args_digest,
            request_digest: self.request_digest,
            allowed: VerdictSet::from_words(self.allowed.split(' ')),
            approvals_required: u8::try_from(self.approvals_required)
                .map_err(|_| corrupt("approvals_required"))?,
            stored_at: Timestamp(self.stored_at),
            deadline_at: Timestamp(self.deadline_at),
            first_deadline_at: Timestamp(self.stored_at).plus_ms(self.lifetime),
            tightened_at: self.tightened_at.map(Timestamp),
            withdrawn_at: self.withdrawn_at.map(Timestamp),
            has_args: self.kind.as_deref() == Some("tool_call"),
        }))
    }
}

fn words(allowed: VerdictSet) -> String {
    allowed
        .iter()
        .map(Verdict::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

const RECORD: &str = "r.id, r.ws, r.agent, r.request_id, r.state, r.delivery, r.risk, r.args_digest, \
    r.request_digest, r.allowed, r.approvals_required, r.stored_at, r.deadline_at, r.kind, \
    r.lifetime, r.tightened_at, r.withdrawn_at";

/// Inserts rows; a row whose key or stream position is taken is left out.
///
/// Returns (row number, stream sequence) of what was inserted.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn insert(
    tx: &mut SqliteConnection,
    rows: &[NewRequest],
) -> Result<Vec<(i64, i64)>, StoreError> {
    let mut inserted = Vec::with_capacity(rows.len());
    for piece in pieces(rows) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO requests(ws, agent, request_id, kind, tool, risk, title, run_id, thread_id, call_id,
             trace_id, span_id, group_id, allowed, approvals_required, args_digest, request_digest, raw,
             stream_epoch, stream_seq, requested_at, stored_at, received_at, lifetime, deadline_at, state,
             delivery, error_code, error_detail, tightened_at) ",
        );
        query.push_values(piece, |mut values, row| {
            values
                .push_bind(row.ws.as_str())
                .push_bind(row.agent.as_str())
                .push_bind(row.request_id.as_str())
                .push_bind(row.kind.as_deref())
                .push_bind(row.tool.as_deref())
                .push_bind(row.risk.as_str())
                .push_bind(row.title.as_deref())
                .push_bind(row.run_id.as_deref())
                .push_bind(row.thread_id.as_deref())
                .push_bind(row.call_id.as_deref())
                .push_bind(row.trace_id.as_deref())
                .push_bind(row.span_id.as_deref())
                .push_bind(row.group_id.as_deref())
                .push_bind(words(row.allowed))
                .push_bind(i64::from(row.approvals_required))
                .push_bind(row.args_digest.as_deref())
                .push_bind(row.request_digest.as_str())
                .push_bind(row.raw.as_slice())
                .push_bind(row.stream_epoch.as_str())
                .push_bind(row.stream_seq)
                .push_bind(row.requested_at.map(|at| at.0))
                .push_bind(row.stored_at.0)
                .push_bind(row.received_at.0)
                .push_bind(row.lifetime_ms)
                .push_bind(row.deadline_at.0)
                .push_bind(row.state.as_str())
                .push_bind(Delivery::Stored.as_str())
                .push_bind(row.error.as_ref().map(|(code, _)| code.as_str()))
                .push_bind(row.error.as_ref().map(|(_, detail)| detail.as_str()))
                .push_bind(row.tightened_at.map(|at| at.0));
        });
        query.push(" ON CONFLICT DO NOTHING RETURNING id, stream_seq");
        inserted.extend(
            query
                .build_query_as::<(i64, i64)>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(inserted)
}

/// The records of these keys, in no order; unknown keys are left out.
///
/// # Errors
/// [`StoreError`].
pub async fn records(
    tx: &mut SqliteConnection,
    keys: &[RequestKey],
) -> Result<Vec<RequestRecord>, StoreError> {
    let mut records = Vec::with_capacity(keys.len());
    for piece in pieces(keys) {
        let mut query = QueryBuilder::<Sqlite>::new("");
        with_values!(
            query,
            "wanted(ws, agent, request_id)",
            piece,
            |values, key| {
                values
                    .push_bind(key.workspace.as_ref())
                    .push_bind(key.agent.as_ref())
                    .push_bind(key.request_id.as_ref());
            }
        );
        query.push("SELECT ");
        query.push(RECORD);
        // CROSS JOIN keeps the order: each wanted key is one search of the unique index.
        query.push(
            " FROM wanted CROSS JOIN requests r
             ON r.ws = wanted.ws AND r.agent = wanted.agent AND r.request_id = wanted.request_id",
        );
        for row in query
            .build_query_as::<RecordRow>()
            .fetch_all(&mut *tx)
            .await?
        {
            records.extend(row.into_record()?);
        }
    }
    Ok(records)
}

/// The records of these rows, in no order.
///
/// # Errors
/// [`StoreError`].
pub async fn records_by_id(
    tx: &mut SqliteConnection,
    ids: &[i64],
) -> Result<Vec<RequestRecord>, StoreError> {
    let mut records = Vec::with_capacity(ids.len());
    for piece in pieces(ids) {
        let mut query = QueryBuilder::<Sqlite>::new("");
        with_values!(query, "wanted(id)", piece, |values, id| {
            values.push_bind(*id);
        });
        query.push("SELECT ");
        query.push(RECORD);
        query.push(" FROM wanted CROSS JOIN requests r ON r.id = wanted.id");
        for row in query
            .build_query_as::<RecordRow>()
            .fetch_all(&mut *tx)
            .await?
        {
            records.extend(row.into_record()?);
        }
    }
    Ok(records)
}

/// Writes life-cycle changes.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn change_states(
    tx: &mut SqliteConnection,
    changes: &[StateChange],
) -> Result<(), StoreError> {
    for piece in pieces(changes) {
        let mut query = QueryBuilder::<Sqlite>::new("");
        with_values!(
            query,
            "change(id, state, verdict, origin, decided_at, delivery)",
            piece,
            |values, change| {
                values
                    .push_bind(change.id)
                    .push_bind(change.state.as_str())
                    .push_bind(change.verdict.as_deref())
                    .push_bind(change.origin.as_deref())
                    .push_bind(change.decided_at.map(|at| at.0))
                    .push_bind(change.delivery.as_str());
            }
        );
        query.push(
            "UPDATE requests SET state = change.state, verdict = change.verdict,
             origin = change.origin, decided_at = change.decided_at, delivery = change.delivery
             FROM change WHERE requests.id = change.id",
        );
        query.build().execute(&mut *tx).await?;
    }
    Ok(())
}

/// Raises rungs of the ladder.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn change_delivery(
    tx: &mut SqliteConnection,
    changes: &[(i64, Delivery)],
) -> Result<(), StoreError> {
    for piece in pieces(changes) {
        let mut query = QueryBuilder::<Sqlite>::new("");
        with_values!(query, "change(id, delivery)", piece, |values, change| {
            values.push_bind(change.0).push_bind(change.1.as_str());
        });
        query.push("UPDATE requests SET delivery = change.delivery FROM change WHERE requests.id = change.id");
        query.build().execute(&mut *tx).await?;
    }
    Ok(())
}

/// Shortens a deadline: the first tighten counts, and none lengthens. Returns whether it did.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn tighten(
    tx: &mut SqliteConnection,
    id: i64,
    deadline: Timestamp,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let changed = sqlx::query(
        "UPDATE requests SET deadline_at = min(deadline_at, ?2), tightened_at = ?3
         WHERE id = ?1 AND tightened_at IS NULL",
    )
    .bind(id)
    .bind(deadline.0)
    .bind(at.0)
    .execute(tx)
    .await?;
    Ok(changed.rows_affected() == 1)
}

/// Notes when a withdraw was stored; the first counts.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn note_withdrawn(
    tx: &mut SqliteConnection,
    id: i64,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE requests SET withdrawn_at = ?2 WHERE id = ?1 AND withdrawn_at IS NULL")
        .bind(id)
        .bind(at.0)
        .execute(tx)
        .await?;
    Ok(())
}

/// The agent's clock and the server's stamp of a request: what a tighten is measured against.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn clocks(
    tx: &mut SqliteConnection,
    id: i64,
) -> Result<Option<(Option<Timestamp>, Timestamp)>, StoreError> {
    let row: Option<(Option<i64>, i64)> =
        sqlx::query_as("SELECT requested_at, stored_at FROM requests WHERE id = ?")
            .bind(id)
            .fetch_optional(tx)
            .await?;
    Ok(row.map(|(requested, stored)| (requested.map(Timestamp), Timestamp(stored))))
}

/// Row numbers of pending requests whose deadline is at or before `now`, earliest first.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn overdue(
    tx: &mut SqliteConnection,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT id FROM requests WHERE state = 'pending' AND deadline_at <= ?
         ORDER BY deadline_at, id LIMIT ?",
    )
    .bind(now.0)
    .bind(limit)
    .fetch_all(tx)
    .await?)
}

/// The earliest deadline of all pending requests.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn next_deadline(tx: &mut SqliteConnection) -> Result<Option<Timestamp>, StoreError> {
    let earliest: Option<i64> =
        sqlx::query_scalar("SELECT min(deadline_at) FROM requests WHERE state = 'pending'")
            .fetch_one(tx)
            .await?;
    Ok(earliest.map(Timestamp))
}

/// How many requests of each agent wait for an answer.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn waiting_by_agent(
    tx: &mut SqliteConnection,
) -> Result<Vec<(String, String, i64)>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT ws, agent, count(*) FROM requests WHERE state <> 'decided'
         AND state IN ('pending', 'holding', 'queued') GROUP BY ws, agent",
    )
    .fetch_all(tx)
    .await?)
}

/// Payload of a request as received, as a transaction sees it.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn payload(tx: &mut SqliteConnection, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(sqlx::query_scalar("SELECT raw FROM requests WHERE id = ?")
        .bind(id)
        .fetch_optional(tx)
        .await?)
}

/// Payload of a request as received.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn raw(reader: &Reader, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(sqlx::query_scalar("SELECT raw FROM requests WHERE id = ?")
        .bind(id)
        .fetch_optional(&reader.0)
        .await?)
}

/// How many requests wait and how many were rejected.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn counts(reader: &Reader) -> Result<(i64, i64), StoreError> {
    Ok(sqlx::query_as(
        "SELECT (SELECT count(*) FROM requests WHERE state = 'pending'),
                (SELECT count(*) FROM requests WHERE state <> 'decided' AND state = 'rejected')",
    )
    .fetch_one(&reader.0)
    .await?)
}
