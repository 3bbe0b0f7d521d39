//! Table `quarantine`: messages that were kept for inspection and changed nothing else.

use sqlx::{Executor, Sqlite, SqliteConnection};

use super::{Reader, StoreError};
use crate::domain::Timestamp;

/// A message that could not be used.
#[derive(Debug, Clone)]
pub struct Quarantined {
    /// Stream name.
    pub stream: String,
    /// Stream epoch.
    pub stream_epoch: String,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// As published.
    pub subject: String,
    /// Payload as received, or its head.
    pub raw: Vec<u8>,
    /// Stable word: `conflict`, `bad_subject`, …
    pub code: String,
    /// What is wrong, without the message's own text.
    pub detail: String,
    /// The server's stamp.
    pub at: Timestamp,
}

/// Keeps a message.
pub async fn insert(tx: &mut SqliteConnection, row: &Quarantined) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO quarantine(stream, stream_epoch, stream_seq, subject, raw, code, detail, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    )
    .bind(&row.stream)
    .bind(&row.stream_epoch)
    .bind(row.stream_seq)
    .bind(&row.subject)
    .bind(&row.raw)
    .bind(&row.code)
    .bind(&row.detail)
    .bind(row.at.0)
    .execute(tx)
    .await?;
    Ok(())
}

/// Counts one more message of a sender on a day, and returns how many it has sent then.
pub async fn count(tx: &mut SqliteConnection, sender: &str, day: i64) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(
        "INSERT INTO quarantine_days(sender, day, messages) VALUES (?, ?, 1)
         ON CONFLICT DO UPDATE SET messages = messages + 1 RETURNING messages",
    )
    .bind(sender)
    .bind(day)
    .fetch_one(tx)
    .await?)
}

/// A decision on the bus where this console keeps another one.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Contradicting {
    /// Its position in the stream.
    pub stream_seq: i64,
    /// Its bytes.
    pub raw: Vec<u8>,
    /// The server's stamp, ms.
    pub at: i64,
}

const CONTRADICTING: &str = "SELECT stream_seq, raw, at FROM quarantine
    WHERE stream = 'CS_DECISIONS' AND code = 'conflict' AND subject = ? ORDER BY id DESC LIMIT 1";

async fn find<'e>(
    executor: impl Executor<'e, Database = Sqlite>,
    subject: &str,
) -> Result<Option<Contradicting>, StoreError> {
    let found = sqlx::query_as(CONTRADICTING).bind(subject);
    Ok(found.fetch_optional(executor).await?)
}

/// The decision on this subject that contradicts the one that is kept.
pub async fn contradicting(
    reader: &Reader,
    subject: &str,
) -> Result<Option<Contradicting>, StoreError> {
    find(&reader.0, subject).await
}

/// Whether there is one.
pub async fn is_contradicted(tx: &mut SqliteConnection, subject: &str) -> Result<bool, StoreError> {
    Ok(find(tx, subject).await?.is_some())
}
