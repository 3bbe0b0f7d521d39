//! Table `ui_state`: what the window remembers.

use sqlx::SqliteConnection;

use super::{Reader, StoreError};

/// Reads one value.
pub async fn get(reader: &Reader, key: &str) -> Result<Option<String>, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT value FROM ui_state WHERE key = ?")
            .bind(key)
            .fetch_optional(&reader.0)
            .await?,
    )
}

/// Writes one value in the place of the one before.
pub async fn put(tx: &mut SqliteConnection, key: &str, value: &str) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO ui_state(key, value) VALUES (?, ?)
         ON CONFLICT(key) DO UPDATE SET value = excluded.value",
    )
    .bind(key)
    .bind(value)
    .execute(tx)
    .await?;
    Ok(())
}
