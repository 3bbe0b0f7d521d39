//! The bytes that audit entries name, read back.

use countersign_wire::Sha256Digest;
use futures::TryStreamExt;

use super::{Reader, StoreError};

/// Those of the named rows that are missing or have other bytes: (table, key).
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
            "votes" => vote_bytes(reader, key).await?,
            _ => continue,
        };
        if !bytes.is_some_and(|bytes| has_digest(&bytes, digest)) {
            bad.push((*table, key.clone()));
        }
    }
    Ok(bad)
}

fn has_digest(bytes: &[u8], digest: &str) -> bool {
    Sha256Digest::of_bytes(bytes).to_string() == digest
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

/// The bytes of the vote `WS/AGENT/ID/KEY`.
async fn vote_bytes(reader: &Reader, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let Some((request, voter)) = name.rsplit_once('/') else {
        return Ok(None);
    };
    let Some((ws, agent, id)) = parts(request) else {
        return Ok(None);
    };
    Ok(sqlx::query_scalar(
        "SELECT payload FROM votes WHERE ws = ? AND agent = ? AND request_id = ? AND key = ?",
    )
    .bind(ws)
    .bind(agent)
    .bind(id)
    .bind(voter)
    .fetch_optional(&reader.0)
    .await?)
}

/// Whether a policy value has the bytes of this digest.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn policy_has(reader: &Reader, key: &str, digest: &str) -> Result<bool, StoreError> {
    let bytes: Option<Vec<u8>> = sqlx::query_scalar("SELECT payload FROM policy WHERE key = ?")
        .bind(key)
        .fetch_optional(&reader.0)
        .await?;
    Ok(bytes.is_some_and(|bytes| has_digest(&bytes, digest)))
}

/// The first digest of a rule set whose words are others.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn other_version(reader: &Reader) -> Result<Option<String>, StoreError> {
    let mut rows = sqlx::query_as::<_, (String, Vec<u8>)>(
        "SELECT digest, body FROM policy_versions ORDER BY digest",
    )
    .fetch(&reader.0);
    while let Some((digest, body)) = rows.try_next().await? {
        if !has_digest(&body, &digest) {
            return Ok(Some(digest));
        }
    }
    Ok(None)
}

/// The first row that no audit entry names: somebody put it there.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn unaudited(reader: &Reader) -> Result<Option<(&'static str, String)>, StoreError> {
    const NAME: &str = "iif(ws = '', request_id, ws || '/' || agent || '/' || request_id)";
    for (table, actions) in [
        ("requests", "'request', 'rejected'"),
        ("decisions", "'decision'"),
    ] {
        let sql = format!(
            "SELECT {NAME} FROM {table} t WHERE {NAME} NOT IN (SELECT a.subject FROM audit a
             WHERE a.action IN ({actions})) LIMIT 1"
        );
        // Made of the constants above only.
        let found: Option<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_optional(&reader.0)
            .await?;
        if let Some(name) = found {
            return Ok(Some((table, name)));
        }
    }
    let vote: Option<String> = sqlx::query_scalar(
        "SELECT ws || '/' || agent || '/' || request_id || '/' || key AS tied FROM votes
         WHERE tied NOT IN (SELECT a.subject || '/' || a.actor FROM audit a WHERE a.action = 'vote') LIMIT 1",
    )
    .fetch_optional(&reader.0)
    .await?;
    if let Some(name) = vote {
        return Ok(Some(("votes", name)));
    }
    let policy: Option<String> = sqlx::query_scalar(
        "SELECT key FROM policy WHERE key NOT IN (SELECT a.subject FROM audit a
         WHERE a.action = 'policy') LIMIT 1",
    )
    .fetch_optional(&reader.0)
    .await?;
    Ok(policy.map(|key| ("policy", key)))
}
