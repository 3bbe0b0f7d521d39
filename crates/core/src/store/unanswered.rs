//! Requests that ended without an answer on the bus.

use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::StoreError;
use super::bulk::{pieces, with_values};

/// Requests that ended on this console without an answer on the bus: withdrawn, expired or rejected
/// here, no stored decision and nothing in the outbox.
///
/// # Errors
/// [`StoreError`].
pub async fn page(
    tx: &mut SqliteConnection,
    after: i64,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT r.id FROM requests r WHERE r.state IN ('expired', 'withdrawn', 'rejected')
         AND r.state <> 'decided' AND r.id > ? AND r.delivery = 'stored' AND r.ws <> ''
         AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.request = r.id AND o.state NOT IN ('late', 'lost'))
         AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.request = r.id)
         ORDER BY r.id LIMIT ?",
    )
    .bind(after)
    .bind(limit)
    .fetch_all(tx)
    .await?)
}

/// Those of these requests that [`page`] would give.
///
/// # Errors
/// [`StoreError`].
pub async fn of(tx: &mut SqliteConnection, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let mut found = Vec::new();
    for piece in pieces(ids) {
        let mut query = QueryBuilder::<Sqlite>::new("");
        with_values!(query, "wanted(id)", piece, |values, id| {
            values.push_bind(*id);
        });
        query.push(
            "SELECT r.id FROM wanted CROSS JOIN requests r ON r.id = wanted.id
             WHERE r.state IN ('expired', 'withdrawn', 'rejected') AND r.delivery = 'stored' AND r.ws <> ''
             AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.request = r.id AND o.state NOT IN ('late', 'lost'))
             AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.request = r.id)",
        );
        found.extend(
            query
                .build_query_scalar::<i64>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(found)
}

/// What another console had room for is no rejected message here.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn forgive(tx: &mut SqliteConnection, id: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE requests SET error_code = NULL, error_detail = NULL WHERE id = ?")
        .bind(id)
        .execute(tx)
        .await?;
    Ok(())
}
