//! Tables `requests`, `decisions`, `receipts`: what people decided on the calls of one agent's tool.

use std::collections::BTreeSet;

use rusqlite::OptionalExtension as _;
use sqlx::SqliteExecutor;

use super::StoreError;
use super::direct::WriteConnection;
use super::tool_record::{ToolCall, newest_calls};

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

/// Calls of the same agent's tool that people approved or denied from `since` until before `until`, newest decision
/// first; none whose run failed or was refused. Of the newest `limit` calls of the tool and of the agent.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn of_tool(
    from: impl SqliteExecutor<'_>,
    call: ToolCall<'_>,
    (since, until): (i64, i64),
    limit: i64,
) -> Result<Vec<PersonDecided>, StoreError> {
    Ok(sqlx::query_as(concat!(
        "SELECT r.request_id, r.raw, CASE r.verdict WHEN 'modify' THEN d.payload END AS edited, r.verdict, r.decided_at,
           d.decided_by, d.message
         FROM requests r NOT INDEXED JOIN decisions d ON d.request = r.id WHERE r.id IN (",
        newest_calls!(),
        ") AND r.ws = ?1 AND r.tool = ?2 AND r.agent = ?3 AND r.state = 'decided' AND r.origin = 'operator'
         AND r.verdict IN ('approve', 'modify', 'deny', 'terminate') AND length(r.raw) > 0
         AND r.decided_at >= ?6 AND r.decided_at < ?7
         AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.ws = r.ws AND c.agent = r.agent
           AND c.request_id = r.request_id AND c.stage IN ('failed', 'refused'))
         ORDER BY r.decided_at DESC LIMIT ?5",
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

/// Workspace, agent and tool of these requests, each once.
///
/// # Errors
/// [`StoreError::Direct`].
pub async fn tools_of(
    tx: &mut WriteConnection,
    requests: &[i64],
) -> Result<BTreeSet<(String, String, String)>, StoreError> {
    if requests.is_empty() {
        return Ok(BTreeSet::new());
    }
    tx.direct(|sqlite| {
        let mut select = sqlite.prepare_cached(
            "SELECT ws, agent, tool FROM requests WHERE id = ? AND tool IS NOT NULL",
        )?;
        let mut found = BTreeSet::new();
        for id in requests {
            let tool = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            found.extend(select.query_row([id], tool).optional()?);
        }
        Ok(found)
    })
    .await
}
