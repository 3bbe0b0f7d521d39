//! Table `realm_log`: the slots of the realm log as they were read.
//!
//! An entry keeps its bytes; what is none keeps its place alone, so that the state is folded as it was.

use rusqlite::{Connection, params};

use super::{Reader, StoreError, sql};

/// What a slot holds.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct SlotRow {
    /// The slot.
    pub slot: i64,
    /// The sequence of its message.
    pub seq: i64,
    /// The server's stamp, ms.
    pub stored_at: i64,
    /// The entry's number; none of what is no entry.
    pub n: Option<i64>,
    /// The entry's digest.
    pub digest: Option<String>,
    /// What became of the message.
    pub word: String,
    /// The entry as stored.
    pub message: Option<Vec<u8>>,
}

const OF_EPOCH: &str = "SELECT slot, seq, stored_at, n, digest, word, message FROM realm_log WHERE epoch = ? ORDER BY seq";

/// Keeps a slot; the same one again changes nothing.
pub fn add(tx: &Connection, epoch: &str, row: &SlotRow) -> Result<(), StoreError> {
    let add = "INSERT INTO realm_log(epoch, slot, seq, stored_at, n, digest, word, message)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let row = params![
        epoch,
        row.slot,
        row.seq,
        row.stored_at,
        row.n,
        row.digest,
        row.word,
        row.message,
    ];
    sql::change(tx, add, row)?;
    Ok(())
}

/// Whether an entry is known, of whatever epoch.
pub fn knows(tx: &Connection, row: &SlotRow) -> Result<bool, StoreError> {
    let knows = "SELECT EXISTS(SELECT 1 FROM realm_log WHERE n = ? AND digest = ?)";
    let known = sql::first(tx, knows, params![row.n, row.digest], |row| row.get(0))?;
    Ok(known.unwrap_or(false))
}

/// The highest sequence that was read under an epoch; 0 where none was.
pub fn last_seq(tx: &Connection, epoch: &str) -> Result<i64, StoreError> {
    let last = "SELECT ifnull(max(seq), 0) FROM realm_log WHERE epoch = ?";
    Ok(sql::first(tx, last, [epoch], |row| row.get(0))?.unwrap_or(0))
}

/// The slots of an epoch in the order of their sequences, as a transaction sees them.
pub fn of_epoch(tx: &Connection, epoch: &str) -> Result<Vec<SlotRow>, StoreError> {
    sql::all(tx, OF_EPOCH, [epoch], |row| {
        Ok(SlotRow {
            slot: row.get(0)?,
            seq: row.get(1)?,
            stored_at: row.get(2)?,
            n: row.get(3)?,
            digest: row.get(4)?,
            word: row.get(5)?,
            message: row.get(6)?,
        })
    })
}

/// The epoch of the stream has another name: it holds what it held.
pub fn renew(tx: &Connection, before: &str, epoch: &str) -> Result<(), StoreError> {
    let renew = "UPDATE OR IGNORE realm_log SET epoch = ? WHERE epoch = ?";
    sql::change(tx, renew, [epoch, before])?;
    Ok(())
}

/// The slots of an epoch in the order of their sequences.
pub async fn read(reader: &Reader, epoch: &str) -> Result<Vec<SlotRow>, StoreError> {
    Ok(sqlx::query_as(OF_EPOCH)
        .bind(epoch)
        .fetch_all(&reader.0)
        .await?)
}

/// Every entry that is known, of whatever epoch, in the order of the chain and each once.
pub async fn entries(reader: &Reader) -> Result<Vec<SlotRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT slot, max(seq) AS seq, stored_at, n, digest, word, message FROM realm_log
         WHERE n IS NOT NULL GROUP BY n, digest ORDER BY n, min(stored_at)",
    )
    .fetch_all(&reader.0)
    .await?)
}

/// Whether an entry behind the last one of this epoch is known.
pub async fn knows_more(reader: &Reader, epoch: &str) -> Result<bool, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT EXISTS(SELECT 1 FROM realm_log
         WHERE n > (SELECT ifnull(max(n), 0) FROM realm_log WHERE epoch = ?))",
    )
    .bind(epoch)
    .fetch_one(&reader.0)
    .await?)
}

/// The last entry before a sequence of an epoch: its number and digest; none where there is none.
pub async fn head_at(
    reader: &Reader,
    epoch: &str,
    seq: i64,
) -> Result<Option<(i64, String)>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT n, digest FROM realm_log WHERE epoch = ? AND seq < ? AND n IS NOT NULL
         ORDER BY seq DESC LIMIT 1",
    )
    .bind(epoch)
    .bind(seq)
    .fetch_optional(&reader.0)
    .await?)
}
