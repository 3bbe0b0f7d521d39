//! Table `agents`: who is enrolled and who was heard of.

use countersign_wire::AgentKey;
use rusqlite::{Connection, params};
use serde_json::Value;

use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;
use crate::domain::stall::ALIVE_MS;

/// An agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, sqlx::FromRow)]
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
    /// When it was last given a login here, ms.
    pub enrolled_at: Option<i64>,
    /// When that was taken away, ms.
    pub revoked_at: Option<i64>,
    /// When its last readable hello was stored, ms.
    pub hello_at: Option<i64>,
    /// Why the hello after that one could not be read.
    pub hello_fault: Option<String>,
    /// The states of its credentials: JSON.
    pub credentials: Option<String>,
    /// When a probe of the gate in front of it last held, ms.
    pub gate_held_at: Option<i64>,
    /// Why that gate is open; none where it holds, and where nobody has looked.
    pub gate_open: Option<String>,
}

/// All agents by name.
pub async fn all(reader: &Reader) -> Result<Vec<AgentRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT ws, name, key, framework, last_seen, enrolled_at, revoked_at, hello_at, hello_fault, credentials,
           gate_held_at, gate_open
         FROM agents ORDER BY ws, name",
    )
    .fetch_all(&reader.0)
    .await?)
}

/// The last readable hello of an agent, as received.
pub async fn hello(reader: &Reader, ws: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let found: Option<Option<Vec<u8>>> =
        sqlx::query_scalar("SELECT hello FROM agents WHERE ws = ? AND name = ?")
            .bind(ws)
            .bind(name)
            .fetch_optional(&reader.0)
            .await?;
    Ok(found.flatten())
}

/// The states of an agent's credentials, as its last hello listed them: JSON.
pub fn credentials(sqlite: &Connection, agent: &AgentKey) -> Result<Option<String>, StoreError> {
    let credentials = "SELECT credentials FROM agents WHERE ws = ? AND name = ?";
    let agent = [agent.workspace.as_ref(), agent.agent.as_ref()];
    Ok(sql::first(sqlite, credentials, agent, |row| row.get(0))?.flatten())
}

/// The stamps of the last hellos of an agent.
#[derive(Debug, Clone, Copy)]
pub struct HelloKnown {
    hello_at: Option<i64>,
    tools_unknown_at: Option<i64>,
}

impl HelloKnown {
    /// Whether the hello that was stored at this moment was read, or could not be.
    #[must_use]
    pub fn is_of(self, at: Timestamp) -> bool {
        [self.hello_at, self.tools_unknown_at].contains(&Some(at.0))
    }
}

/// When the last hello of each agent was stored.
pub async fn hellos_known(reader: &Reader) -> Result<Vec<(AgentKey, HelloKnown)>, StoreError> {
    let rows: Vec<(String, String, Option<i64>, Option<i64>)> =
        sqlx::query_as("SELECT ws, name, hello_at, tools_unknown_at FROM agents")
            .fetch_all(&reader.0)
            .await?;
    let keyed = |(ws, name, hello_at, tools_unknown_at): (String, String, _, _)| {
        let known = HelloKnown {
            hello_at,
            tools_unknown_at,
        };
        Some((format!("{ws}/{name}").parse().ok()?, known))
    };
    Ok(rows.into_iter().filter_map(keyed).collect())
}

/// What agents declare of their setup keys: JSON.
pub async fn setup_schemas(reader: &Reader) -> Result<Vec<(AgentKey, String)>, StoreError> {
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT ws, name, setup_schema FROM agents WHERE setup_schema IS NOT NULL ORDER BY ws, name",
    )
    .fetch_all(&reader.0)
    .await?;
    let keyed = |(ws, name, schema): (String, String, String)| {
        Some((format!("{ws}/{name}").parse().ok()?, schema))
    };
    Ok(rows.into_iter().filter_map(keyed).collect())
}

/// Gives an agent a login key.
pub fn enroll(
    tx: &Connection,
    agent: &AgentKey,
    key: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    let enroll = "INSERT INTO agents(ws, name, key, enrolled_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT(ws, name) DO UPDATE SET key = ?3, enrolled_at = ?4, revoked_at = NULL";
    let (ws, name) = (agent.workspace.as_ref(), agent.agent.as_ref());
    sql::change(tx, enroll, params![ws, name, key, at.0])?;
    Ok(())
}

/// Takes an agent's login key away. Returns whether it had one.
pub fn revoke(tx: &Connection, agent: &AgentKey, at: Timestamp) -> Result<bool, StoreError> {
    let revoke = "UPDATE agents SET key = NULL, revoked_at = ?3 WHERE ws = ?1 AND name = ?2 AND key IS NOT NULL";
    let (ws, name) = (agent.workspace.as_ref(), agent.agent.as_ref());
    Ok(sql::change(tx, revoke, params![ws, name, at.0])? == 1)
}

/// Notes what became of a probe of the gate in front of an agent: that it held, or why it is open.
pub fn note_gate(
    tx: &Connection,
    agent: &AgentKey,
    open: Option<&str>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let note =
        "INSERT INTO agents(ws, name, gate_held_at, gate_open) VALUES (?1, ?2, iif(?3 IS NULL, ?4, NULL), ?3)
         ON CONFLICT(ws, name) DO UPDATE SET gate_held_at = coalesce(excluded.gate_held_at, gate_held_at),
           gate_open = excluded.gate_open";
    let (ws, name) = (agent.workspace.as_ref(), agent.agent.as_ref());
    sql::change(tx, note, params![ws, name, open, at.0])?;
    Ok(())
}

/// What a hello said.
#[derive(Debug, Clone)]
pub struct NewHello<'m> {
    /// The framework's name.
    pub framework: Option<&'m str>,
    /// Payload as received.
    pub raw: &'m [u8],
    /// A list or a map of `bs_*` fields: JSON.
    pub setup_schema: Option<String>,
    /// A list of the states of credentials: JSON.
    pub credentials: Option<String>,
    /// The server's stamp.
    pub at: Timestamp,
}

/// Notes a hello.
pub fn note_hello(
    tx: &Connection,
    agent: &AgentKey,
    hello: &NewHello<'_>,
) -> Result<(), StoreError> {
    let note =
        "INSERT INTO agents(ws, name, framework, hello, hello_at, setup_schema, credentials, last_seen)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?5)
         ON CONFLICT(ws, name) DO UPDATE SET framework = ?3, hello = ?4, hello_at = ?5, hello_fault = NULL,
           setup_schema = ?6, credentials = coalesce(?7, credentials), last_seen = max(coalesce(last_seen, 0), ?5)";
    let hello = params![
        agent.workspace.as_ref(),
        agent.agent.as_ref(),
        hello.framework,
        hello.raw,
        hello.at.0,
        hello.setup_schema,
        hello.credentials,
    ];
    sql::change(tx, note, hello)?;
    Ok(())
}

/// Notes that an agent's last hello cannot be read; the one before stays in use.
pub fn note_unreadable(
    tx: &Connection,
    agent: &AgentKey,
    why: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    let note = "INSERT INTO agents(ws, name, hello_fault, last_seen) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT(ws, name) DO UPDATE SET hello_fault = ?3,
           last_seen = max(coalesce(last_seen, 0), ?4)";
    let (ws, name) = (agent.workspace.as_ref(), agent.agent.as_ref());
    sql::change(tx, note, params![ws, name, why, at.0])?;
    Ok(())
}

/// The setup keys that an agent's last hello declared: a list or a map of `bs_*` fields, as it wrote
/// them. None when it declared none.
pub fn setup_schema(tx: &Connection, agent: &AgentKey) -> Result<Option<Value>, StoreError> {
    let text: Option<Option<String>> = sql::first(
        tx,
        "SELECT setup_schema FROM agents WHERE ws = ? AND name = ?",
        params![agent.workspace.as_ref(), agent.agent.as_ref()],
        |row| row.get(0),
    )?;
    Ok(text
        .flatten()
        .and_then(|text| serde_json::from_str(&text).ok()))
}

/// The same for who only reads.
pub async fn setup_schema_of(
    reader: &Reader,
    agent: &AgentKey,
) -> Result<Option<Value>, StoreError> {
    let agent = agent.clone();
    reader
        .direct(move |sqlite| setup_schema(sqlite, &agent))
        .await
}

/// Notes that agents are alive, each with the time at which it was heard.
pub fn note_alive(tx: &Connection, heard: &[(AgentKey, Timestamp)]) -> Result<(), StoreError> {
    let mut note = tx.prepare_cached(
        "INSERT INTO agents(ws, name, last_seen, alive_since) VALUES (?1, ?2, ?3, ?3)
         ON CONFLICT(ws, name) DO UPDATE SET last_seen = max(coalesce(last_seen, 0), ?3),
           alive_since = iif(alive_since IS NULL OR coalesce(last_seen, 0) <= ?3 - ?4, ?3, alive_since)",
    )?;
    for (agent, at) in heard {
        let (ws, name) = (agent.workspace.as_ref(), agent.agent.as_ref());
        note.execute(params![ws, name, at.0, ALIVE_MS])?;
    }
    Ok(())
}
