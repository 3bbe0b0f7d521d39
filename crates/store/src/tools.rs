//! Table `tools`: how agents describe their tools, and what a person has approved of that.

use countersign_wire::{AgentKey, ToolDefinition};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// A tool of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRow {
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// The agent's name for it.
    pub name: String,
    /// Among the tools of the last hello; none when it does not list this one.
    pub place: Option<i64>,
    /// The entry of the hello: JSON.
    pub def: Option<String>,
    /// Its digest.
    pub def_digest: Option<String>,
    /// Since when it reads so, ms.
    pub changed_at: Option<i64>,
    /// The entry at the time of a person's last approval of a call.
    pub approved_def: Option<String>,
    /// Its digest.
    pub approved_digest: Option<String>,
    /// When that was, ms.
    pub approved_at: Option<i64>,
    /// Digest of how the call that a person approved last described the tool; none when it gave only the name.
    pub call_digest: Option<String>,
    /// When that was, ms; none when no call was approved.
    pub call_approved_at: Option<i64>,
    /// That call.
    pub call_request: Option<i64>,
}

const COLUMNS: &str = "ws, agent, name, place, def, def_digest, changed_at, approved_def, approved_digest, \
    approved_at, call_digest, call_approved_at, call_request";

/// Tools of one agent that no hello lists any more, and no person ever approved, that are remembered.
const UNLISTED_MAX: i64 = 1_000;

/// A definition that differs from the one that a person approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Digest that a person approved.
    pub approved: String,
    /// Digest now.
    pub now: String,
}

/// How an agent's tools are defined in a hello.
pub struct Definitions<'a> {
    /// In the order of the hello; none where it does not list them: those of the one before stay.
    pub all: Option<&'a [ToolDefinition]>,
    /// The server's stamp of the hello.
    pub at: Timestamp,
    /// The time of the console, by its estimate of the server's.
    pub now: Timestamp,
    /// Whether an earlier hello may have been missed or left out here.
    pub missed: bool,
    /// Whether something of it could not be read, so that it may define any tool otherwise.
    pub unread: bool,
}

/// Replaces the tools of the previous hello. What is not listed any more is remembered: a tool that comes back otherwise
/// is a changed one. Returns what changed since it was approved. To be called before the hello is noted with its agent.
pub fn replace(
    tx: &Connection,
    agent: &AgentKey,
    definitions: &Definitions<'_>,
) -> Result<Vec<Changed>, StoreError> {
    let (ws, name) = (agent.workspace.as_ref(), agent.agent.as_ref());
    let at = definitions.at.0;
    let before = "SELECT hello_at, tools_unknown_at FROM agents WHERE ws = ?1 AND name = ?2";
    let before: Option<(Option<i64>, Option<i64>)> =
        sql::first(tx, before, [ws, name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (hello_at, was_unknown_at) = before.unwrap_or_default();
    let mut unknown_at = was_unknown_at;
    if definitions.missed {
        unknown_at = match hello_at {
            None => Some(at),
            Some(_) => unknown_at.or(Some(0)),
        };
    }
    let mut changed = Vec::new();
    if let Some(all) = definitions.all {
        let unlist = "UPDATE tools SET place = NULL WHERE ws = ?1 AND agent = ?2";
        sql::change(tx, unlist, [ws, name])?;
        // A tool that is not known may have been defined otherwise before.
        let unknown = unknown_at.map(|_| at);
        changed = define(tx, (ws, name), (all, at), unknown)?;
    }
    // The stream went back: whether the agent has gone back, too, is not known.
    let older = hello_at.is_some_and(|known| at < known);
    let missed = definitions.missed && hello_at.is_some_and(|known| known != at);
    if older {
        redefine_all(tx, (ws, name), definitions.now.0)?;
        unknown_at = Some(definitions.now.0);
    } else if definitions.unread || (missed && definitions.all.is_none()) {
        redefine_all(tx, (ws, name), at)?;
    } else if missed {
        redefine_unlisted(tx, (ws, name), at)?;
    }
    let forgotten = sql::change(
        tx,
        "DELETE FROM tools WHERE id IN (SELECT id FROM tools
           WHERE ws = ?1 AND agent = ?2 AND place IS NULL
           AND approved_digest IS NULL AND call_approved_at IS NULL
           ORDER BY changed_at DESC, id DESC LIMIT -1 OFFSET ?3)",
        params![ws, name, UNLISTED_MAX],
    )?;
    if definitions.unread || forgotten > 0 {
        unknown_at = Some(at);
    }
    if unknown_at != was_unknown_at {
        note_unknown(tx, (ws, name), unknown_at)?;
    }
    Ok(changed)
}

/// Notes that nothing could be read of a hello: it may define any tool otherwise.
pub fn note_unread(tx: &Connection, agent: &AgentKey, at: Timestamp) -> Result<(), StoreError> {
    let agent = (agent.workspace.as_ref(), agent.agent.as_ref());
    redefine_all(tx, agent, at.0)?;
    note_unknown(tx, agent, Some(at.0))
}

fn define(
    tx: &Connection,
    (ws, name): (&str, &str),
    (all, at): (&[ToolDefinition], i64),
    unknown: Option<i64>,
) -> Result<Vec<Changed>, StoreError> {
    let mut known = tx.prepare_cached(
        "SELECT def_digest, approved_digest FROM tools WHERE ws = ?1 AND agent = ?2 AND name = ?3",
    )?;
    let mut upsert = tx.prepare_cached(
        "INSERT INTO tools(ws, agent, name, place, def, def_digest, changed_at, redefined_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT(ws, agent, name) DO UPDATE SET place = ?4, def = ?5, def_digest = ?6,
           changed_at = iif(def_digest IS ?6, changed_at, ?7),
           redefined_at = iif(def_digest IS NULL, ?8, redefined_at)",
    )?;
    let mut changed = Vec::new();
    for definition in all {
        let now = definition.digest.to_string();
        let before: Option<(Option<String>, Option<String>)> = known
            .query_row(params![ws, name, definition.name], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        if let Some((before, Some(approved))) = before
            && before.as_ref() != Some(&now)
            && approved != now
        {
            changed.push(Changed {
                approved,
                now: now.clone(),
            });
        }
        upsert.execute(params![
            ws,
            name,
            definition.name,
            i64::try_from(definition.place).unwrap_or(i64::MAX),
            definition.text,
            now,
            at,
            unknown,
        ])?;
    }
    Ok(changed)
}

fn redefine_all(tx: &Connection, (ws, name): (&str, &str), at: i64) -> Result<(), StoreError> {
    let redefine = "UPDATE tools SET redefined_at = ?3 WHERE ws = ?1 AND agent = ?2 AND def_digest IS NOT NULL";
    sql::change(tx, redefine, params![ws, name, at]).map(drop)
}

/// What this hello does not list a missed one may have defined otherwise.
fn redefine_unlisted(tx: &Connection, (ws, name): (&str, &str), at: i64) -> Result<(), StoreError> {
    let redefine = "UPDATE tools SET redefined_at = ?3
         WHERE ws = ?1 AND agent = ?2 AND place IS NULL AND def_digest IS NOT NULL";
    sql::change(tx, redefine, params![ws, name, at]).map(drop)
}

fn note_unknown(
    tx: &Connection,
    (ws, name): (&str, &str),
    at: Option<i64>,
) -> Result<(), StoreError> {
    let note = "INSERT INTO agents(ws, name, tools_unknown_at) VALUES (?1, ?2, ?3)
         ON CONFLICT(ws, name) DO UPDATE SET tools_unknown_at = ?3";
    sql::change(tx, note, params![ws, name, at]).map(drop)
}

/// Notes that a person approved these calls, each with the server's stamp of the decision: their tools are approved as
/// they are described. A hello that came after a call was asked is not approved by it: the person may have seen the one
/// before.
pub fn note_approved(tx: &Connection, calls: &[(i64, Timestamp)]) -> Result<(), StoreError> {
    let mut call = tx.prepare_cached(
        "SELECT ws, agent, tool, tool_digest, stored_at FROM requests WHERE id = ? AND tool IS NOT NULL",
    )?;
    // Most approvals change nothing: no row is written for them.
    let mut approve = tx.prepare_cached(
        "INSERT INTO tools(ws, agent, name, call_digest, call_approved_at, call_request)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT(ws, agent, name) DO UPDATE SET call_digest = ?4, call_approved_at = ?5, call_request = ?6
         WHERE (call_approved_at IS NULL OR call_digest IS NOT ?4) AND coalesce(call_approved_at, 0) <= ?5",
    )?;
    let mut accept = tx.prepare_cached(
        "UPDATE tools SET approved_def = def, approved_digest = def_digest, approved_at = ?5
         WHERE ws = ?1 AND agent = ?2 AND name = ?3 AND changed_at <= ?4
           AND approved_digest IS NOT def_digest AND coalesce(approved_at, 0) <= ?5",
    )?;
    for (id, at) in calls {
        let found: Option<(String, String, String, Option<String>, i64)> = call
            .query_row([id], |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                ))
            })
            .optional()?;
        let Some((ws, agent, tool, digest, stored_at)) = found else {
            continue;
        };
        approve.execute(params![ws, agent, tool, digest, at.0, id])?;
        accept.execute(params![ws, agent, tool, stored_at, at.0])?;
    }
    Ok(())
}

/// The tools of all agents, in the order of their hellos; last those that no hello lists and a person approved.
pub async fn all(reader: &Reader) -> Result<Vec<ToolRow>, StoreError> {
    let all = format!(
        "SELECT {COLUMNS} FROM tools
         WHERE place IS NOT NULL OR approved_digest IS NOT NULL OR call_approved_at IS NOT NULL
         ORDER BY ws, agent, place IS NULL, place, name"
    );
    reader
        .direct(move |sqlite| sql::all(sqlite, &all, [], read))
        .await
}

/// One tool of one agent.
pub fn one(
    sqlite: &Connection,
    ws: &str,
    agent: &str,
    name: &str,
) -> Result<Option<ToolRow>, StoreError> {
    let one = format!("SELECT {COLUMNS} FROM tools WHERE ws = ? AND agent = ? AND name = ?");
    sql::first(sqlite, &one, [ws, agent, name], read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<ToolRow> {
    Ok(ToolRow {
        ws: row.get(0)?,
        agent: row.get(1)?,
        name: row.get(2)?,
        place: row.get(3)?,
        def: row.get(4)?,
        def_digest: row.get(5)?,
        changed_at: row.get(6)?,
        approved_def: row.get(7)?,
        approved_digest: row.get(8)?,
        approved_at: row.get(9)?,
        call_digest: row.get(10)?,
        call_approved_at: row.get(11)?,
        call_request: row.get(12)?,
    })
}

/// Which of these requests are calls of a tool that a person approved when it, or a call of it, described it
/// otherwise.
pub fn changed(sqlite: &Connection, requests: &[i64]) -> Result<Vec<i64>, StoreError> {
    sql::column(
        sqlite,
        "SELECT r.id FROM json_each(?) wanted CROSS JOIN requests r ON r.id = wanted.value
         CROSS JOIN tools t ON t.ws = r.ws AND t.agent = r.agent AND t.name = r.tool
         WHERE (t.approved_digest IS NOT NULL AND t.approved_digest IS NOT t.def_digest)
         OR (t.call_approved_at IS NOT NULL AND t.call_digest IS NOT r.tool_digest)",
        [serde_json::Value::from(requests).to_string()],
    )
}
