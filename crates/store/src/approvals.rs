//! Requests on which people decided, as suggestions read them.

use super::{Reader, StoreError};

/// A request that is kept whole and on which a person decided.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct ApprovalRow {
    /// Row number.
    pub id: i64,
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Request id.
    pub request_id: String,
    /// Payload as received.
    pub raw: Vec<u8>,
    /// The server's stamp, ms.
    pub stored_at: i64,
    /// As it reads everywhere.
    pub verdict: String,
    /// The person's public key.
    pub key: String,
}

/// Requests of a workspace behind row `after` that people decided, in the order in which they came; those
/// left out whose payload is gone.
pub async fn by_people(
    reader: &Reader,
    ws: &str,
    since: i64,
    after: i64,
    limit: i64,
) -> Result<Vec<ApprovalRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT r.id, r.ws, r.agent, r.request_id, r.raw, r.stored_at, r.verdict,
           coalesce(d.key, '') AS key
         FROM requests r JOIN decisions d ON d.request = r.id
         WHERE r.id > ? AND r.ws = ? AND r.stored_at >= ? AND r.state = 'decided'
           AND r.origin = 'operator' AND r.verdict IS NOT NULL AND length(r.raw) > 0
         ORDER BY r.id LIMIT ?",
    )
    .bind(after)
    .bind(ws)
    .bind(since)
    .bind(limit)
    .fetch_all(&reader.0)
    .await?)
}
