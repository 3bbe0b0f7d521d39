//! Table `tombstones`: a withdraw or a tighten that came before its request.

use countersign_wire::RequestKey;
use sqlx::SqliteConnection;

use super::StoreError;
use crate::domain::Timestamp;

/// What came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TombstoneKind {
    /// The agent no longer wants the answer.
    Withdraw,
    /// The agent wants it earlier.
    Tighten,
}

impl TombstoneKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Withdraw => "withdraw",
            Self::Tighten => "tighten",
        }
    }
}

/// A kept message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Payload as received.
    pub raw: Vec<u8>,
    /// The server's stamp.
    pub at: Timestamp,
}

/// Keeps a message for a request that is not here yet; the first of its kind counts.
pub async fn insert(
    tx: &mut SqliteConnection,
    key: &RequestKey,
    kind: TombstoneKind,
    tombstone: &Tombstone,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO tombstones(ws, agent, request_id, kind, raw, at) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING",
    )
    .bind(key.workspace.as_ref())
    .bind(key.agent.as_ref())
    .bind(key.request_id.as_ref())
    .bind(kind.as_str())
    .bind(&tombstone.raw)
    .bind(tombstone.at.0)
    .execute(tx)
    .await?;
    Ok(())
}

/// What came before this request.
pub async fn get(
    tx: &mut SqliteConnection,
    key: &RequestKey,
    kind: TombstoneKind,
) -> Result<Option<Tombstone>, StoreError> {
    let row: Option<(Vec<u8>, i64)> = sqlx::query_as(
        "SELECT raw, at FROM tombstones WHERE ws = ? AND agent = ? AND request_id = ? AND kind = ?",
    )
    .bind(key.workspace.as_ref())
    .bind(key.agent.as_ref())
    .bind(key.request_id.as_ref())
    .bind(kind.as_str())
    .fetch_optional(tx)
    .await?;
    Ok(row.map(|(raw, at)| Tombstone {
        raw,
        at: Timestamp(at),
    }))
}

/// How many messages wait for their request.
pub async fn count(tx: &mut SqliteConnection) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT count(*) FROM tombstones")
        .fetch_one(tx)
        .await?)
}

/// Drops what has found its request. Returns how many there were.
pub async fn drop_used(tx: &mut SqliteConnection, key: &RequestKey) -> Result<i64, StoreError> {
    let done = sqlx::query("DELETE FROM tombstones WHERE ws = ? AND agent = ? AND request_id = ?")
        .bind(key.workspace.as_ref())
        .bind(key.agent.as_ref())
        .bind(key.request_id.as_ref())
        .execute(tx)
        .await?;
    Ok(i64::try_from(done.rows_affected()).unwrap_or(0))
}
