//! Table `policy_versions`: the words of each rule set that a decision names.

use rusqlite::{Connection, params};

use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// Keeps the body of a digest.
pub fn keep(tx: &Connection, digest: &str, body: &[u8], at: Timestamp) -> Result<(), StoreError> {
    let keep =
        "INSERT INTO policy_versions(digest, body, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
    sql::change(tx, keep, params![digest, body, at.0])?;
    Ok(())
}

/// The body of a digest that a decision named.
pub fn body(sqlite: &Connection, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let body = "SELECT body FROM policy_versions WHERE digest = ?";
    sql::first(sqlite, body, [digest], |row| row.get(0))
}

/// The same, on a connection of its own.
pub async fn read(reader: &Reader, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let digest = digest.to_owned();
    reader.direct(move |sqlite| body(sqlite, &digest)).await
}
