//! Table `quarantine`: messages that were kept for inspection and changed nothing else.

use rusqlite::{Connection, params};

use super::{StoreError, sql};
use crate::domain::Timestamp;
pub use crate::domain::facts::Contradicting;

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
pub fn insert(tx: &Connection, row: &Quarantined) -> Result<(), StoreError> {
    let insert =
        "INSERT INTO quarantine(stream, stream_epoch, stream_seq, subject, raw, code, detail, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let row = params![
        row.stream,
        row.stream_epoch,
        row.stream_seq,
        row.subject,
        row.raw,
        row.code,
        row.detail,
        row.at.0,
    ];
    sql::change(tx, insert, row)?;
    Ok(())
}

/// Counts one more message of a sender on a day, and returns how many it has sent then.
pub fn count(tx: &Connection, sender: &str, day: i64) -> Result<i64, StoreError> {
    let count = "INSERT INTO quarantine_days(sender, day, messages) VALUES (?, ?, 1)
         ON CONFLICT DO UPDATE SET messages = messages + 1 RETURNING messages";
    sql::value(tx, count, params![sender, day])
}

/// The decision on this subject that contradicts the one that is kept.
pub fn contradicting(
    sqlite: &Connection,
    subject: &str,
) -> Result<Option<Contradicting>, StoreError> {
    let newest = "SELECT stream_seq, raw, at FROM quarantine
         WHERE stream = 'CS_DECISIONS' AND code = 'conflict' AND subject = ? ORDER BY id DESC LIMIT 1";
    sql::first(sqlite, newest, [subject], |row| {
        Ok(Contradicting {
            stream_seq: row.get(0)?,
            raw: row.get(1)?,
            at: row.get(2)?,
        })
    })
}

/// Whether there is one.
pub fn is_contradicted(tx: &Connection, subject: &str) -> Result<bool, StoreError> {
    Ok(contradicting(tx, subject)?.is_some())
}
