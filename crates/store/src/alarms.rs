//! Table `alarms`: what a person must look at.

use sqlx::SqliteConnection;

use super::{Reader, StoreError};
use crate::domain::Timestamp;

/// Alarms listed at most: the newest ones.
const LISTED: i64 = 200;
/// Alarms listed with those that were acknowledged.
const MOST: i64 = 1_000;

/// Something that must not have happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct Alarm {
    /// Its number in this folder; 0 for one that could not be written.
    pub id: i64,
    /// Stable word.
    pub code: String,
    /// `WS/AGENT/ID`, a stream, or the name of the thing.
    pub subject: String,
    /// When, server time, ms.
    pub at: i64,
    /// When somebody said that it was seen, server time, ms.
    pub acknowledged_at: Option<i64>,
    /// Public key of who said so.
    pub acknowledged_by: Option<String>,
}

/// Raises an alarm; the same one again is one alarm with a new time, that nobody has seen yet.
pub async fn raise(
    tx: &mut SqliteConnection,
    code: &str,
    subject: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO alarms(code, subject, at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at, acknowledged_at = NULL, acknowledged_by = NULL")
        .bind(code)
        .bind(subject)
        .bind(at.0)
        .execute(tx)
        .await?;
    Ok(())
}

/// Raises an alarm once: one that is active already stays as it is. Returns whether it is new.
pub async fn raise_once(
    tx: &mut SqliteConnection,
    code: &str,
    subject: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "INSERT INTO alarms(code, subject, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    )
    .bind(code)
    .bind(subject)
    .bind(at.0)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Raises an alarm about an agent; an active one that was not acknowledged stays as it is. Returns whether it is new.
pub async fn raise_unseen(
    tx: &mut SqliteConnection,
    code: &str,
    subject: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "INSERT INTO alarms(code, subject, at) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET at = excluded.at, acknowledged_at = NULL, acknowledged_by = NULL
         WHERE acknowledged_at IS NOT NULL",
    )
    .bind(code)
    .bind(subject)
    .bind(at.0)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether this alarm is active, acknowledged or not.
pub async fn is_active(
    tx: &mut SqliteConnection,
    code: &str,
    subject: &str,
) -> Result<bool, StoreError> {
    let found =
        sqlx::query_scalar("SELECT EXISTS(SELECT 1 FROM alarms WHERE code = ? AND subject = ?)");
    Ok(found.bind(code).bind(subject).fetch_one(tx).await?)
}

/// Whether `most` alarms of a code about requests of an agent (`WS/AGENT`) wait to be acknowledged.
pub async fn are_many(
    tx: &mut SqliteConnection,
    code: &str,
    agent: &str,
    most: i64,
) -> Result<bool, StoreError> {
    let waiting: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM (SELECT 1 FROM alarms WHERE code = ?1 AND subject > ?2 || '/' AND subject < ?2 || '0'
                               AND acknowledged_at IS NULL LIMIT ?3)",
    )
    .bind(code)
    .bind(agent)
    .bind(most)
    .fetch_one(tx)
    .await?;
    Ok(waiting >= most)
}

/// Ends an alarm whose cause is gone. Returns whether it was active.
pub async fn clear(
    tx: &mut SqliteConnection,
    code: &str,
    subject: &str,
) -> Result<bool, StoreError> {
    let done = sqlx::query("DELETE FROM alarms WHERE code = ? AND subject = ?")
        .bind(code)
        .bind(subject)
        .execute(tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// What the alarms of a code are about, outside a transaction.
pub async fn of_code(reader: &Reader, code: &str) -> Result<Vec<String>, StoreError> {
    subjects(&mut *reader.0.acquire().await?, code).await
}

/// What the alarms of a code are about.
pub async fn subjects(tx: &mut SqliteConnection, code: &str) -> Result<Vec<String>, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT subject FROM alarms WHERE code = ?")
            .bind(code)
            .fetch_all(tx)
            .await?,
    )
}

/// Notes that a person has seen an alarm. None where there is none of this number; the first one who
/// said so stays.
pub async fn acknowledge(
    tx: &mut SqliteConnection,
    id: i64,
    by: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE alarms SET acknowledged_at = ?, acknowledged_by = ? WHERE id = ? AND acknowledged_at IS NULL",
    )
    .bind(at.0)
    .bind(by)
    .bind(id)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The alarm of a number.
pub async fn get(tx: &mut SqliteConnection, id: i64) -> Result<Option<Alarm>, StoreError> {
    let alarm = sqlx::query_as(
        "SELECT id, code, subject, at, acknowledged_at, acknowledged_by FROM alarms WHERE id = ?",
    );
    Ok(alarm.bind(id).fetch_optional(tx).await?)
}

/// The alarms about one thing, oldest first.
pub async fn about(reader: &Reader, subject: &str) -> Result<Vec<Alarm>, StoreError> {
    let alarms = sqlx::query_as(
        "SELECT id, code, subject, at, acknowledged_at, acknowledged_by FROM alarms WHERE subject = ? ORDER BY id",
    );
    Ok(alarms.bind(subject).fetch_all(&reader.0).await?)
}

/// The newest alarms that nobody has acknowledged, newest first.
pub async fn newest(reader: &Reader) -> Result<Vec<Alarm>, StoreError> {
    let alarms = sqlx::query_as(
        "SELECT id, code, subject, at, acknowledged_at, acknowledged_by FROM alarms WHERE acknowledged_at IS NULL ORDER BY at DESC, id DESC LIMIT ?",
    );
    Ok(alarms.bind(LISTED).fetch_all(&reader.0).await?)
}

/// The newest alarms, seen or not, newest first.
pub async fn all(reader: &Reader) -> Result<Vec<Alarm>, StoreError> {
    let alarms = sqlx::query_as(
        "SELECT id, code, subject, at, acknowledged_at, acknowledged_by FROM alarms ORDER BY at DESC, id DESC LIMIT ?",
    );
    Ok(alarms.bind(MOST).fetch_all(&reader.0).await?)
}
