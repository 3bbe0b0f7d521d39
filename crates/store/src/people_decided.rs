//! Tables `requests`, `decisions`, `receipts`: what people decided on the calls of one agent's tool.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::Connection;
use sqlx::SqliteExecutor;

use super::tool_record::{ToolCall, newest_calls};
use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// A call of the tool on which a person decided.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PersonDecided {
    /// Request id.
    pub request_id: String,
    /// Payload as received.
    pub raw: Vec<u8>,
    /// The decision, where it changed the arguments.
    pub edited: Option<Vec<u8>>,
    /// As it reads everywhere.
    pub verdict: String,
    /// The server's stamp of the decision, ms.
    pub decided_at: i64,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// What the operator answered the agent.
    pub message: Option<String>,
}

/// Of a decision of a person; the row of the request is `r`, that of the decision `d`.
macro_rules! decided {
    () => {
        "SELECT r.request_id, r.raw, CASE r.verdict WHEN 'modify' THEN d.payload END AS edited, r.verdict,
           r.decided_at, d.decided_by, d.message"
    };
}

/// What makes it one on the tool, and none whose run failed or was refused; parameters as in [`ToolCall`].
macro_rules! on_the_tool {
    () => {
        "r.ws = ?1 AND r.tool = ?2 AND r.agent = ?3 AND r.state = 'decided' AND r.origin = 'operator'
         AND r.verdict IN ('approve', 'modify', 'deny', 'terminate') AND length(r.raw) > 0
         AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.ws = r.ws AND c.agent = r.agent
           AND c.request_id = r.request_id AND c.stage IN ('failed', 'refused'))"
    };
}

/// The newest `limit` calls of the same agent's tool that people approved or denied from `since` on, however many
/// others there are; newest first.
pub async fn newest(
    reader: &Reader,
    call: ToolCall<'_>,
    since: i64,
    limit: i64,
) -> Result<Vec<PersonDecided>, StoreError> {
    Ok(sqlx::query_as(concat!(
        decided!(),
        // What rules decide is no part of this index, and rows follow arrival: nothing is sorted.
        " FROM requests r INDEXED BY requests_by_origin JOIN decisions d ON d.request = r.id WHERE ",
        on_the_tool!(),
        " AND r.id < ?4 AND r.decided_at >= ?5 ORDER BY r.id DESC LIMIT ?6",
    ))
    .bind(call.workspace)
    .bind(call.tool)
    .bind(call.agent)
    .bind(call.before)
    .bind(since)
    .bind(limit)
    .fetch_all(&reader.0)
    .await?)
}

/// Calls of the same agent's tool that people approved or denied from `since` until before `until`, newest decision
/// first; none whose run failed or was refused. Of the newest `limit` calls of the tool and of the agent.
pub async fn of_tool(
    from: impl SqliteExecutor<'_>,
    call: ToolCall<'_>,
    (since, until): (i64, i64),
    limit: i64,
) -> Result<Vec<PersonDecided>, StoreError> {
    Ok(sqlx::query_as(concat!(
        decided!(),
        " FROM requests r NOT INDEXED JOIN decisions d ON d.request = r.id WHERE r.id IN (",
        newest_calls!(),
        ") AND ",
        on_the_tool!(),
        " AND r.decided_at >= ?6 AND r.decided_at < ?7 ORDER BY r.decided_at DESC LIMIT ?5",
    ))
    .bind(call.workspace)
    .bind(call.tool)
    .bind(call.agent)
    .bind(call.before)
    .bind(limit)
    .bind(since)
    .bind(until)
    .fetch_all(from)
    .await?)
}

/// A decision of a person with the tool that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Workspace, agent, tool.
    pub tool: (String, String, String),
    /// The decision.
    pub decision: PersonDecided,
    /// How many calls of the tool with the same arguments were approved on that day: this one and later ones, with no
    /// other decision in between.
    pub times: u32,
}

/// Which of these requests people approved or denied, in the given order: those of which so many receipts say that the
/// run failed or was refused.
pub fn of(tx: &Connection, requests: &[i64], failures: i64) -> Result<Vec<Decided>, StoreError> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let mut select = tx.prepare_cached(
        "SELECT r.ws, r.agent, r.tool, r.request_id, r.raw, CASE r.verdict WHEN 'modify' THEN d.payload END,
           r.verdict, r.decided_at, d.decided_by, d.message, r.args_digest
         FROM requests r JOIN decisions d ON d.request = r.id WHERE r.id = ?1 AND r.tool IS NOT NULL
         AND r.state = 'decided' AND r.origin = 'operator'
         AND r.verdict IN ('approve', 'modify', 'deny', 'terminate') AND length(r.raw) > 0
         AND (SELECT count(*) FROM receipts c WHERE c.ws = r.ws AND c.agent = r.agent
           AND c.request_id = r.request_id AND c.stage IN ('failed', 'refused')) = ?2",
    )?;
    let mut found: Vec<Decided> = Vec::new();
    let mut approved = HashMap::new();
    for id in requests {
        let mut rows = select.query(rusqlite::params![id, failures])?;
        let Some(row) = rows.next()? else {
            continue;
        };
        let Some(same) = approval(row)? else {
            approved.clear();
            found.push(decided(row)?);
            continue;
        };
        match approved.entry(same) {
            Entry::Occupied(first) => {
                let first: &usize = first.get();
                found[*first].times += 1;
            }
            Entry::Vacant(first) => {
                first.insert(found.len());
                found.push(decided(row)?);
            }
        }
    }
    Ok(found)
}

/// What two approvals have in common that teach the same: tool, arguments and day. None for what is not a plain approval.
fn approval(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<([String; 4], i64)>> {
    let digest: Option<String> = row.get(10)?;
    let verdict: String = row.get(6)?;
    let Some(digest) = digest.filter(|_| verdict == "approve") else {
        return Ok(None);
    };
    let decided_at: i64 = row.get(7)?;
    let tool = [row.get(0)?, row.get(1)?, row.get(2)?, digest];
    Ok(Some((tool, decided_at.div_euclid(Timestamp::DAY_MS))))
}

fn decided(row: &rusqlite::Row<'_>) -> rusqlite::Result<Decided> {
    Ok(Decided {
        tool: (row.get(0)?, row.get(1)?, row.get(2)?),
        decision: PersonDecided {
            request_id: row.get(3)?,
            raw: row.get(4)?,
            edited: row.get(5)?,
            verdict: row.get(6)?,
            decided_at: row.get(7)?,
            decided_by: row.get(8)?,
            message: row.get(9)?,
        },
        times: 1,
    })
}

/// The requests of an agent's tool that people decided from `since` on, the oldest decision first.
pub fn of_tool_since(
    tx: &Connection,
    (ws, agent, tool): (&str, &str, &str),
    since: i64,
) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        "SELECT id FROM requests INDEXED BY requests_by_tool WHERE ws = ? AND tool = ? AND agent = ?
         AND origin = 'operator' AND decided_at >= ? ORDER BY decided_at, id",
        rusqlite::params![ws, tool, agent, since],
    )
}

/// Workspace, agent and tool of everything that people decided from `since` on or that is remembered.
pub async fn tools(
    reader: &Reader,
    since: i64,
) -> Result<Vec<(String, String, String)>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT ws, agent, tool FROM requests INDEXED BY requests_by_origin
         WHERE origin = 'operator' AND tool IS NOT NULL AND decided_at >= ?
         UNION SELECT ws, agent, tool FROM habits ORDER BY ws, agent, tool",
    )
    .bind(since)
    .fetch_all(&reader.0)
    .await?)
}

#[cfg(test)]
mod tests;
