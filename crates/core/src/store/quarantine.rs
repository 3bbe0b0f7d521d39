//! Table `quarantine`: messages that were kept for inspection and changed nothing else.

use sqlx::SqliteConnection;

use super::StoreError;
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
    /// Payload as received.
    pub raw: Vec<u8>,
    /// Stable word: `conflict`, `bad_subject`, …
    pub code: String,
    /// What is wrong, without the message's own text.
    pub detail: String,
    /// The server's stamp.
    pub at: Timestamp,
}

/// Keeps a message.
///
/// # Errors
/// [`StoreError::Sqlite`].
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
