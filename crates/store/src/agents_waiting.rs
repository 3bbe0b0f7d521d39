//! Table `requests`, agent by agent: who has asked, and what waits.

use rusqlite::Connection;

use super::{Reader, StoreError, sql};

/// Agents that are listed; more than any realm has.
const LISTED: usize = 10_000;

/// Who has asked, and when each asker's last request was stored, ms; 0 where it only sent probes. One step of the index
/// an agent, however many requests there are.
pub async fn all(reader: &Reader) -> Result<Vec<(String, String, i64)>, StoreError> {
    let mut connection = reader.0.acquire().await?;
    let mut found: Vec<(String, String, i64)> = Vec::new();
    // What named nobody has neither workspace nor agent.
    let mut after = (String::new(), String::new());
    while found.len() < LISTED {
        let next: Option<(String, String, i64)> = sqlx::query_as(
            "SELECT r.ws, r.agent, coalesce((SELECT l.stored_at FROM requests l WHERE l.ws = r.ws AND l.agent = r.agent
               AND l.tool IS NOT 'countersign_probe' ORDER BY l.id DESC LIMIT 1), 0)
             FROM requests r WHERE (r.ws, r.agent) > (?, ?) ORDER BY r.ws, r.agent LIMIT 1",
        )
        .bind(&after.0)
        .bind(&after.1)
        .fetch_optional(&mut *connection)
        .await?;
        let Some(next) = next else { break };
        after = (next.0.clone(), next.1.clone());
        found.push(next);
    }
    Ok(found)
}

/// How many requests of each agent wait.
pub async fn waiting(reader: &Reader) -> Result<Vec<(String, String, i64)>, StoreError> {
    reader.direct(waiting_by_agent).await
}

/// How many requests of each agent wait for an answer.
pub fn waiting_by_agent(tx: &Connection) -> Result<Vec<(String, String, i64)>, StoreError> {
    sql::all(
        tx,
        "SELECT ws, agent, count(*) FROM requests WHERE state <> 'decided'
         AND state IN ('pending', 'holding', 'queued') GROUP BY ws, agent",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )
}

/// A tool that an agent has asked to run.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct AskedTool {
    /// Its name.
    pub tool: String,
    /// Effective risk of the newest call.
    pub risk: String,
    /// The payload of that call.
    pub raw: Vec<u8>,
}

/// The tools of an agent's newest `calls` calls, each with the newest one.
pub async fn tools(
    reader: &Reader,
    (ws, agent): (&str, &str),
    calls: i64,
) -> Result<Vec<AskedTool>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT r.tool, r.risk, r.raw FROM (
           SELECT max(id) AS id FROM (
             SELECT id, tool FROM requests WHERE ws = ? AND agent = ? AND state <> 'rejected'
             ORDER BY id DESC LIMIT ?)
           WHERE tool <> 'countersign_probe' GROUP BY tool) newest
         JOIN requests r ON r.id = newest.id ORDER BY r.tool",
    )
    .bind(ws)
    .bind(agent)
    .bind(calls)
    .fetch_all(&reader.0)
    .await?)
}
