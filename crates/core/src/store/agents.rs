//! Table `agents`: who is enrolled and who was heard of.

use countersign_wire::AgentKey;
use sqlx::SqliteConnection;

use super::{Reader, StoreError};
use crate::domain::Timestamp;
use crate::domain::stall::ALIVE_MS;

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct AgentRow {
    /// Workspace.
    pub ws: String,
    /// Name.
    pub name: String,
    /// Public login key, where it was enrolled here and is not revoked.
    pub key: Option<String>,
    /// From its hello.
    pub framework: Option<String>,
    /// When it was last heard, ms.
    pub last_seen: Option<i64>,
}

/// All agents by name.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn all(reader: &Reader) -> Result<Vec<AgentRow>, StoreError> {
    Ok(
        sqlx::query_as("SELECT ws, name, key, framework, last_seen FROM agents ORDER BY ws, name")
            .fetch_all(&reader.0)
            .await?,
    )
}

/// Gives an agent a login key.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn enroll(
    tx: &mut SqliteConnection,
    agent: &AgentKey,
    key: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO agents(ws, name, key, enrolled_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT(ws, name) DO UPDATE SET key = ?3, enrolled_at = ?4, revoked_at = NULL",
    )
    .bind(agent.workspace.as_ref())
    .bind(agent.agent.as_ref())
    .bind(key)
    .bind(at.0)
    .execute(tx)
    .await?;
    Ok(())
}

/// Takes an agent's login key away. Returns whether it had one.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn revoke(
    tx: &mut SqliteConnection,
    agent: &AgentKey,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE agents SET key = NULL, revoked_at = ?3 WHERE ws = ?1 AND name = ?2 AND key IS NOT NULL",
    )
    .bind(agent.workspace.as_ref())
    .bind(agent.agent.as_ref())
    .bind(at.0)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes a hello.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn note_hello(
    tx: &mut SqliteConnection,
    agent: &AgentKey,
    framework: Option<&str>,
    hello: &[u8],
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO agents(ws, name, framework, hello, last_seen) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT(ws, name) DO UPDATE SET framework = ?3, hello = ?4,
           last_seen = max(coalesce(last_seen, 0), ?5)",
    )
    .bind(agent.workspace.as_ref())
    .bind(agent.agent.as_ref())
    .bind(framework)
    .bind(hello)
    .bind(at.0)
    .execute(tx)
    .await?;
    Ok(())
}

/// Notes that an agent is alive.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn note_alive(
    tx: &mut SqliteConnection,
    agent: &AgentKey,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO agents(ws, name, last_seen, alive_since) VALUES (?1, ?2, ?3, ?3)
         ON CONFLICT(ws, name) DO UPDATE SET last_seen = max(coalesce(last_seen, 0), ?3),
           alive_since = iif(alive_since IS NULL OR coalesce(last_seen, 0) <= ?3 - ?4, ?3, alive_since)",
    )
    .bind(agent.workspace.as_ref())
    .bind(agent.agent.as_ref())
    .bind(at.0)
    .bind(ALIVE_MS)
    .execute(tx)
    .await?;
    Ok(())
}
