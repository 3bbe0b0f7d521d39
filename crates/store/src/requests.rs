//! Table `requests`: one row a request, in the order of arrival.

use std::collections::HashMap;

use countersign_wire::{AgentKey, RejectionCode, RequestKey, Risk, Verdict, VerdictSet};
use rusqlite::{OptionalExtension, Row, params};
use sqlx::SqliteConnection;

use super::block_times::{Of, Times};
use super::direct::WriteConnection;
use super::{Reader, StoreError};
use crate::domain::{Delivery, RequestRecord, State, Timestamp};

/// A row to be inserted.
#[derive(Debug, Clone)]
pub struct NewRequest<'m> {
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
    pub raw: &'m [u8],
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
    /// Digest of what it says about its tool beyond the name.
    pub tool_digest: Option<String>,
    /// As in [`super::request_list::RequestSummary`].
    pub findings: Option<String>,
    /// As in [`super::request_list::RequestSummary`].
    pub effect: Option<String>,
}

/// A record from the columns of [`RECORD`] and its key, where that is known already; none for a row whose
/// subject gave no valid key: nothing can be decided on it.
fn record(row: &Row<'_>, known: Option<&RequestKey>) -> rusqlite::Result<Read> {
    let text = |place: usize| row.get_ref(place)?.as_str().map_err(rusqlite::Error::from);
    let key = match known {
        Some(key) => key.clone(),
        None => match format!("{}/{}/{}", text(1)?, text(2)?, text(3)?).parse() {
            Ok(key) => key,
            Err(_) => return Ok(Ok(None)),
        },
    };
    let corrupt = |column: &str| StoreError::corrupt(format!("an unknown {column} in requests"));
    let Ok(state) = text(4)?.parse() else {
        return Ok(Err(corrupt("state")));
    };
    let Some(delivery) = Delivery::from_word(text(5)?) else {
        return Ok(Err(corrupt("delivery")));
    };
    let Ok(approvals_required) = u8::try_from(row.get::<_, i64>(10)?) else {
        return Ok(Err(corrupt("approvals_required")));
    };
    let stored_at = Timestamp(row.get(11)?);
    let error = row.get_ref(17)?.as_str_or_null()?;
    Ok(Ok(Some(RequestRecord {
        id: row.get(0)?,
        key,
        state,
        delivery,
        risk: Risk::effective(text(6)?),
        args_digest: row.get(7)?,
        request_digest: row.get(8)?,
        allowed: VerdictSet::from_words(text(9)?.split(' ')),
        approvals_required,
        approvals_needed: approvals_required.max(row.get::<_, Option<u8>>(18)?.unwrap_or(1)),
        stored_at,
        deadline_at: Timestamp(row.get(12)?),
        first_deadline_at: stored_at.plus_ms(row.get(14)?),
        tightened_at: row.get::<_, Option<i64>>(15)?.map(Timestamp),
        withdrawn_at: row.get::<_, Option<i64>>(16)?.map(Timestamp),
        has_args: row.get_ref(13)?.as_str_or_null()? == Some("tool_call"),
        refused_here: error == Some(TOO_MANY),
        no_request: error.is_some_and(|code| code != TOO_MANY),
    })))
}

fn words(allowed: VerdictSet) -> String {
    allowed
        .iter()
        .map(Verdict::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

/// What one console has no room for, and another may.
const TOO_MANY: &str = RejectionCode::TooManyWaiting.as_str();

const RECORD: &str = "SELECT id, ws, agent, request_id, state, delivery, risk, args_digest, request_digest, \
    allowed, approvals_required, stored_at, deadline_at, kind, lifetime, tightened_at, withdrawn_at, \
    error_code, approvals_needed FROM requests WHERE ";

/// Inserts rows; a row whose key or stream position is taken is left out.
///
/// Returns (row number, stream sequence) of what was inserted.
pub async fn insert(
    tx: &mut WriteConnection,
    rows: &[NewRequest<'_>],
) -> Result<Vec<(i64, i64)>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    tx.direct(|sqlite| {
        let mut insert = sqlite.prepare_cached(
            "INSERT INTO requests(ws, agent, request_id, kind, tool, risk, title, run_id, thread_id, call_id,
             trace_id, span_id, group_id, allowed, approvals_required, args_digest, request_digest, raw,
             stream_epoch, stream_seq, requested_at, stored_at, received_at, lifetime, deadline_at, state,
             delivery, error_code, error_detail, tightened_at, tool_digest, findings, effect)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT DO NOTHING",
        )?;
        let mut inserted = Vec::with_capacity(rows.len());
        let mut times = Times::default();
        for row in rows {
            let added = insert.execute(params![
                row.ws,
                row.agent,
                row.request_id,
                row.kind,
                row.tool,
                row.risk.as_str(),
                row.title,
                row.run_id,
                row.thread_id,
                row.call_id,
                row.trace_id,
                row.span_id,
                row.group_id,
                words(row.allowed),
                row.approvals_required,
                row.args_digest,
                row.request_digest,
                row.raw,
                row.stream_epoch,
                row.stream_seq,
                row.requested_at.map(|at| at.0),
                row.stored_at.0,
                row.received_at.0,
                row.lifetime_ms,
                row.deadline_at.0,
                row.state.as_str(),
                Delivery::Stored.as_str(),
                row.error.as_ref().map(|(code, _)| code),
                row.error.as_ref().map(|(_, detail)| detail),
                row.tightened_at.map(|at| at.0),
                row.tool_digest,
                row.findings,
                row.effect,
            ])?;
            if added == 1 {
                let id = sqlite.last_insert_rowid();
                inserted.push((id, row.stream_seq));
                times.add(id, row.stored_at);
            }
        }
        times.note(sqlite, Of::Requests)?;
        Ok(inserted)
    })
    .await
}

/// The records of these keys by their key.
pub async fn records_by_key(
    tx: &mut WriteConnection,
    keys: &[RequestKey],
) -> Result<HashMap<RequestKey, RequestRecord>, StoreError> {
    let found = records(tx, keys).await?.into_iter();
    Ok(found.map(|record| (record.key.clone(), record)).collect())
}

/// The records of these keys, in their order; unknown keys are left out.
pub async fn records(
    tx: &mut WriteConnection,
    keys: &[RequestKey],
) -> Result<Vec<RequestRecord>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let found = tx.direct(|sqlite| {
        let sql = format!("{RECORD} ws = ? AND agent = ? AND request_id = ?");
        let mut select = sqlite.prepare_cached(&sql)?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let parts = [
                key.workspace.as_ref(),
                key.agent.as_ref(),
                key.request_id.as_ref(),
            ];
            found.extend(
                select
                    .query_row(parts, |row| record(row, Some(key)))
                    .optional()?,
            );
        }
        Ok(found)
    });
    known(found.await?)
}

/// The records of these rows, in their order; unknown rows are left out.
pub async fn records_by_id(
    tx: &mut WriteConnection,
    ids: &[i64],
) -> Result<Vec<RequestRecord>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = tx.direct(|sqlite| {
        let mut select = sqlite.prepare_cached(&format!("{RECORD} id = ?"))?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.extend(select.query_row([id], |row| record(row, None)).optional()?);
        }
        Ok(found)
    });
    known(found.await?)
}

type Read = Result<Option<RequestRecord>, StoreError>;

fn known(found: Vec<Read>) -> Result<Vec<RequestRecord>, StoreError> {
    found.into_iter().filter_map(Result::transpose).collect()
}

/// Notes the place of the very same request in a stream that was made or numbered anew; its stamps stay. False when
/// another one is known, or this one at this epoch.
pub async fn moved(tx: &mut SqliteConnection, row: &NewRequest<'_>) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE requests SET stream_epoch = ?5, stream_seq = ?6
         WHERE ws = ?1 AND agent = ?2 AND request_id = ?3 AND request_digest = ?4 AND stream_epoch <> ?5",
    )
    .bind(row.ws.as_str())
    .bind(row.agent.as_str())
    .bind(row.request_id.as_str())
    .bind(row.request_digest.as_str())
    .bind(row.stream_epoch.as_str())
    .bind(row.stream_seq)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Shortens a deadline: the first tighten counts, and none lengthens. Returns whether it did.
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

/// Row numbers of an agent's requests that can still be denied, oldest first.
pub async fn open_of(
    tx: &mut SqliteConnection,
    agent: &AgentKey,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT id FROM requests WHERE state <> 'decided' AND state IN ('pending', 'holding')
         AND ws = ? AND agent = ? ORDER BY id LIMIT ?",
    )
    .bind(agent.workspace.as_ref())
    .bind(agent.agent.as_ref())
    .bind(limit)
    .fetch_all(tx)
    .await?)
}

/// The calls of a tool that wait for an answer, the oldest first.
pub async fn waiting_for(
    tx: &mut SqliteConnection,
    tool: &str,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT id FROM requests WHERE state <> 'decided' AND state = 'pending' AND tool = ? ORDER BY id LIMIT ?",
    )
    .bind(tool)
    .bind(limit)
    .fetch_all(tx)
    .await?)
}

/// When an operator last ended a call of an agent, of those from row `oldest` on.
pub async fn last_ended(
    tx: &mut SqliteConnection,
    agent: &AgentKey,
    oldest: i64,
) -> Result<Option<Timestamp>, StoreError> {
    // An agent that cannot honour the one gets the other.
    let at: Option<i64> = sqlx::query_scalar(
        "SELECT max(decided_at) FROM requests
         WHERE verdict IN ('terminate', 'deny') AND id >= ? AND ws = ? AND agent = ? AND origin = 'operator'",
    )
    .bind(oldest)
    .bind(agent.workspace.as_ref())
    .bind(agent.agent.as_ref())
    .fetch_one(tx)
    .await?;
    Ok(at.map(Timestamp))
}

/// The agent's clock and the server's stamp of a request: what a tighten is measured against.
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
pub async fn next_deadline(tx: &mut SqliteConnection) -> Result<Option<Timestamp>, StoreError> {
    let earliest: Option<i64> =
        sqlx::query_scalar("SELECT min(deadline_at) FROM requests WHERE state = 'pending'")
            .fetch_one(tx)
            .await?;
    Ok(earliest.map(Timestamp))
}

/// Payload of a request as received, as a transaction sees it.
pub async fn payload(tx: &mut SqliteConnection, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(sqlx::query_scalar("SELECT raw FROM requests WHERE id = ?")
        .bind(id)
        .fetch_optional(tx)
        .await?)
}

/// How many requests wait and how many were rejected.
pub async fn counts(reader: &Reader) -> Result<(i64, i64), StoreError> {
    Ok(sqlx::query_as(
        "SELECT (SELECT count(*) FROM requests WHERE state = 'pending'),
                (SELECT count(*) FROM requests WHERE state <> 'decided' AND state = 'rejected')",
    )
    .fetch_one(&reader.0)
    .await?)
}
