//! Table `requests`: one row a request, in the order of arrival.

use std::collections::HashMap;

use countersign_wire::{AgentKey, Effects, RejectionCode, RequestKey, Risk, Verdict, VerdictSet};
use rusqlite::{Connection, Row, params};

use super::block_times::{Of, Times};
use super::{Reader, StoreError, sql};
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
    /// The call's effects, where its agent checks signatures of devices.
    pub device_effects: Option<Effects>,
}

/// A record from the columns of [`RECORD`] and its key, where that is known already; none for a row whose
/// subject gave no valid key: nothing can be decided on it.
fn record(row: &Row<'_>, known: Option<&RequestKey>) -> Result<Option<RequestRecord>, StoreError> {
    let text = |place: usize| row.get_ref(place)?.as_str().map_err(rusqlite::Error::from);
    let text_or_null = |place: usize| {
        let value = row.get_ref(place)?;
        value.as_str_or_null().map_err(rusqlite::Error::from)
    };
    let key = match known {
        Some(key) => key.clone(),
        None => match format!("{}/{}/{}", text(1)?, text(2)?, text(3)?).parse() {
            Ok(key) => key,
            Err(_) => return Ok(None),
        },
    };
    let corrupt = |column: &str| StoreError::corrupt(format!("an unknown {column} in requests"));
    let approvals_required =
        u8::try_from(row.get::<_, i64>(10)?).map_err(|_| corrupt("approvals_required"))?;
    let stored_at = Timestamp(row.get(11)?);
    let error = text_or_null(17)?;
    Ok(Some(RequestRecord {
        id: row.get(0)?,
        key,
        state: text(4)?.parse().map_err(|_| corrupt("state"))?,
        delivery: Delivery::from_word(text(5)?).ok_or_else(|| corrupt("delivery"))?,
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
        device_effects: text_or_null(19)?.map(|word| Effects::effective(Some(word))),
        has_args: text_or_null(13)? == Some("tool_call"),
        refused_here: error == Some(TOO_MANY),
        no_request: error.is_some_and(|code| code != TOO_MANY),
    }))
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
    error_code, approvals_needed, device_effects FROM requests WHERE ";

/// Inserts rows; a row whose key or stream position is taken is left out.
///
/// Returns (row number, stream sequence) of what was inserted.
pub fn insert(tx: &Connection, rows: &[NewRequest<'_>]) -> Result<Vec<(i64, i64)>, StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO requests(ws, agent, request_id, kind, tool, risk, title, run_id, thread_id, call_id,
         trace_id, span_id, group_id, allowed, approvals_required, args_digest, request_digest, raw,
         stream_epoch, stream_seq, requested_at, stored_at, received_at, lifetime, deadline_at, state,
         delivery, error_code, error_detail, tightened_at, tool_digest, findings, effect, device_effects)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
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
            row.device_effects.map(Effects::as_str),
        ])?;
        if added == 1 {
            let id = tx.last_insert_rowid();
            inserted.push((id, row.stream_seq));
            times.add(id, row.stored_at);
        }
    }
    times.note(tx, Of::Requests)?;
    Ok(inserted)
}

/// What names a request in the first columns of a table's key.
pub(super) fn parts(key: &RequestKey) -> [&str; 3] {
    [
        key.workspace.as_ref(),
        key.agent.as_ref(),
        key.request_id.as_ref(),
    ]
}

/// The records of these keys by their key.
pub fn records_by_key(
    tx: &Connection,
    keys: &[RequestKey],
) -> Result<HashMap<RequestKey, RequestRecord>, StoreError> {
    let found = records(tx, keys)?.into_iter();
    Ok(found.map(|record| (record.key.clone(), record)).collect())
}

/// The records of these keys, in their order; unknown keys are left out.
pub fn records(tx: &Connection, keys: &[RequestKey]) -> Result<Vec<RequestRecord>, StoreError> {
    let sql = format!("{RECORD} ws = ? AND agent = ? AND request_id = ?");
    let mut select = tx.prepare_cached(&sql)?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let mut rows = select.query(parts(key))?;
        if let Some(row) = rows.next()? {
            found.extend(record(row, Some(key))?);
        }
    }
    Ok(found)
}

/// The records of these rows, in their order; unknown rows are left out.
pub fn records_by_id(tx: &Connection, ids: &[i64]) -> Result<Vec<RequestRecord>, StoreError> {
    let mut select = tx.prepare_cached(&format!("{RECORD} id = ?"))?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let mut rows = select.query([id])?;
        if let Some(row) = rows.next()? {
            found.extend(record(row, None)?);
        }
    }
    Ok(found)
}

/// Notes the place of the very same request in a stream that was made or numbered anew; its stamps stay. False when
/// another one is known, or this one at this epoch.
pub fn moved(tx: &Connection, row: &NewRequest<'_>) -> Result<bool, StoreError> {
    let moved = sql::change(
        tx,
        "UPDATE requests SET stream_epoch = ?5, stream_seq = ?6
         WHERE ws = ?1 AND agent = ?2 AND request_id = ?3 AND request_digest = ?4 AND stream_epoch <> ?5",
        params![
            row.ws,
            row.agent,
            row.request_id,
            row.request_digest,
            row.stream_epoch,
            row.stream_seq,
        ],
    )?;
    Ok(moved == 1)
}

/// Shortens a deadline: the first tighten counts, and none lengthens. Returns whether it did.
pub fn tighten(
    tx: &Connection,
    id: i64,
    deadline: Timestamp,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let tighten = "UPDATE requests SET deadline_at = min(deadline_at, ?2), tightened_at = ?3
         WHERE id = ?1 AND tightened_at IS NULL";
    Ok(sql::change(tx, tighten, [id, deadline.0, at.0])? == 1)
}

/// Notes when a withdraw was stored; the first counts.
pub fn note_withdrawn(tx: &Connection, id: i64, at: Timestamp) -> Result<(), StoreError> {
    let note = "UPDATE requests SET withdrawn_at = ?2 WHERE id = ?1 AND withdrawn_at IS NULL";
    sql::change(tx, note, [id, at.0]).map(drop)
}

/// Row numbers of an agent's requests that can still be denied, oldest first.
pub fn open_of(tx: &Connection, agent: &AgentKey, limit: i64) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        "SELECT id FROM requests WHERE state <> 'decided' AND state IN ('pending', 'holding')
         AND ws = ? AND agent = ? ORDER BY id LIMIT ?",
        params![agent.workspace.as_ref(), agent.agent.as_ref(), limit],
    )
}

/// The calls of a tool that wait for an answer, the oldest first.
pub fn waiting_for(tx: &Connection, tool: &str, limit: i64) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        "SELECT id FROM requests WHERE state <> 'decided' AND state = 'pending' AND tool = ? ORDER BY id LIMIT ?",
        params![tool, limit],
    )
}

/// When an operator last ended a call of an agent, of those from row `oldest` on.
pub fn last_ended(
    tx: &Connection,
    agent: &AgentKey,
    oldest: i64,
) -> Result<Option<Timestamp>, StoreError> {
    // An agent that cannot honour the one gets the other.
    let at: Option<i64> = sql::value(
        tx,
        "SELECT max(decided_at) FROM requests
         WHERE verdict IN ('terminate', 'deny') AND id >= ? AND ws = ? AND agent = ? AND origin = 'operator'",
        params![oldest, agent.workspace.as_ref(), agent.agent.as_ref()],
    )?;
    Ok(at.map(Timestamp))
}

/// The agent's clock and the server's stamp of a request: what a tighten is measured against.
pub fn clocks(
    tx: &Connection,
    id: i64,
) -> Result<Option<(Option<Timestamp>, Timestamp)>, StoreError> {
    let clocks = "SELECT requested_at, stored_at FROM requests WHERE id = ?";
    sql::first(tx, clocks, [id], |row| {
        let requested: Option<i64> = row.get(0)?;
        Ok((requested.map(Timestamp), Timestamp(row.get(1)?)))
    })
}

/// Row numbers of pending requests whose deadline is at or before `now`, earliest first.
pub fn overdue(tx: &Connection, now: Timestamp, limit: i64) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        "SELECT id FROM requests WHERE state = 'pending' AND deadline_at <= ?
         ORDER BY deadline_at, id LIMIT ?",
        [now.0, limit],
    )
}

/// The earliest deadline of all pending requests.
pub fn next_deadline(tx: &Connection) -> Result<Option<Timestamp>, StoreError> {
    let earliest = "SELECT min(deadline_at) FROM requests WHERE state = 'pending'";
    Ok(sql::value::<Option<i64>>(tx, earliest, [])?.map(Timestamp))
}

/// Payload of a request as received, as a transaction sees it.
pub fn payload(tx: &Connection, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
    sql::first(tx, "SELECT raw FROM requests WHERE id = ?", [id], |row| {
        row.get(0)
    })
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
