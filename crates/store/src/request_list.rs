//! Requests with their decisions, as lists show them.

use countersign_wire::RequestKey;
use futures::TryStreamExt;
use rusqlite::{Connection, Row};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, QueryBuilder, Row as _, Sqlite};

use super::requests::parts;
use super::{Reader, StoreError, conditions, sql};
pub use crate::domain::facts::RequestSummary;
use crate::domain::{State, Timestamp};

/// What to list. Every given part must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Workspace.
    pub workspace: Option<String>,
    /// Agent name.
    pub agent: Option<String>,
    /// Tool name, whole.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: Option<String>,
    /// Verdict as it reads everywhere.
    pub verdict: Option<String>,
    /// Origin.
    pub origin: Option<String>,
    /// State.
    pub state: Option<State>,
    /// Stored at or after.
    pub since: Option<Timestamp>,
    /// Stored before.
    pub until: Option<Timestamp>,
}

/// What a decision says, stored on the stream or queued on its way there.
macro_rules! said {
    ($column:literal, $path:literal) => {
        concat!(
            "coalesce(d.",
            $column,
            ", CASE WHEN r.state = 'queued' THEN (SELECT CASE WHEN json_valid(CAST(o.payload AS TEXT)) THEN
             json_extract(CAST(o.payload AS TEXT), '",
            $path,
            "') END FROM outbox o WHERE o.kind = 'decision' AND o.request = r.id) END) AS ",
            $column,
            ", "
        )
    };
}

pub(super) fn select(with_raw: bool) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::<Sqlite>::new(concat!(
        "SELECT r.id, r.ws, r.agent, r.request_id, r.kind, r.tool, r.risk, r.state, r.verdict, r.origin, ",
        said!("decided_by", "$.decided_by"),
        said!("message", "$.message"),
        said!("rule_id", "$.rule.id"),
        said!("rule_version", "$.rule.version"),
        "r.args_digest, r.requested_at, r.stored_at, r.received_at, r.deadline_at,
         r.decided_at, r.delivery, r.stream_seq AS request_seq, d.stream_seq AS stream_seq,
         r.error_code, r.error_detail, r.thread_id, r.run_id, r.trace_id, r.span_id,
         r.findings, r.effect,
         CASE r.kind WHEN 'tool_call' THEN max(r.approvals_required, coalesce(r.approvals_needed, 1))
           ELSE 1 END AS approvals_required,
         CASE WHEN r.approvals_required > 1 OR r.approvals_needed > 1 THEN
           (SELECT count(*) FROM votes v WHERE v.request = r.id AND v.stands = 1) ELSE 0 END AS votes,
         CASE WHEN r.approvals_required > 1 OR r.approvals_needed > 1 THEN
           EXISTS (SELECT 1 FROM votes v WHERE v.request = r.id AND v.mine = 1)
           OR EXISTS (SELECT 1 FROM outbox o WHERE o.kind = 'vote' AND o.request = r.id AND o.state IN ('queued', 'stored'))
         ELSE 0 END AS voted,
         CASE WHEN r.approvals_required > 1 OR r.approvals_needed > 1 THEN
           (SELECT json_group_array(json_array(v.key, v.verdict, v.args_digest)) FROM votes v
            WHERE v.request = r.id AND v.stands = 1) END AS ballots,
         CASE WHEN r.approvals_required > 1 OR r.approvals_needed > 1 THEN
           (SELECT json_group_array(o.signer) FROM outbox o
            WHERE o.kind = 'vote' AND o.request = r.id AND o.state IN ('queued', 'stored')) END AS sent, ",
    ));
    query.push(if with_raw { "r.raw" } else { "x'' AS raw" });
    query.push(" FROM requests r LEFT JOIN decisions d ON d.request = r.id WHERE 1");
    query
}

fn narrow(query: &mut QueryBuilder<Sqlite>, filter: &Filter) {
    let columns = [
        ("ws", &filter.workspace),
        ("agent", &filter.agent),
        ("tool", &filter.tool),
        ("risk", &filter.risk),
        ("verdict", &filter.verdict),
        ("origin", &filter.origin),
    ];
    conditions::equal(query, columns);
    conditions::in_state(query, filter.state);
    query.push(" AND ").push(conditions::no_probe("r.id"));
    conditions::stored(query, filter.since, filter.until);
}

/// Requests that wait for an operator, earliest deadline first, one at a time: all of them as they are
/// at one moment, however many, or so many of them. `each` must not wait: the log of the store grows meanwhile.
pub async fn inbox(
    reader: &Reader,
    filter: &Filter,
    most: Option<i64>,
    with_raw: bool,
    mut each: impl FnMut(RequestSummary),
) -> Result<(), StoreError> {
    let mut query = select(with_raw);
    query.push(" AND r.state = 'pending'");
    narrow(&mut query, filter);
    query.push(" ORDER BY r.deadline_at, r.id");
    if let Some(most) = most {
        query.push(" LIMIT ").push_bind(most);
    }
    let mut rows = query.build_query_as::<Line>().fetch(&reader.0);
    while let Some(row) = rows.try_next().await? {
        each(row.0);
    }
    Ok(())
}

/// All requests, newest first, from the one before row `before` on.
pub async fn history(
    reader: &Reader,
    filter: &Filter,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<RequestSummary>, StoreError> {
    let mut query = select(false);
    narrow(&mut query, filter);
    if let Some(before) = before {
        query.push(" AND r.id < ");
        query.push_bind(before);
    }
    query.push(" ORDER BY r.id DESC LIMIT ");
    query.push_bind(limit);
    fetched(query, reader).await
}

/// These rows, with payloads.
pub async fn by_ids(reader: &Reader, ids: &[i64]) -> Result<Vec<RequestSummary>, StoreError> {
    let mut query = select(true);
    query.push(" AND r.id IN (SELECT value FROM json_each(");
    query.push_bind(serde_json::Value::from(ids).to_string());
    query.push("))");
    fetched(query, reader).await
}

/// The payloads of these rows, each with its row, but for those of more than `most` bytes.
pub async fn payloads(
    reader: &Reader,
    ids: &[i64],
    most: i64,
) -> Result<Vec<(i64, Vec<u8>)>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT r.id, r.raw FROM json_each(?) wanted CROSS JOIN requests r ON r.id = wanted.value
         WHERE length(r.raw) <= ?",
    )
    .bind(serde_json::Value::from(ids).to_string())
    .bind(most)
    .fetch_all(&reader.0)
    .await?)
}

/// One request by its key.
pub async fn by_key(
    reader: &Reader,
    key: &RequestKey,
) -> Result<Option<RequestSummary>, StoreError> {
    let key = key.clone();
    reader.direct(move |sqlite| of_key(sqlite, &key)).await
}

/// The same, where a connection is at hand.
pub fn of_key(sqlite: &Connection, key: &RequestKey) -> Result<Option<RequestSummary>, StoreError> {
    let of_key = whole(" AND r.ws = ? AND r.agent = ? AND r.request_id = ?");
    sql::first(sqlite, &of_key, parts(key), read)
}

/// All requests with this id, whoever asks; `rejected:SEQ` too.
pub fn of_request_id(sqlite: &Connection, id: &str) -> Result<Vec<RequestSummary>, StoreError> {
    let of_id = whole(" AND r.request_id = ? ORDER BY r.ws, r.agent LIMIT 20");
    sql::all(sqlite, &of_id, [id], read)
}

fn whole(condition: &str) -> String {
    let mut query = select(true);
    query.push(condition);
    query.into_string()
}

/// The columns of a row, for either library.
macro_rules! line {
    ($row:ident.$get:ident) => {
        RequestSummary {
            id: $row.$get("id")?,
            ws: $row.$get("ws")?,
            agent: $row.$get("agent")?,
            request_id: $row.$get("request_id")?,
            kind: $row.$get("kind")?,
            tool: $row.$get("tool")?,
            risk: $row.$get("risk")?,
            state: $row.$get("state")?,
            verdict: $row.$get("verdict")?,
            origin: $row.$get("origin")?,
            decided_by: $row.$get("decided_by")?,
            message: $row.$get("message")?,
            args_digest: $row.$get("args_digest")?,
            requested_at: $row.$get("requested_at")?,
            stored_at: $row.$get("stored_at")?,
            received_at: $row.$get("received_at")?,
            deadline_at: $row.$get("deadline_at")?,
            decided_at: $row.$get("decided_at")?,
            delivery: $row.$get("delivery")?,
            request_seq: $row.$get("request_seq")?,
            stream_seq: $row.$get("stream_seq")?,
            rule_id: $row.$get("rule_id")?,
            rule_version: $row.$get("rule_version")?,
            error_code: $row.$get("error_code")?,
            error_detail: $row.$get("error_detail")?,
            thread_id: $row.$get("thread_id")?,
            run_id: $row.$get("run_id")?,
            trace_id: $row.$get("trace_id")?,
            span_id: $row.$get("span_id")?,
            approvals_required: $row.$get("approvals_required")?,
            votes: $row.$get("votes")?,
            apart: 0,
            voted: $row.$get("voted")?,
            ballots: $row.$get("ballots")?,
            sent: $row.$get("sent")?,
            findings: $row.$get("findings")?,
            effect: $row.$get("effect")?,
            raw: $row.$get("raw")?,
        }
    };
}

fn read(row: &Row<'_>) -> rusqlite::Result<RequestSummary> {
    Ok(line!(row.get))
}

/// A row of a list.
struct Line(RequestSummary);

impl FromRow<'_, SqliteRow> for Line {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self(line!(row.try_get)))
    }
}

/// What a query from [`select`] finds.
pub(super) async fn fetched(
    mut query: QueryBuilder<Sqlite>,
    reader: &Reader,
) -> Result<Vec<RequestSummary>, StoreError> {
    let lines: Vec<Line> = query.build_query_as().fetch_all(&reader.0).await?;
    Ok(lines.into_iter().map(|line| line.0).collect())
}
