//! Requests with their decisions, as lists show them.

use countersign_wire::RequestKey;
use futures::TryStreamExt;
use rusqlite::{Connection, Row};
use sqlx::{QueryBuilder, Sqlite};

use super::requests::parts;
use super::{Reader, StoreError, conditions, sql};
use crate::domain::{State, Timestamp};

/// A request with what became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct RequestSummary {
    /// Row number.
    pub id: i64,
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Request id.
    pub request_id: String,
    /// Kind.
    pub kind: Option<String>,
    /// Tool name as the agent wrote it.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: String,
    /// Life-cycle state.
    pub state: String,
    /// As it reads everywhere.
    pub verdict: Option<String>,
    /// Who decided.
    pub origin: Option<String>,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// The operator's words.
    pub message: Option<String>,
    /// Digest of the arguments at the gate.
    pub args_digest: Option<String>,
    /// ms.
    pub requested_at: Option<i64>,
    /// ms.
    pub stored_at: i64,
    /// ms.
    pub received_at: i64,
    /// ms.
    pub deadline_at: i64,
    /// ms.
    pub decided_at: Option<i64>,
    /// Rung of the ladder.
    pub delivery: String,
    /// Sequence of the request.
    pub request_seq: i64,
    /// Sequence of the decision.
    pub stream_seq: Option<i64>,
    /// Rule that decided.
    pub rule_id: Option<String>,
    /// Its version.
    pub rule_version: Option<i64>,
    /// Why it was rejected.
    pub error_code: Option<String>,
    /// Why it was rejected.
    pub error_detail: Option<String>,
    /// Thread of the agent.
    pub thread_id: Option<String>,
    /// Run of the agent.
    pub run_id: Option<String>,
    /// Trace of the agent.
    pub trace_id: Option<String>,
    /// Span of that trace which waits for the answer.
    pub span_id: Option<String>,
    /// How many operators must agree, 1 to 5; 1 for a question or a form, whatever it asks for: one answers.
    pub approvals_required: i64,
    /// How many votes are valid and, once they are counted, count together; 0 where one operator is enough.
    pub votes: i64,
    /// How many votes are for something else than most, as far as that may be shown here.
    #[sqlx(skip)]
    pub apart: i64,
    /// Whether this console's operator has voted: on the stream or on the way there.
    pub voted: bool,
    /// Valid votes, JSON `[[key, verdict, args_digest]]`, until they are counted; none where one operator is enough.
    pub ballots: Option<String>,
    /// Keys whose votes this console has sent or sends, JSON; the same.
    pub sent: Option<String>,
    /// What is remarkable about the call, JSON of the findings as they were made last before it was decided, the
    /// strongest first. None while it was not looked at, and where another console decided.
    pub findings: Option<String>,
    /// What will happen, where the console can be sure.
    pub effect: Option<String>,
    /// Payload as received; empty unless asked for.
    pub raw: Vec<u8>,
}

impl RequestSummary {
    /// Which request it is; none for a message whose subject named none.
    #[must_use]
    pub fn key(&self) -> Option<RequestKey> {
        format!("{}/{}/{}", self.ws, self.agent, self.request_id)
            .parse()
            .ok()
    }
}

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
/// at one moment, however many. `each` must not wait: the log of the store grows meanwhile.
pub async fn inbox(
    reader: &Reader,
    filter: &Filter,
    with_raw: bool,
    mut each: impl FnMut(RequestSummary),
) -> Result<(), StoreError> {
    let mut query = select(with_raw);
    query.push(" AND r.state = 'pending'");
    narrow(&mut query, filter);
    query.push(" ORDER BY r.deadline_at, r.id");
    let mut rows = query.build_query_as::<RequestSummary>().fetch(&reader.0);
    while let Some(row) = rows.try_next().await? {
        each(row);
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
    Ok(query.build_query_as().fetch_all(&reader.0).await?)
}

/// These rows, with payloads.
pub async fn by_ids(reader: &Reader, ids: &[i64]) -> Result<Vec<RequestSummary>, StoreError> {
    let mut query = select(true);
    query.push(" AND r.id IN (SELECT value FROM json_each(");
    query.push_bind(serde_json::Value::from(ids).to_string());
    query.push("))");
    Ok(query.build_query_as().fetch_all(&reader.0).await?)
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

fn read(row: &Row<'_>) -> rusqlite::Result<RequestSummary> {
    Ok(RequestSummary {
        id: row.get("id")?,
        ws: row.get("ws")?,
        agent: row.get("agent")?,
        request_id: row.get("request_id")?,
        kind: row.get("kind")?,
        tool: row.get("tool")?,
        risk: row.get("risk")?,
        state: row.get("state")?,
        verdict: row.get("verdict")?,
        origin: row.get("origin")?,
        decided_by: row.get("decided_by")?,
        message: row.get("message")?,
        args_digest: row.get("args_digest")?,
        requested_at: row.get("requested_at")?,
        stored_at: row.get("stored_at")?,
        received_at: row.get("received_at")?,
        deadline_at: row.get("deadline_at")?,
        decided_at: row.get("decided_at")?,
        delivery: row.get("delivery")?,
        request_seq: row.get("request_seq")?,
        stream_seq: row.get("stream_seq")?,
        rule_id: row.get("rule_id")?,
        rule_version: row.get("rule_version")?,
        error_code: row.get("error_code")?,
        error_detail: row.get("error_detail")?,
        thread_id: row.get("thread_id")?,
        run_id: row.get("run_id")?,
        trace_id: row.get("trace_id")?,
        span_id: row.get("span_id")?,
        approvals_required: row.get("approvals_required")?,
        votes: row.get("votes")?,
        apart: 0,
        voted: row.get("voted")?,
        ballots: row.get("ballots")?,
        sent: row.get("sent")?,
        findings: row.get("findings")?,
        effect: row.get("effect")?,
        raw: row.get("raw")?,
    })
}
