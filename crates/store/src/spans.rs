//! Table `spans`: what agents did, the last state of each span.

use countersign_wire::AgentKey;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::block_times::{Of, Times};
use super::{Reader, StoreError, sql, traces};
use crate::domain::Timestamp;
pub use crate::domain::facts::{GateRow, SpanRow};

/// A span to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSpan {
    /// From the subject.
    pub agent: AgentKey,
    /// The agent's trace.
    pub trace_id: String,
    /// The agent's span.
    pub span_id: String,
    /// The span that caused it.
    pub parent_span_id: Option<String>,
    /// What is being done, its beginning only.
    pub name: String,
    /// Word of the protocol.
    pub kind: &'static str,
    /// Word of the protocol.
    pub status: Option<&'static str>,
    /// The agent's clock, ms.
    pub started_at: i64,
    /// The agent's clock, ms; none while it runs.
    pub ended_at: Option<i64>,
    /// The request that it waits for.
    pub request_id: Option<String>,
    /// The agent's call.
    pub call_id: Option<String>,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// The server's stamp.
    pub stored_at: Timestamp,
    /// Payload as received.
    pub body: Vec<u8>,
}

const UPSERT: &str =
    "INSERT INTO spans(ws, agent, trace_id, span_id, parent_span_id, name, kind, status,
      started_at, ended_at, request_id, call_id, stream_epoch, stream_seq, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(ws, agent, trace_id, span_id) DO UPDATE SET
      parent_span_id = excluded.parent_span_id, name = excluded.name, kind = excluded.kind,
      status = excluded.status, started_at = excluded.started_at, ended_at = excluded.ended_at,
      request_id = excluded.request_id, call_id = excluded.call_id,
      stream_epoch = excluded.stream_epoch, stream_seq = excluded.stream_seq, body = excluded.body
      WHERE excluded.stream_seq > spans.stream_seq OR excluded.stream_epoch <> spans.stream_epoch
    RETURNING id";

/// Keeps spans; of one span the later in the stream replaces the earlier (protocol, section 6).
pub fn upsert(tx: &Connection, epoch: &str, rows: &[&NewSpan]) -> Result<(), StoreError> {
    let mut upsert = tx.prepare_cached(UPSERT)?;
    let mut times = Times::default();
    for row in rows {
        let written = upsert
            .query_row(
                params![
                    row.agent.workspace.as_ref(),
                    row.agent.agent.as_ref(),
                    row.trace_id,
                    row.span_id,
                    row.parent_span_id,
                    row.name,
                    row.kind,
                    row.status,
                    row.started_at,
                    row.ended_at,
                    row.request_id,
                    row.call_id,
                    epoch,
                    row.stream_seq,
                    row.body,
                ],
                |row| row.get(0),
            )
            .optional()?;
        // None where a later one is stored already.
        if let Some(id) = written {
            times.add(id, row.stored_at);
        }
    }
    times.note(tx, Of::Spans)?;
    traces::touch(tx, rows.iter().map(|row| row.trace_id.as_str()))?;
    Ok(())
}

/// The spans of a trace, earliest first, at most `limit`. Agents share trace ids.
pub async fn of_trace(
    reader: &Reader,
    trace_id: &str,
    limit: i64,
) -> Result<Vec<SpanRow>, StoreError> {
    let trace_id = trace_id.to_owned();
    let read = reader.direct(move |sqlite| {
        let mut select = sqlite.prepare(
            "SELECT id, ws, agent, span_id, parent_span_id, name, kind, status, started_at, ended_at,
             request_id, call_id FROM spans WHERE trace_id = ? ORDER BY started_at, id LIMIT ?",
        )?;
        let rows = select.query_map(params![trace_id, limit], span_row)?;
        rows.collect()
    });
    read.await
}

/// The requests that name a trace, and those that its spans name; oldest first, at most `limit`.
pub async fn gates_of_trace(
    reader: &Reader,
    trace_id: &str,
    limit: i64,
) -> Result<Vec<GateRow>, StoreError> {
    let gates =
        "SELECT r.id, r.ws, r.agent, r.request_id, r.tool, r.risk, r.state, r.verdict, r.origin,
         d.decided_by, r.stored_at, r.decided_at, r.deadline_at, r.span_id, r.call_id
         FROM requests r LEFT JOIN decisions d ON d.request = r.id
         WHERE r.id IN (
           SELECT id FROM requests WHERE trace_id = ?1
           UNION
           SELECT named.id FROM spans s CROSS JOIN requests named
             ON named.ws = s.ws AND named.agent = s.agent AND named.request_id = s.request_id
           WHERE s.trace_id = ?1 AND s.request_id IS NOT NULL)
         ORDER BY r.id LIMIT ?2";
    let trace_id = trace_id.to_owned();
    let read = reader.direct(move |sqlite| {
        sql::all(sqlite, gates, params![trace_id, limit], |row| {
            Ok(GateRow {
                id: row.get(0)?,
                ws: row.get(1)?,
                agent: row.get(2)?,
                request_id: row.get(3)?,
                tool: row.get(4)?,
                risk: row.get(5)?,
                state: row.get(6)?,
                verdict: row.get(7)?,
                origin: row.get(8)?,
                decided_by: row.get(9)?,
                stored_at: row.get(10)?,
                decided_at: row.get(11)?,
                deadline_at: row.get(12)?,
                span_id: row.get(13)?,
                call_id: row.get(14)?,
            })
        })
    });
    read.await
}

/// The traces that spans of a request belong to, newest first.
pub async fn traces_of_request(
    reader: &Reader,
    (ws, agent, request_id): (&str, &str, &str),
) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT DISTINCT trace_id FROM spans WHERE ws = ? AND agent = ? AND request_id = ?
         ORDER BY stream_seq DESC LIMIT 10",
    )
    .bind(ws)
    .bind(agent)
    .bind(request_id)
    .fetch_all(&reader.0)
    .await?)
}

/// The trace that a request names itself.
pub async fn trace_of_request(reader: &Reader, id: i64) -> Result<Option<String>, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT trace_id FROM requests WHERE id = ?")
            .bind(id)
            .fetch_optional(&reader.0)
            .await?
            .flatten(),
    )
}

/// The bodies of these rows, as received, with their row numbers.
pub async fn bodies(reader: &Reader, ids: &[i64]) -> Result<Vec<(i64, Vec<u8>)>, StoreError> {
    let sql = "SELECT id, body FROM spans WHERE id IN (SELECT value FROM json_each(?))";
    Ok(sqlx::query_as(sql)
        .bind(serde_json::Value::from(ids).to_string())
        .fetch_all(&reader.0)
        .await?)
}

/// The first twelve columns of a span.
pub(super) fn span_row(row: &Row<'_>) -> rusqlite::Result<SpanRow> {
    Ok(SpanRow {
        id: row.get(0)?,
        ws: row.get(1)?,
        agent: row.get(2)?,
        span_id: row.get(3)?,
        parent_span_id: row.get(4)?,
        name: row.get(5)?,
        kind: row.get(6)?,
        status: row.get(7)?,
        started_at: row.get(8)?,
        ended_at: row.get(9)?,
        request_id: row.get(10)?,
        call_id: row.get(11)?,
    })
}
