//! The audit log as feeds read it: each row with what is known of the request that it is about.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::audit::Row;
use super::{Reader, StoreError, audit_refs};

/// Rows of the log that are looked through for decisions, where the index of the log has not come to them.
const BEHIND: i64 = 200_000;
/// What the index has come to meanwhile is forgotten after so many rows.
const FORGET: i64 = 1_000;

/// A row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// As stored.
    pub row: Row,
    /// Of the request that it is about; none for a row that is not a step of a request.
    pub facts: Option<Facts>,
}

/// What never changes of a request and its decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Kind.
    pub kind: Option<String>,
    /// The tool's name as the agent wrote it.
    pub tool: Option<String>,
    /// Risk.
    pub risk: Option<String>,
    /// Of the arguments.
    pub args_digest: Option<String>,
    /// Of the request.
    pub request_digest: Option<String>,
    /// ms.
    pub stored_at: Option<i64>,
    /// The first one, ms.
    pub deadline_at: Option<i64>,
    /// How the decision read when the row was written; none while there was none.
    pub effective: Option<String>,
    /// The decision, where there was one.
    pub decision: Option<DecisionFacts>,
    /// Of a receipt the decision that it names.
    pub receipt_of: Option<String>,
}

/// A stored decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFacts {
    /// Its id.
    pub id: Option<String>,
    /// The message, where it has no id.
    pub payload: Option<Vec<u8>>,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// Origin.
    pub origin: Option<String>,
    /// Rule.
    pub rule_id: Option<String>,
    /// Its version.
    pub rule_version: Option<i64>,
    /// ms.
    pub stored_at: i64,
}

/// Rows after `seq`, oldest first, at most `limit`.
///
/// # Errors
/// [`StoreError`].
pub async fn after(reader: &Reader, seq: i64, limit: usize) -> Result<Vec<LogRow>, StoreError> {
    let mut behind = Behind::default();
    after_with(reader, seq, limit, &mut behind).await
}

/// As [`after`], for one who reads on from page to page: what is behind the index of the log is looked through once.
///
/// # Errors
/// [`StoreError`].
pub async fn after_with(
    reader: &Reader,
    seq: i64,
    limit: usize,
    behind: &mut Behind,
) -> Result<Vec<LogRow>, StoreError> {
    let mut known = std::mem::take(behind);
    let read = reader.direct(move |sqlite| {
        let rows = read(sqlite, seq, limit, &mut known)?;
        Ok::<_, rusqlite::Error>((rows, known))
    });
    let (rows, known) = read.await?;
    *behind = known;
    Ok(rows)
}

/// As [`after`], with no more of each than its types need: of its request the tool, no hashes, and a detail only where it
/// has a stage or a verdict.
///
/// # Errors
/// [`StoreError`].
pub async fn light(reader: &Reader, seq: i64, limit: usize) -> Result<Vec<LogRow>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let read = reader.direct(move |sqlite| {
        let mut select = sqlite.prepare_cached(
            "SELECT seq, at, action, subject, CASE WHEN action IN ('decision', 'judged', 'judged_again', 'receipt')
               THEN detail ELSE '{}' END FROM audit WHERE seq > ? ORDER BY seq LIMIT ?",
        )?;
        let mut tool = sqlite.prepare_cached(
            "SELECT tool FROM requests WHERE ws = ? AND agent = ? AND request_id = ?",
        )?;
        let rows = select.query_map([seq, limit], |row| {
            let row = Row {
                seq: row.get(0)?,
                prev: Vec::new(),
                hash: Vec::new(),
                at: row.get(1)?,
                actor: String::new(),
                action: row.get(2)?,
                subject: row.get(3)?,
                detail: row.get(4)?,
            };
            let mut facts = None;
            if is_of_request(&row.action)
                && let Some(key) = audit_refs::parts(&row.subject)
            {
                let tool = tool.query_row(key, |row| row.get(0)).optional()?.flatten();
                facts = Some(Facts {
                    tool,
                    ..Facts::default()
                });
            }
            Ok(LogRow { row, facts })
        })?;
        rows.collect::<rusqlite::Result<Vec<LogRow>>>()
    });
    read.await
}

fn is_of_request(action: &str) -> bool {
    matches!(
        action,
        "request" | "rejected" | "decision" | "judged" | "judged_again" | "receipt"
    )
}

/// The first row at or after a time (RFC 3339, ms); none where all are older.
///
/// # Errors
/// [`StoreError`].
pub async fn first_since(reader: &Reader, at: &str) -> Result<Option<i64>, StoreError> {
    // The times of the log need not grow, and no index has them.
    let sql = "SELECT min(seq) FROM audit WHERE at >= ?";
    Ok(sqlx::query_scalar(sql)
        .bind(at)
        .fetch_one(&reader.0)
        .await?)
}

/// The last row before a time; 0 where all are younger.
///
/// # Errors
/// [`StoreError`].
pub async fn last_before(reader: &Reader, at: &str) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(max(seq), 0) FROM audit WHERE at < ?";
    Ok(sqlx::query_scalar(sql)
        .bind(at)
        .fetch_one(&reader.0)
        .await?)
}

fn read(
    sqlite: &Connection,
    seq: i64,
    limit: usize,
    behind: &mut Behind,
) -> rusqlite::Result<Vec<LogRow>> {
    let mut select = sqlite.prepare_cached(
        "SELECT seq, prev, hash, at, actor, action, subject, detail FROM audit WHERE seq > ? ORDER BY seq LIMIT ?",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select.query_map([seq, limit], |row| {
        Ok(Row {
            seq: row.get(0)?,
            prev: row.get(1)?,
            hash: row.get(2)?,
            at: row.get(3)?,
            actor: row.get(4)?,
            action: row.get(5)?,
            subject: row.get(6)?,
            detail: row.get(7)?,
        })
    })?;
    let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
    let last_receipt = rows.iter().rfind(|row| row.action == "receipt");
    if let Some(last) = last_receipt {
        behind.read_to(sqlite, last.seq)?;
    }
    let with_facts = rows.into_iter().map(|row| {
        let facts = match is_of_request(&row.action) {
            true => facts(sqlite, &row, behind)?,
            false => None,
        };
        Ok(LogRow { row, facts })
    });
    with_facts.collect()
}

/// How decisions read, by their requests, in rows that the index of the log has not come to.
#[derive(Debug, Default)]
pub struct Behind {
    from: i64,
    to: i64,
    found: HashMap<String, Vec<(i64, Option<String>)>>,
}

impl Behind {
    /// Adds what is before this row and was not looked at yet.
    fn read_to(&mut self, sqlite: &Connection, last: i64) -> rusqlite::Result<()> {
        let from = audit_refs::indexed(sqlite)?.max(last - BEHIND);
        if from >= self.from + FORGET {
            // The index has come to these.
            self.from = from;
            let is_behind = |read: &Vec<(i64, _)>| read.last().is_some_and(|(seq, _)| *seq > from);
            self.found.retain(|_, read| is_behind(read));
        }
        self.to = self.to.max(from);
        let mut select = sqlite.prepare_cached(
            "SELECT subject, seq, json_extract(detail, '$.effective') FROM audit WHERE seq > ? AND seq < ?
             AND action IN ('decision', 'judged', 'judged_again') ORDER BY seq",
        )?;
        let mut rows = select.query([self.to, last])?;
        while let Some(row) = rows.next()? {
            let read = (row.get(1)?, row.get(2)?);
            self.found.entry(row.get(0)?).or_default().push(read);
        }
        self.to = self.to.max(last - 1);
        Ok(())
    }
}

fn facts(sqlite: &Connection, row: &Row, behind: &Behind) -> rusqlite::Result<Option<Facts>> {
    let Some([ws, agent, id]) = audit_refs::parts(&row.subject) else {
        return Ok(None);
    };
    let key = [ws, agent, id];
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let mut request = sqlite.prepare_cached(
        "SELECT kind, tool, risk, args_digest, request_digest, stored_at, stored_at + lifetime, id FROM requests
         WHERE ws = ? AND agent = ? AND request_id = ?",
    )?;
    let found = request.query_row(key, |row| {
        let facts = Facts {
            kind: row.get(0)?,
            tool: row.get(1)?,
            risk: row.get(2)?,
            args_digest: row.get(3)?,
            request_digest: row.get(4)?,
            stored_at: row.get(5)?,
            deadline_at: row.get(6)?,
            ..Facts::default()
        };
        Ok((facts, row.get::<_, i64>(7)?))
    });
    let found = found.optional()?;
    let (mut facts, number) = found.unwrap_or_default();
    match row.action.as_str() {
        "request" | "rejected" => return Ok(Some(facts)),
        "receipt" => {
            let (stage, at) = (detail["stage"].as_str(), detail["stream_seq"].as_i64());
            let mut named = sqlite.prepare_cached(
                "SELECT decision_id FROM receipts WHERE ws = ? AND agent = ? AND request_id = ? AND stage = ?
                 ORDER BY stream_seq = ? DESC, stream_seq LIMIT 1",
            )?;
            let named = named.query_row(params![ws, agent, id, stage, at], |row| row.get(0));
            facts.receipt_of = named.optional()?;
            facts.effective = effective_before(sqlite, (number, row), behind)?;
        }
        _ => facts.effective = detail["effective"].as_str().map(str::to_owned),
    }
    if facts.effective.is_some() {
        facts.decision = decision(sqlite, key)?;
    }
    Ok(Some(facts))
}

fn effective_before(
    sqlite: &Connection,
    (request, row): (i64, &Row),
    behind: &Behind,
) -> rusqlite::Result<Option<String>> {
    let newest = behind.found.get(&row.subject).into_iter().flatten();
    if let Some((_, read)) = newest.rev().find(|(seq, _)| *seq < row.seq) {
        return Ok(read.clone());
    }
    let mut select = sqlite.prepare_cached(
        "SELECT json_extract(a.detail, '$.effective') FROM request_audit x JOIN audit a ON a.seq = x.seq
         WHERE x.request = ? AND x.seq < ? AND a.action IN ('decision', 'judged', 'judged_again')
         ORDER BY x.seq DESC LIMIT 1",
    )?;
    let read = select.query_row([request, row.seq], |row| row.get(0));
    Ok(read.optional()?.flatten())
}

fn decision(sqlite: &Connection, key: [&str; 3]) -> rusqlite::Result<Option<DecisionFacts>> {
    let mut select = sqlite.prepare_cached(
        "SELECT decision_id, CASE WHEN decision_id IS NULL THEN payload END, decided_by, origin, rule_id, rule_version,
           stored_at FROM decisions WHERE ws = ? AND agent = ? AND request_id = ?",
    )?;
    let found = select.query_row(key, |row| {
        Ok(DecisionFacts {
            id: row.get(0)?,
            payload: row.get(1)?,
            decided_by: row.get(2)?,
            origin: row.get(3)?,
            rule_id: row.get(4)?,
            rule_version: row.get(5)?,
            stored_at: row.get(6)?,
        })
    });
    found.optional()
}
