//! Table `agent_instances`: the running copies of agents.
//!
//! Its size is bounded, whatever an agent invents: of one agent the copies that were heard last are kept.

use countersign_wire::AgentKey;
use rusqlite::{Connection, params};

use super::{Reader, StoreError};
use crate::domain::Timestamp;

/// Copies of one agent that are remembered.
const KEPT: i64 = 64;
/// Copies that were not heard for this long, ms, make room as soon as another one comes.
const STALE_MS: i64 = Timestamp::DAY_MS;

/// A running copy of an agent.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct InstanceRow {
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// The agent's own word; empty for a copy that gives none.
    pub instance_id: String,
    /// When it was first heard, ms.
    pub first_seen: i64,
    /// When it was last heard, ms.
    pub last_seen: i64,
}

/// A heartbeat of one copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Heard {
    /// From the subject.
    pub agent: AgentKey,
    /// The agent's own word; empty for a copy that gives none.
    pub instance_id: String,
    /// Server time.
    pub at: Timestamp,
}

/// Notes heartbeats. Returns whether a copy was heard that was not known.
pub fn note(tx: &Connection, heard: &[Heard]) -> Result<bool, StoreError> {
    let mut again = tx.prepare_cached(
        "UPDATE agent_instances SET last_seen = max(last_seen, ?4)
         WHERE ws = ?1 AND agent = ?2 AND instance_id = ?3",
    )?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO agent_instances(ws, agent, instance_id, first_seen, last_seen) VALUES (?1, ?2, ?3, ?4, ?4)",
    )?;
    let mut make_room = tx.prepare_cached(
        "DELETE FROM agent_instances WHERE ws = ?1 AND agent = ?2 AND instance_id IN (
           SELECT instance_id FROM (
             SELECT instance_id, last_seen, row_number() OVER (ORDER BY last_seen DESC, instance_id) AS place
             FROM agent_instances WHERE ws = ?1 AND agent = ?2)
           WHERE place > ?3 OR last_seen < ?4)",
    )?;
    let mut fresh = false;
    for sign in heard {
        let (ws, agent) = (sign.agent.workspace.as_ref(), sign.agent.agent.as_ref());
        let copy = params![ws, agent, sign.instance_id, sign.at.0];
        if again.execute(copy)? == 0 {
            insert.execute(copy)?;
            make_room.execute(params![ws, agent, KEPT, sign.at.0 - STALE_MS])?;
            fresh = true;
        }
    }
    Ok(fresh)
}

/// The known copies of all agents, those heard last first.
pub async fn all(reader: &Reader) -> Result<Vec<InstanceRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT ws, agent, instance_id, first_seen, last_seen FROM agent_instances
         ORDER BY ws, agent, last_seen DESC, instance_id",
    )
    .fetch_all(&reader.0)
    .await?)
}
