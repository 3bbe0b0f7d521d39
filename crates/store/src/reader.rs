//! Table `reader`: what a second reader made of calls. How it is, is in `meta`.

use rusqlite::{Connection, params};

use super::{Reader, StoreError, meta, sql};
use crate::domain::reader::{ReadCall, ReaderState, Reading};

/// Key of the state in `meta`, JSON.
const STATE: &str = "reader";
/// Of so many newest decisions of people, the console's looks are counted.
const NEWEST: i64 = 5_000;

/// What was made of one call.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct ReadRow {
    /// `asked`, `answered`, `failed`, `skipped`, `late`.
    pub state: String,
    /// JSON `[{at, code, message}]`.
    pub marks: Option<String>,
}

/// Counts since the table began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct ReaderCounts {
    /// Calls that were sent.
    pub asked: i64,
    /// Calls that were answered in time.
    pub answered: i64,
    /// Calls without a valid answer.
    pub failed: i64,
    /// Calls that were never sent.
    pub skipped: i64,
    /// Marks that did not fit.
    pub dropped: i64,
    /// Calls with marks.
    pub marked: i64,
    /// Those of them that people decided, and denied.
    pub marked_decided: i64,
    /// The latter.
    pub marked_denied: i64,
    /// Of the newest 5,000 calls that people decided, those with a look of the console's own.
    pub looked: i64,
    /// Those of them that were denied.
    pub looked_denied: i64,
}

/// Keeps what became of a call. Returns how it reads now: an answer for what waits no longer is late.
pub fn keep(tx: &Connection, call: &ReadCall, now: i64) -> Result<Reading, StoreError> {
    let waits =
        "SELECT EXISTS (SELECT 1 FROM requests WHERE id = ? AND state IN ('pending', 'holding'))";
    let waits: bool = sql::value(tx, waits, [call.request])?;
    let (reading, marks) = match call.reading {
        Reading::Answered if !waits => (Reading::Late, None),
        Reading::Asked if !waits => (Reading::Skipped, None),
        reading if call.marks.is_empty() => (reading, None),
        reading => (reading, serde_json::to_string(&call.marks).ok()),
    };
    sql::change(
        tx,
        "INSERT INTO reader(request, state, asked_at, dropped, marks) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT(request) DO UPDATE SET state = excluded.state, dropped = excluded.dropped, marks = excluded.marks
         WHERE state = 'asked'",
        params![
            call.request,
            reading.as_str(),
            (reading == Reading::Asked).then_some(now),
            call.dropped,
            marks,
        ],
    )?;
    Ok(reading)
}

/// Keeps that these calls (JSON) were never sent: a flood of them passes here. What a rule or key answered was never
/// meant for a reader.
pub fn skip(tx: &Connection, rows: &str) -> Result<(), StoreError> {
    let skip = "INSERT OR IGNORE INTO reader(request, state, dropped) SELECT r.id, 'skipped', 0 FROM requests r
               WHERE r.id IN (SELECT value FROM json_each(?)) AND ifnull(r.origin, '') NOT IN ('rule', 'setup_key')";
    sql::change(tx, skip, [rows]).map(drop)
}

/// Keeps how the reader is.
pub fn keep_state(tx: &Connection, to: &ReaderState) -> Result<(), StoreError> {
    let state = serde_json::to_string(to).unwrap_or_default();
    meta::put(tx, STATE, &state).map(drop)
}

/// How the reader is.
pub async fn state(reader: &Reader) -> Result<ReaderState, StoreError> {
    let kept = meta::get(reader, STATE).await?.unwrap_or_default();
    Ok(serde_json::from_str(&kept).unwrap_or_default())
}

/// Calls with a deadline that wait in these workspaces (JSON), were looked at by the console, and were never sent or
/// skipped; and whether they wait since `before` or longer.
pub async fn waiting(
    reader: &Reader,
    workspaces: &str,
    before: i64,
) -> Result<Vec<(i64, i64, bool)>, StoreError> {
    let sql = "SELECT id, deadline_at, stored_at <= ?2 FROM requests r
               WHERE state <> 'decided' AND state IN ('pending', 'holding')
               AND kind = 'tool_call' AND tool IS NOT 'countersign_probe' AND findings IS NOT NULL
               AND ws IN (SELECT value FROM json_each(?1))
               AND NOT EXISTS (SELECT 1 FROM reader x WHERE x.request = r.id)";
    let query = sqlx::query_as(sql).bind(workspaces).bind(before);
    Ok(query.fetch_all(&reader.0).await?)
}

/// Calls that were sent and are not answered: row and `WS/AGENT/ID`.
pub async fn under_way(reader: &Reader) -> Result<Vec<(i64, String)>, StoreError> {
    let sql = "SELECT r.id, r.ws || '/' || r.agent || '/' || r.request_id
               FROM reader x JOIN requests r ON r.id = x.request WHERE x.state = 'asked'";
    Ok(sqlx::query_as(sql).fetch_all(&reader.0).await?)
}

/// How many calls were sent after that time, ms.
pub async fn asked_since(reader: &Reader, after: i64) -> Result<i64, StoreError> {
    let sql = "SELECT count(*) FROM reader WHERE asked_at > ?";
    Ok(sqlx::query_scalar(sql)
        .bind(after)
        .fetch_one(&reader.0)
        .await?)
}

/// What was made of a request; none where it was never in line.
pub async fn of_request(reader: &Reader, request: i64) -> Result<Option<ReadRow>, StoreError> {
    let sql = "SELECT state, marks FROM reader WHERE request = ?";
    Ok(sqlx::query_as(sql)
        .bind(request)
        .fetch_optional(&reader.0)
        .await?)
}

/// Which of these rows (JSON) have marks.
pub fn marked(sqlite: &Connection, rows: &str) -> Result<Vec<i64>, StoreError> {
    let marked = "SELECT request FROM reader WHERE marks IS NOT NULL AND request IN (SELECT value FROM json_each(?))";
    sql::column(sqlite, marked, [rows])
}

/// The counts.
pub async fn counts(reader: &Reader) -> Result<ReaderCounts, StoreError> {
    let sql = "SELECT count(asked_at) AS asked, count(*) FILTER (WHERE x.state = 'answered') AS answered,
           count(*) FILTER (WHERE x.state = 'failed') AS failed, count(*) FILTER (WHERE x.state = 'skipped') AS skipped,
           coalesce(sum(dropped), 0) AS dropped, count(marks) AS marked,
           count(marks) FILTER (WHERE r.origin = 'operator') AS marked_decided,
           count(marks) FILTER (WHERE r.origin = 'operator' AND r.verdict IN ('deny', 'terminate')) AS marked_denied,
           n.looked, n.looked_denied
         FROM (SELECT count(*) AS looked, count(*) FILTER (WHERE verdict IN ('deny', 'terminate')) AS looked_denied
           FROM (SELECT verdict, findings FROM requests INDEXED BY requests_by_origin WHERE origin = 'operator'
             ORDER BY id DESC LIMIT ?) WHERE instr(findings, '\"weight\":\"look\"') > 0) n
         LEFT JOIN reader x ON 1 LEFT JOIN requests r ON r.id = x.request AND x.marks IS NOT NULL";
    Ok(sqlx::query_as(sql)
        .bind(NEWEST)
        .fetch_one(&reader.0)
        .await?)
}

#[cfg(test)]
mod tests;
