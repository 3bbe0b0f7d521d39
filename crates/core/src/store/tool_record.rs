//! Table `requests`: the newest calls of one tool.

use super::{Reader, StoreError};
use crate::domain::Timestamp;
use crate::domain::tool_record::Ended;

type Row = (String, Option<String>, Option<String>, i64, Option<i64>);

/// How calls of a tool ended, the newest first: those before the row `before` that were stored at `since` or
/// later, at most `limit`.
///
/// # Errors
/// [`StoreError`].
pub async fn of_tool(
    reader: &Reader,
    (workspace, tool): (&str, &str),
    before: i64,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<Ended>, StoreError> {
    // The limit counts what is read, not what passes: rows follow arrival, so that nothing newer is behind it.
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT state, verdict, origin, stored_at, decided_at FROM (
           SELECT * FROM requests INDEXED BY requests_by_tool
           WHERE ws = ? AND tool = ? AND id < ? ORDER BY id DESC LIMIT ?)
         WHERE stored_at >= ?",
    )
    .bind(workspace)
    .bind(tool)
    .bind(before)
    .bind(limit)
    .bind(since.0)
    .fetch_all(&reader.0)
    .await?;
    let ended = rows.into_iter().map(
        |(state, verdict, origin, stored, decided)| -> Result<Ended, StoreError> {
            Ok(Ended {
                state: state
                    .parse()
                    .map_err(|_| StoreError::corrupt("an unknown state in requests"))?,
                verdict,
                origin,
                stored_at: Timestamp(stored),
                decided_at: decided.map(Timestamp),
            })
        },
    );
    ended.collect()
}
