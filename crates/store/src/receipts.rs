//! Table `receipts`: what agents report about decisions.

use countersign_wire::RequestKey;
use rusqlite::{Connection, OptionalExtension, params};

use super::requests::parts;
use super::{StoreError, sql};
use crate::domain::Timestamp;
pub use crate::domain::facts::StoredReceipt;

/// A receipt as it came.
#[derive(Debug, Clone)]
pub struct NewReceipt {
    /// From the subject.
    pub key: RequestKey,
    /// As sent.
    pub decision_id: String,
    /// `received`, `executed`, `failed` or `refused`.
    pub stage: String,
    /// The server's stamp.
    pub at: Timestamp,
    /// Payload as received.
    pub detail: Vec<u8>,
    /// Sequence in the stream.
    pub stream_seq: i64,
}

/// Of one that came before only this changes: nobody will report what became of the call.
const INSERT: &str =
    "INSERT INTO receipts(ws, agent, request_id, decision_id, stage, at, detail, stream_seq)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET detail = excluded.detail, stream_seq = excluded.stream_seq
      WHERE receipts.stage = 'received' AND instr(excluded.detail, CAST('\"no_execution_report\"' AS BLOB))
      AND NOT instr(receipts.detail, CAST('\"no_execution_report\"' AS BLOB))
    RETURNING stream_seq";

/// Inserts receipts; a repeated one is left out. Returns the stream sequences of what was inserted.
pub fn insert(tx: &Connection, rows: &[NewReceipt]) -> Result<Vec<i64>, StoreError> {
    let mut insert = tx.prepare_cached(INSERT)?;
    let mut inserted = Vec::with_capacity(rows.len());
    for row in rows {
        let seq = insert.query_row(
            params![
                row.key.workspace.as_ref(),
                row.key.agent.as_ref(),
                row.key.request_id.as_ref(),
                row.decision_id,
                row.stage,
                row.at.0,
                row.detail,
                row.stream_seq,
            ],
            |row| row.get::<_, i64>(0),
        );
        inserted.extend(seq.optional()?);
    }
    Ok(inserted)
}

/// A receipt with the request that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// As sent.
    pub decision_id: String,
    /// `received`, `executed`, `failed` or `refused`.
    pub stage: String,
    /// The server's stamp, ms.
    pub at: i64,
    /// Payload as received.
    pub detail: Vec<u8>,
}

/// All receipts of these requests, as this transaction sees them, in the order of each request's stream.
pub fn of_requests(tx: &Connection, keys: &[RequestKey]) -> Result<Vec<Reported>, StoreError> {
    let mut select = tx.prepare_cached(
        "SELECT ws, agent, request_id, decision_id, stage, at, detail FROM receipts
         WHERE ws = ? AND agent = ? AND request_id = ? ORDER BY stream_seq",
    )?;
    let mut found = Vec::new();
    for key in keys {
        let mut rows = select.query(parts(key))?;
        while let Some(row) = rows.next()? {
            found.push(Reported {
                ws: row.get(0)?,
                agent: row.get(1)?,
                request_id: row.get(2)?,
                decision_id: row.get(3)?,
                stage: row.get(4)?,
                at: row.get(5)?,
                detail: row.get(6)?,
            });
        }
    }
    Ok(found)
}

/// All receipts of one request, oldest first.
pub fn of_request(sqlite: &Connection, key: &RequestKey) -> Result<Vec<StoredReceipt>, StoreError> {
    let receipts = "SELECT decision_id, stage, at, detail FROM receipts
         WHERE ws = ? AND agent = ? AND request_id = ? ORDER BY stream_seq";
    sql::all(sqlite, receipts, parts(key), |row| {
        Ok(StoredReceipt {
            decision_id: row.get(0)?,
            stage: row.get(1)?,
            at: row.get(2)?,
            detail: row.get(3)?,
        })
    })
}
