//! Table `habits`: what people approved and denied of an agent's tool, as counts per place, value and day.

use rusqlite::{Connection, params};

use super::{StoreError, meta, sql};

/// A tool of an agent: workspace, agent, tool.
pub type Tool<'a> = (&'a str, &'a str, &'a str);

/// A value at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Word of what it is.
    pub kind: &'static str,
    /// Where in the arguments.
    pub place: String,
    /// As it is kept: a secret as its digest.
    pub value: String,
}

/// Who denied, when and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The server's stamp, ms.
    pub at: i64,
    /// Name of the person.
    pub by: Option<String>,
    /// What the person wrote.
    pub why: Option<String>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Word of what it is.
    pub kind: String,
    /// Where in the arguments.
    pub place: String,
    /// As it is kept.
    pub value: String,
    /// Since 1970.
    pub day: i64,
    /// Calls that people approved.
    pub approved: u32,
    /// Calls that people denied.
    pub denied: u32,
    /// The newest denial.
    pub denial: Option<Denied>,
}

/// What is known of a tool, value by value, the oldest day first; what is older than `since` is removed.
pub fn of_tool(
    tx: &Connection,
    (ws, agent, tool): Tool<'_>,
    since: i64,
) -> Result<Vec<Counted>, StoreError> {
    let end = "DELETE FROM habits WHERE ws = ? AND agent = ? AND tool = ? AND day < ?";
    sql::change(tx, end, params![ws, agent, tool, since])?;
    sql::all(
        tx,
        "SELECT kind, place, value, day, approved, denied, denied_at, denied_by, why FROM habits
         WHERE ws = ? AND agent = ? AND tool = ? ORDER BY kind, place, value, day",
        [ws, agent, tool],
        |row| {
            let (by, why) = (row.get(7)?, row.get(8)?);
            let at: Option<i64> = row.get(6)?;
            Ok(Counted {
                kind: row.get(0)?,
                place: row.get(1)?,
                value: row.get(2)?,
                day: row.get(3)?,
                approved: row.get(4)?,
                denied: row.get(5)?,
                denial: at.map(|at| Denied { at, by, why }),
            })
        },
    )
}

/// So many more calls with these values, which people approved on that day.
pub fn approve(
    tx: &Connection,
    (ws, agent, tool): Tool<'_>,
    (day, times): (i64, u32),
    values: &[Value],
) -> Result<(), StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO habits(ws, agent, tool, kind, place, value, day, approved, denied)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO UPDATE SET approved = approved + excluded.approved",
    )?;
    // The same arguments were approved: what a person denied of them before is over.
    let mut end = tx.prepare_cached(
        "UPDATE habits SET denied = 0, denied_at = NULL, denied_by = NULL, why = NULL
         WHERE ws = ? AND agent = ? AND tool = ? AND kind = 'args' AND place = '' AND value = ? AND denied > 0",
    )?;
    for of in values {
        if of.kind == "args" {
            end.execute(params![ws, agent, tool, of.value])?;
        }
        insert.execute(params![
            ws, agent, tool, of.kind, of.place, of.value, day, times
        ])?;
    }
    Ok(())
}

/// One call fewer that was approved on that day: its run failed or was refused.
pub fn take_back(
    tx: &Connection,
    (ws, agent, tool): Tool<'_>,
    day: i64,
    values: &[Value],
) -> Result<(), StoreError> {
    let mut update = tx.prepare_cached(
        "UPDATE habits SET approved = approved - 1 WHERE ws = ? AND agent = ? AND tool = ? AND kind = ?
         AND place = ? AND value = ? AND day = ? AND approved > 0",
    )?;
    for of in values {
        update.execute(params![ws, agent, tool, of.kind, of.place, of.value, day])?;
    }
    let end = "DELETE FROM habits WHERE ws = ? AND agent = ? AND tool = ? AND approved = 0 AND denied = 0";
    sql::change(tx, end, [ws, agent, tool])?;
    Ok(())
}

/// One more call with these values, which a person denied on that day.
pub fn deny(
    tx: &Connection,
    (ws, agent, tool): Tool<'_>,
    (day, denied): (i64, &Denied),
    values: &[Value],
) -> Result<(), StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO habits(ws, agent, tool, kind, place, value, day, approved, denied, denied_at, denied_by, why)
         VALUES (?, ?, ?, ?, ?, ?, ?, 0, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET denied = denied + 1,
         denied_at = excluded.denied_at, denied_by = excluded.denied_by, why = excluded.why",
    )?;
    for of in values {
        insert.execute(params![
            ws, agent, tool, of.kind, of.place, of.value, day, denied.at, denied.by, denied.why
        ])?;
    }
    Ok(())
}

/// Keeps the newest `most` values of a place.
pub fn shorten(
    tx: &Connection,
    (ws, agent, tool): Tool<'_>,
    (kind, place): (&str, &str),
    most: i64,
) -> Result<(), StoreError> {
    sql::change(
        tx,
        "DELETE FROM habits WHERE ws = ?1 AND agent = ?2 AND tool = ?3 AND kind = ?4 AND place = ?5
         AND value NOT IN (SELECT value FROM habits WHERE ws = ?1 AND agent = ?2 AND tool = ?3 AND kind = ?4
           AND place = ?5 GROUP BY value ORDER BY max(day) DESC, value LIMIT ?6)",
        params![ws, agent, tool, kind, place, most],
    )?;
    Ok(())
}

/// Forgets a tool, to be learned anew.
pub fn forget(tx: &Connection, (ws, agent, tool): Tool<'_>) -> Result<(), StoreError> {
    let forget = "DELETE FROM habits WHERE ws = ? AND agent = ? AND tool = ?";
    sql::change(tx, forget, [ws, agent, tool])?;
    Ok(())
}

/// A word that is another one each time when the table was made anew.
pub fn made_anew(tx: &Connection) -> Result<Option<String>, StoreError> {
    meta::stored(tx, meta::HABITS)
}
