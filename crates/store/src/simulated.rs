//! Requests of the past with what became of them, as a simulation reads them.

use super::{Reader, StoreError};

/// In the order of the rows. With an index on the workspace every page would gather and sort all of its
/// requests again: hence the `+`.
const PAGE: &str =
    "SELECT id, ws, agent, request_id, raw, stored_at, state, verdict, origin FROM requests
    WHERE id > ? AND +ws = ? AND stored_at >= ? AND state <> 'rejected' AND length(raw) > 0 AND tool IS NOT 'countersign_probe'
    ORDER BY id LIMIT ?";

/// A request that is kept whole.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PastRow {
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
    /// Life-cycle state.
    pub state: String,
    /// As it reads everywhere.
    pub verdict: Option<String>,
    /// Who decided.
    pub origin: Option<String>,
}

/// Requests of a workspace behind row `after`, in the order in which they came; those left out that were
/// rejected or whose payload is gone.
pub async fn page(
    reader: &Reader,
    ws: &str,
    since: i64,
    after: i64,
    limit: i64,
) -> Result<Vec<PastRow>, StoreError> {
    Ok(sqlx::query_as(PAGE)
        .bind(after)
        .bind(ws)
        .bind(since)
        .bind(limit)
        .fetch_all(&reader.0)
        .await?)
}

/// How many requests [`page`] gives at most.
pub async fn count(reader: &Reader, ws: &str, since: i64) -> Result<u64, StoreError> {
    let count: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM requests WHERE ws = ? AND stored_at >= ? AND state <> 'rejected'",
    )
    .bind(ws)
    .bind(since)
    .fetch_one(&reader.0)
    .await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::PAGE;
    use crate::pool::temporary;

    #[tokio::test]
    async fn a_page_of_a_long_past_is_read_without_sorting_the_rest() {
        let (_folder, _writer, reader) = temporary().await;
        let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {PAGE}"));
        let steps: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(explain).fetch_all(&reader.0).await.unwrap();
        let steps: Vec<&str> = steps.iter().map(|(.., step)| step.as_str()).collect();
        assert_eq!(
            steps,
            ["SEARCH requests USING INTEGER PRIMARY KEY (rowid>?)"]
        );
    }
}
