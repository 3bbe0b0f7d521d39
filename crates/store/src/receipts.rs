//! Table `receipts`: what agents report about decisions.

use countersign_wire::RequestKey;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::bulk::{pieces, wanted};
use super::{Reader, StoreError};
use crate::domain::Timestamp;

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

/// A receipt as other parts read it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct StoredReceipt {
    /// As sent.
    pub decision_id: String,
    /// `received`, `executed`, `failed` or `refused`.
    pub stage: String,
    /// The server's stamp, ms.
    pub at: i64,
    /// Payload as received.
    pub detail: Vec<u8>,
}

/// Of one that came before only this changes: nobody will report what became of the call.
const NO_REPORT_LATER: &str = " ON CONFLICT DO UPDATE SET detail = excluded.detail, stream_seq = excluded.stream_seq \
    WHERE receipts.stage = 'received' AND instr(excluded.detail, CAST('\"no_execution_report\"' AS BLOB)) \
    AND NOT instr(receipts.detail, CAST('\"no_execution_report\"' AS BLOB)) RETURNING stream_seq";

/// Inserts receipts; a repeated one is left out. Returns the stream sequences of what was inserted.
pub async fn insert(
    tx: &mut SqliteConnection,
    rows: &[NewReceipt],
) -> Result<Vec<i64>, StoreError> {
    let mut inserted = Vec::with_capacity(rows.len());
    for piece in pieces(rows) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO receipts(ws, agent, request_id, decision_id, stage, at, detail, stream_seq) ",
        );
        query.push_values(piece, |mut values, row| {
            values
                .push_bind(row.key.workspace.as_ref())
                .push_bind(row.key.agent.as_ref())
                .push_bind(row.key.request_id.as_ref())
                .push_bind(row.decision_id.as_str())
                .push_bind(row.stage.as_str())
                .push_bind(row.at.0)
                .push_bind(row.detail.as_slice())
                .push_bind(row.stream_seq);
        });
        query.push(NO_REPORT_LATER);
        inserted.extend(
            query
                .build_query_scalar::<i64>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(inserted)
}

/// A receipt with the request that it is about.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
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
pub async fn of_requests(
    tx: &mut SqliteConnection,
    keys: &[RequestKey],
) -> Result<Vec<Reported>, StoreError> {
    let mut found = Vec::new();
    for piece in pieces(keys) {
        let mut query = wanted(piece);
        query.push(
            "SELECT c.ws, c.agent, c.request_id, c.decision_id, c.stage, c.at, c.detail
             FROM wanted CROSS JOIN receipts c ON c.ws = wanted.ws AND c.agent = wanted.agent
             AND c.request_id = wanted.request_id ORDER BY c.stream_seq",
        );
        found.extend(
            query
                .build_query_as::<Reported>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(found)
}

/// All receipts of one request, oldest first.
pub async fn of_request(
    reader: &Reader,
    key: &RequestKey,
) -> Result<Vec<StoredReceipt>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT decision_id, stage, at, detail FROM receipts
         WHERE ws = ? AND agent = ? AND request_id = ? ORDER BY stream_seq",
    )
    .bind(key.workspace.as_ref())
    .bind(key.agent.as_ref())
    .bind(key.request_id.as_ref())
    .fetch_all(&reader.0)
    .await?)
}
