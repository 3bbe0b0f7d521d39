//! Column `findings` of table `requests`: what is remarkable about a call, JSON, as it was made last.

use rusqlite::{Connection, Row, params};

use super::{Reader, StoreError, sql};

/// A waiting call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Row number.
    pub id: i64,
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Payload as received.
    pub raw: Vec<u8>,
    /// What was found before.
    pub findings: Option<String>,
}

impl Waiting {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            ws: row.get(1)?,
            agent: row.get(2)?,
            raw: row.get(3)?,
            findings: row.get(4)?,
        })
    }
}

/// How many waiting calls a finding stops.
pub async fn stopped(reader: &Reader) -> Result<i64, StoreError> {
    let stops = "SELECT count(*) FROM requests WHERE state = 'pending' AND instr(findings, '\"weight\":\"stop\"') > 0";
    Ok(sqlx::query_scalar(stops).fetch_one(&reader.0).await?)
}

/// Waiting calls of an agent's tool behind row `after`.
pub fn of_tool(
    tx: &Connection,
    (ws, agent, tool): (&str, &str, &str),
    after: i64,
    limit: i64,
) -> Result<Vec<Waiting>, StoreError> {
    sql::all(
        tx,
        "SELECT id, ws, agent, raw, findings FROM requests INDEXED BY requests_by_state
         WHERE state <> 'decided' AND state = 'pending' AND id > ?4 AND ws = ?1 AND agent = ?2 AND tool = ?3
         ORDER BY id LIMIT ?5",
        params![ws, agent, tool, after, limit],
        Waiting::read,
    )
}

/// Waiting requests behind row `after` that nobody looked at.
pub fn not_made(tx: &Connection, after: i64, limit: i64) -> Result<Vec<Waiting>, StoreError> {
    sql::all(
        tx,
        "SELECT id, ws, agent, raw, findings FROM requests INDEXED BY requests_by_state
         WHERE state <> 'decided' AND state = 'pending' AND id > ?1 AND findings IS NULL
         ORDER BY id LIMIT ?2",
        [after, limit],
        Waiting::read,
    )
}

/// What was found of a request, if it was looked at.
pub fn of(tx: &Connection, request: i64) -> Result<Option<String>, StoreError> {
    let findings = "SELECT findings FROM requests WHERE id = ?";
    let found: Option<Option<String>> = sql::first(tx, findings, [request], |row| row.get(0))?;
    Ok(found.flatten())
}

/// Keeps findings and effect of requests.
pub fn keep(tx: &Connection, found: &[(i64, String, Option<String>)]) -> Result<(), StoreError> {
    let mut update =
        tx.prepare_cached("UPDATE requests SET findings = ?2, effect = ?3 WHERE id = ?1")?;
    for row in found {
        update.execute(params![row.0, row.1, row.2])?;
    }
    Ok(())
}

/// Forgets the findings of requests that another console decided: what its operator saw is not known here.
pub fn forget(tx: &Connection, requests: &[i64]) -> Result<(), StoreError> {
    let mut update = tx.prepare_cached(
        "UPDATE requests SET findings = NULL WHERE id = ? AND findings IS NOT NULL",
    )?;
    for id in requests {
        update.execute([id])?;
    }
    Ok(())
}
