//! The bytes that audit entries name, read back.

use super::{Reader, StoreError};

/// Those of the named rows that are missing or have other bytes: (table, key).
///
/// A policy value is replaced by every later one, so only its newest entry can be compared; a
/// digest that stands nowhere any more is no fault there.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn differing(
    reader: &Reader,
    named: &[(&'static str, String, String)],
) -> Result<Vec<(&'static str, String)>, StoreError> {
    let mut bad = Vec::new();
    for (table, key, digest) in named {
        let bytes = match *table {
            "requests" => request_bytes(reader, key).await?,
            "decisions" => decision_bytes(reader, key).await?,
            _ => continue,
        };
        if !bytes.is_some_and(|bytes| crate::ops::audit_verify::has_digest(&bytes, digest)) {
            bad.push((*table, key.clone()));
        }
    }
    Ok(bad)
}

fn parts(key: &str) -> Option<(&str, &str, &str)> {
    let mut parts = key.splitn(3, '/');
    Some((parts.next()?, parts.next()?, parts.next()?))
}

async fn request_bytes(reader: &Reader, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let (ws, agent, id) = parts(key).unwrap_or(("", "", key));
    Ok(
        sqlx::query_scalar(
            "SELECT raw FROM requests WHERE ws = ? AND agent = ? AND request_id = ?",
        )
        .bind(ws)
        .bind(agent)
        .bind(id)
        .fetch_optional(&reader.0)
        .await?,
    )
}

async fn decision_bytes(reader: &Reader, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let Some((ws, agent, id)) = parts(key) else {
        return Ok(None);
    };
    Ok(sqlx::query_scalar(
        "SELECT payload FROM decisions WHERE ws = ? AND agent = ? AND request_id = ?",
    )
    .bind(ws)
    .bind(agent)
    .bind(id)
    .fetch_optional(&reader.0)
    .await?)
}
