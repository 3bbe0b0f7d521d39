//! Table `alarms`: what a person must look at.

use rusqlite::{Connection, Row, params};

use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;
pub use crate::domain::facts::Alarm;

/// Alarms listed at most: the newest ones.
const LISTED: i64 = 200;
/// Alarms listed with those that were acknowledged.
const MOST: i64 = 1_000;

fn read(row: &Row<'_>) -> rusqlite::Result<Alarm> {
    Ok(Alarm {
        id: row.get(0)?,
        code: row.get(1)?,
        subject: row.get(2)?,
        at: row.get(3)?,
        acknowledged_at: row.get(4)?,
        acknowledged_by: row.get(5)?,
    })
}

/// Raises an alarm; the same one again is one alarm with a new time, that nobody has seen yet.
pub fn raise(tx: &Connection, code: &str, subject: &str, at: Timestamp) -> Result<(), StoreError> {
    let raise = "INSERT INTO alarms(code, subject, at) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET at = excluded.at, acknowledged_at = NULL, acknowledged_by = NULL";
    sql::change(tx, raise, params![code, subject, at.0])?;
    Ok(())
}

/// Raises an alarm once: one that is active already stays as it is. Returns whether it is new.
pub fn raise_once(
    tx: &Connection,
    code: &str,
    subject: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let raise = "INSERT INTO alarms(code, subject, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
    Ok(sql::change(tx, raise, params![code, subject, at.0])? == 1)
}

/// Raises an alarm about an agent; an active one that was not acknowledged stays as it is. Returns whether it is new.
pub fn raise_unseen(
    tx: &Connection,
    code: &str,
    subject: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let raise = "INSERT INTO alarms(code, subject, at) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET at = excluded.at, acknowledged_at = NULL, acknowledged_by = NULL
         WHERE acknowledged_at IS NOT NULL";
    Ok(sql::change(tx, raise, params![code, subject, at.0])? == 1)
}

/// Whether this alarm is active, acknowledged or not.
pub fn is_active(tx: &Connection, code: &str, subject: &str) -> Result<bool, StoreError> {
    let active = "SELECT EXISTS(SELECT 1 FROM alarms WHERE code = ? AND subject = ?)";
    sql::value(tx, active, [code, subject])
}

/// Whether `most` alarms of a code about requests of an agent (`WS/AGENT`) wait to be acknowledged.
pub fn are_many(tx: &Connection, code: &str, agent: &str, most: i64) -> Result<bool, StoreError> {
    let waiting: i64 = sql::value(
        tx,
        "SELECT count(*) FROM (SELECT 1 FROM alarms WHERE code = ?1 AND subject > ?2 || '/' AND subject < ?2 || '0'
                               AND acknowledged_at IS NULL LIMIT ?3)",
        params![code, agent, most],
    )?;
    Ok(waiting >= most)
}

/// Ends an alarm whose cause is gone. Returns whether it was active.
pub fn clear(tx: &Connection, code: &str, subject: &str) -> Result<bool, StoreError> {
    let clear = "DELETE FROM alarms WHERE code = ? AND subject = ?";
    Ok(sql::change(tx, clear, [code, subject])? == 1)
}

/// What the alarms of a code are about, outside a transaction.
pub async fn of_code(reader: &Reader, code: &str) -> Result<Vec<String>, StoreError> {
    let code = code.to_owned();
    reader.direct(move |sqlite| subjects(sqlite, &code)).await
}

/// What the alarms of a code are about.
pub fn subjects(tx: &Connection, code: &str) -> Result<Vec<String>, StoreError> {
    sql::column(tx, "SELECT subject FROM alarms WHERE code = ?", [code])
}

/// Notes that a person has seen an alarm. None where there is none of this number; the first one who
/// said so stays.
pub fn acknowledge(tx: &Connection, id: i64, by: &str, at: Timestamp) -> Result<bool, StoreError> {
    let acknowledge = "UPDATE alarms SET acknowledged_at = ?, acknowledged_by = ? WHERE id = ? AND acknowledged_at IS NULL";
    Ok(sql::change(tx, acknowledge, params![at.0, by, id])? == 1)
}

/// The alarm of a number.
pub fn get(tx: &Connection, id: i64) -> Result<Option<Alarm>, StoreError> {
    sql::first(
        tx,
        "SELECT id, code, subject, at, acknowledged_at, acknowledged_by FROM alarms WHERE id = ?",
        [id],
        read,
    )
}

/// The alarms about one thing, oldest first.
pub fn about(sqlite: &Connection, subject: &str) -> Result<Vec<Alarm>, StoreError> {
    let about = "SELECT id, code, subject, at, acknowledged_at, acknowledged_by FROM alarms WHERE subject = ? ORDER BY id";
    sql::all(sqlite, about, [subject], read)
}

/// The newest alarms that nobody has acknowledged, newest first.
pub async fn newest(reader: &Reader) -> Result<Vec<Alarm>, StoreError> {
    let newest = "SELECT id, code, subject, at, acknowledged_at, acknowledged_by FROM alarms
         WHERE acknowledged_at IS NULL ORDER BY at DESC, id DESC LIMIT ?";
    reader
        .direct(|sqlite| sql::all(sqlite, newest, [LISTED], read))
        .await
}

/// The newest alarms, seen or not, newest first.
pub async fn all(reader: &Reader) -> Result<Vec<Alarm>, StoreError> {
    let all = "SELECT id, code, subject, at, acknowledged_at, acknowledged_by FROM alarms
         ORDER BY at DESC, id DESC LIMIT ?";
    reader
        .direct(|sqlite| sql::all(sqlite, all, [MOST], read))
        .await
}
