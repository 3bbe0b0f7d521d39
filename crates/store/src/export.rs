//! What an export of the history says beside its lines.

use super::{Reader, StoreError};

/// Digests of a request, and its decision as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct ExportRow {
    /// Row number of the request.
    pub id: i64,
    /// Digest of its bytes as received.
    pub request_digest: String,
    /// UUID of the decision.
    pub decision_id: Option<String>,
    /// The decision as stored; none while there is none.
    pub payload: Option<Vec<u8>>,
    /// Who signed it.
    pub key: Option<String>,
    /// The server's stamp of it, ms.
    pub decision_stored_at: Option<i64>,
    /// Version of the rule that decided.
    pub rule_version: Option<i64>,
    /// Rule set in force.
    pub policy_digest: Option<String>,
    /// Why it is void.
    pub fault: Option<String>,
}

/// Those of these requests, in no order.
pub async fn of_requests(reader: &Reader, ids: &[i64]) -> Result<Vec<ExportRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT r.id, r.request_digest, d.decision_id, d.payload, d.key, d.stored_at AS decision_stored_at,
         d.rule_version, d.policy_digest, d.fault
         FROM json_each(?) wanted CROSS JOIN requests r ON r.id = wanted.value
         LEFT JOIN decisions d ON d.request = r.id",
    )
    .bind(serde_json::Value::from(ids).to_string())
    .fetch_all(&reader.0)
    .await?)
}
