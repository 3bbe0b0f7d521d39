//! Table `typed_targets`: which argument of a tool is typed before a critical call of it is approved.

use countersign_wire::AgentKey;
use rusqlite::{Connection, params};

use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// A choice of an operator.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct TypedTargetRow {
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// The agent's name for the tool.
    pub tool: String,
    /// JSON pointer into the arguments.
    pub pointer: String,
}

/// The choice for one tool of an agent.
pub fn of_tool(
    sqlite: &Connection,
    ws: &str,
    agent: &str,
    tool: &str,
) -> Result<Option<String>, StoreError> {
    let of_tool = "SELECT pointer FROM typed_targets WHERE ws = ? AND agent = ? AND tool = ?";
    sql::first(sqlite, of_tool, [ws, agent, tool], |row| row.get(0))
}

/// Every choice.
pub async fn all(reader: &Reader) -> Result<Vec<TypedTargetRow>, StoreError> {
    Ok(
        sqlx::query_as("SELECT ws, agent, tool, pointer FROM typed_targets")
            .fetch_all(&reader.0)
            .await?,
    )
}

/// Writes a choice in the place of the one before; none takes it away. Returns whether anything changed.
pub fn put(
    tx: &Connection,
    (agent, tool): (&AgentKey, &str),
    pointer: Option<&str>,
    (by, at): (&str, Timestamp),
) -> Result<bool, StoreError> {
    let (ws, agent) = (agent.workspace.as_ref(), agent.agent.as_ref());
    let changed = match pointer {
        Some(pointer) => sql::change(
            tx,
            "INSERT INTO typed_targets(ws, agent, tool, pointer, chosen_by, chosen_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT(ws, agent, tool) DO UPDATE SET pointer = ?4, chosen_by = ?5, chosen_at = ?6
             WHERE pointer IS NOT ?4",
            params![ws, agent, tool, pointer, by, at.0],
        ),
        None => sql::change(
            tx,
            "DELETE FROM typed_targets WHERE ws = ?1 AND agent = ?2 AND tool = ?3",
            [ws, agent, tool],
        ),
    };
    Ok(changed? > 0)
}
