//! Table `alarms`: what a person must look at.

use sqlx::SqliteConnection;

use super::{Reader, StoreError};
use crate::domain::Timestamp;

/// Alarms listed at most: the newest ones.
const LISTED: i64 = 200;

/// Something that must not have happened.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Alarm {
    /// Stable word.
    pub code: String,
    /// `WS/AGENT/ID`, a stream, or the name of the thing.
    pub subject: String,
    /// When, server time, ms.
    pub at: i64,
}

/// Raises an alarm; the same one again is one alarm with a new time.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn raise(
    tx: &mut SqliteConnection,
    code: &str,
    subject: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO alarms(code, subject, at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at")
        .bind(code)
        .bind(subject)
        .bind(at.0)
        .execute(tx)
        .await?;
    Ok(())
}

/// Raises an alarm that is told once: one that stands already stays as it is. Returns whether it is new.
///
/// # Errors
/// [`StoreError::Sqlite`].
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

/// Ends an alarm whose cause is gone. Returns whether it stood.
///
/// # Errors
/// [`StoreError::Sqlite`].
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

/// The alarms about one thing, oldest first.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn about(reader: &Reader, subject: &str) -> Result<Vec<Alarm>, StoreError> {
    Ok(
        sqlx::query_as("SELECT code, subject, at FROM alarms WHERE subject = ? ORDER BY id")
            .bind(subject)
            .fetch_all(&reader.0)
            .await?,
    )
}

/// The newest alarms, newest first.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn newest(reader: &Reader) -> Result<Vec<Alarm>, StoreError> {
    Ok(
        sqlx::query_as("SELECT code, subject, at FROM alarms ORDER BY at DESC, id DESC LIMIT ?")
            .bind(LISTED)
            .fetch_all(&reader.0)
            .await?,
    )
}
