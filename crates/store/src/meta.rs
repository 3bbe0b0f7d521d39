//! Table `meta`: what the console knows about itself and its realm.

use rusqlite::Connection;

use super::{Reader, StoreError, sql};

/// Key of the realm's UUID.
pub const REALM: &str = "realm";
/// Key of the digest of the realm log's entry 1.
pub const ROOT: &str = "root";
/// Key of an entry 1 that this console has signed and not published yet; empty once it is on the bus, or another is.
pub const FOUNDING: &str = "founding";
/// Key of the version of Countersign that last opened the store to write.
pub const WRITTEN_BY: &str = "written_by";
/// Key of the code and reason for which this console takes no decisions; empty when it does.
pub const READ_ONLY: &str = "read_only";
/// Key of the fingerprint of the agents' keys that the embedded server has loaded.
pub const AGENTS_IN_FORCE: &str = "agents_in_force";

/// Key of the last decision that the watch over the delivery ladder has passed.
pub const LADDER_SWEPT: &str = "ladder_swept";

/// Key of the last answer that the exporter has sent.
pub const ANSWERS_EXPORTED: &str = "answers_told";

/// Key of a word that changes when the table of habits was made anew.
pub const HABITS: &str = "habits";

/// Key of what the digests of secrets in the table of habits are made with.
pub const HIDING: &str = "hiding";

/// Reads one value as a transaction sees it.
pub fn stored(tx: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    sql::first(tx, "SELECT value FROM meta WHERE key = ?", [key], |row| {
        row.get(0)
    })
}

/// Key of a word that changes when the bus was recovered: the console joins it again.
pub const RECOVERED: &str = "recovered";

/// Reads one value.
pub async fn get(reader: &Reader, key: &str) -> Result<Option<String>, StoreError> {
    Ok(sqlx::query_scalar("SELECT value FROM meta WHERE key = ?")
        .bind(key)
        .fetch_optional(&reader.0)
        .await?)
}

/// Writes one value. Returns whether it is another one than before.
pub fn put(tx: &Connection, key: &str, value: &str) -> Result<bool, StoreError> {
    let put = "INSERT INTO meta(key, value) VALUES (?, ?)
         ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value";
    Ok(sql::change(tx, put, [key, value])? == 1)
}

/// Empties one value. Returns whether it held something.
pub fn clear(tx: &Connection, key: &str) -> Result<bool, StoreError> {
    let clear = "UPDATE meta SET value = '' WHERE key = ? AND value <> ''";
    Ok(sql::change(tx, clear, [key])? == 1)
}
