//! Table `early_receipts`: requests whose receipt came before their decision.

use countersign_wire::RequestKey;
use rusqlite::{Connection, Row, params};

use super::requests::parts;
use super::{StoreError, sql};
use crate::domain::Timestamp;

/// Requests that are looked at in one transaction.
const PAGE: i64 = 500;

fn key(row: &Row<'_>) -> rusqlite::Result<Option<RequestKey>> {
    let word = |place: usize| row.get::<_, String>(place);
    let name = format!("{}/{}/{}", word(0)?, word(1)?, word(2)?);
    Ok(name.parse().ok())
}

/// Notes requests, each with the time at which an execution counts as one without a decision; the first time that is
/// noted stays. Returns how many requests are new.
pub fn note(tx: &Connection, rows: &[(RequestKey, Option<Timestamp>)]) -> Result<i64, StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO early_receipts(look_at, ws, agent, request_id) VALUES (?, ?, ?, ?)
         ON CONFLICT DO NOTHING",
    )?;
    let mut update = tx.prepare_cached(
        "UPDATE early_receipts SET look_at = coalesce(look_at, ?)
         WHERE ws = ? AND agent = ? AND request_id = ?",
    )?;
    let mut new = 0;
    for (key, look_at) in rows {
        let [ws, agent, request_id] = parts(key);
        let values = params![look_at.map(|at| at.0), ws, agent, request_id];
        match insert.execute(values)? {
            1 => new += 1,
            _ => drop(update.execute(values)?),
        }
    }
    Ok(new)
}

/// Takes those of these requests out that are noted.
pub fn take(tx: &Connection, keys: &[RequestKey]) -> Result<Vec<RequestKey>, StoreError> {
    let mut delete = tx.prepare_cached(
        "DELETE FROM early_receipts WHERE ws = ? AND agent = ? AND request_id = ?",
    )?;
    let mut taken = Vec::new();
    for key in keys {
        if delete.execute(parts(key))? == 1 {
            taken.push(key.clone());
        }
    }
    Ok(taken)
}

/// Requests whose time has come, at most a page; they are looked at once.
pub fn due(tx: &Connection, now: Timestamp) -> Result<Vec<RequestKey>, StoreError> {
    let keys = sql::all(
        tx,
        "UPDATE early_receipts SET look_at = NULL WHERE (ws, agent, request_id) IN
           (SELECT ws, agent, request_id FROM early_receipts WHERE look_at <= ? ORDER BY look_at LIMIT ?)
         RETURNING ws, agent, request_id",
        [now.0, PAGE],
        key,
    )?;
    Ok(keys.into_iter().flatten().collect())
}

/// The earliest time at which a request is to be looked at.
pub fn next_look(tx: &Connection) -> Result<Option<Timestamp>, StoreError> {
    let earliest = "SELECT min(look_at) FROM early_receipts WHERE look_at IS NOT NULL";
    Ok(sql::value::<Option<i64>>(tx, earliest, [])?.map(Timestamp))
}

/// How many requests are noted.
pub fn count(tx: &Connection) -> Result<i64, StoreError> {
    sql::value(tx, "SELECT count(*) FROM early_receipts", [])
}
