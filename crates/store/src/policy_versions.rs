//! Table `policy_versions`: the words of each rule set that a decision names.

use sqlx::SqliteConnection;

use super::{Reader, StoreError};
use crate::domain::Timestamp;

/// Keeps the body of a digest.
pub async fn keep(
    tx: &mut SqliteConnection,
    digest: &str,
    body: &[u8],
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO policy_versions(digest, body, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    )
    .bind(digest)
    .bind(body)
    .bind(at.0)
    .execute(tx)
    .await?;
    Ok(())
}

/// The body of a digest that a decision named.
pub async fn body(reader: &Reader, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT body FROM policy_versions WHERE digest = ?")
            .bind(digest)
            .fetch_optional(&reader.0)
            .await?,
    )
}
