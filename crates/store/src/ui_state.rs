//! Table `ui_state`: what the window remembers.

use rusqlite::Connection;

use super::{Reader, StoreError, sql};

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
pub fn put(tx: &Connection, key: &str, value: &str) -> Result<(), StoreError> {
    let put = "INSERT INTO ui_state(key, value) VALUES (?, ?)
         ON CONFLICT(key) DO UPDATE SET value = excluded.value";
    sql::change(tx, put, [key, value]).map(drop)
}
