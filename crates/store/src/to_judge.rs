//! What waits to be judged by rules, and what a judgement needs of it.

use rusqlite::OptionalExtension as _;
use sqlx::SqliteConnection;

use super::direct::WriteConnection;
use super::{StoreError, redefined};
use crate::domain::Timestamp;

/// Row numbers of requests that wait behind row `after`.
pub async fn waiting(
    tx: &mut SqliteConnection,
    after: i64,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT id FROM requests WHERE state <> 'decided' AND state = 'pending' AND id > ?
         ORDER BY id LIMIT ?",
    )
    .bind(after)
    .bind(limit)
    .fetch_all(tx)
    .await?)
}

/// What a judgement needs of a request beside its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToJudge {
    /// Payload as received, where it was wanted.
    pub raw: Option<Vec<u8>>,
    /// When its tool was last defined otherwise than before, or may have been.
    pub redefined_at: Option<Timestamp>,
}

/// What a judgement needs of these requests, in their order; none where a row is not known. Whether its
/// payload is wanted stands beside each: what has just arrived is still at hand.
pub async fn read(
    tx: &mut WriteConnection,
    wanted: &[(i64, bool)],
) -> Result<Vec<Option<ToJudge>>, StoreError> {
    tx.direct(|sqlite| {
        let mut select = sqlite.prepare_cached(&format!(
            "SELECT iif(?2, r.raw, NULL), {} WHERE r.id = ?1",
            redefined::OF_REQUEST
        ))?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(ToJudge {
                raw: row.get(0)?,
                redefined_at: row.get::<_, Option<i64>>(1)?.map(Timestamp),
            })
        };
        wanted
            .iter()
            .map(|wanted| select.query_row(*wanted, read).optional())
            .collect()
    })
    .await
}
