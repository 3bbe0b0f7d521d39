//! Table `tombstones`: a withdraw or a tighten that came before its request.

use countersign_wire::RequestKey;
use rusqlite::{Connection, params};

use super::requests::parts;
use super::{StoreError, sql};
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
pub fn insert(
    tx: &Connection,
    key: &RequestKey,
    kind: TombstoneKind,
    tombstone: &Tombstone,
) -> Result<(), StoreError> {
    let [ws, agent, request_id] = parts(key);
    let (raw, at) = (&tombstone.raw, tombstone.at.0);
    let insert =
        "INSERT INTO tombstones(ws, agent, request_id, kind, raw, at) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING";
    let values = params![ws, agent, request_id, kind.as_str(), raw, at];
    sql::change(tx, insert, values).map(drop)
}

/// What came before this request.
pub fn get(
    tx: &Connection,
    key: &RequestKey,
    kind: TombstoneKind,
) -> Result<Option<Tombstone>, StoreError> {
    let [ws, agent, request_id] = parts(key);
    let get =
        "SELECT raw, at FROM tombstones WHERE ws = ? AND agent = ? AND request_id = ? AND kind = ?";
    sql::first(tx, get, [ws, agent, request_id, kind.as_str()], |row| {
        Ok(Tombstone {
            raw: row.get(0)?,
            at: Timestamp(row.get(1)?),
        })
    })
}

/// How many messages wait for their request.
pub fn count(tx: &Connection) -> Result<i64, StoreError> {
    sql::value(tx, "SELECT count(*) FROM tombstones", [])
}

/// Drops what has found its request. Returns how many there were.
pub fn drop_used(tx: &Connection, key: &RequestKey) -> Result<i64, StoreError> {
    let used = "DELETE FROM tombstones WHERE ws = ? AND agent = ? AND request_id = ?";
    let dropped = sql::change(tx, used, parts(key))?;
    Ok(i64::try_from(dropped).unwrap_or(0))
}
