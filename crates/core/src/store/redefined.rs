//! When the definitions of tools took the place of others.

use super::{Reader, StoreError};

/// Agent, tool and moment (ms) of every tool of a workspace that was ever defined anew.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn of_workspace(
    reader: &Reader,
    ws: &str,
) -> Result<Vec<(String, String, i64)>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT agent, name, redefined_at FROM tools WHERE ws = ? AND redefined_at IS NOT NULL",
    )
    .bind(ws)
    .fetch_all(&reader.0)
    .await?)
}
