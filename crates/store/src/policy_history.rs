//! Table `policy_history`: every signed value of the shared policy that this console accepted.
//!
//! A value is added, never changed and never removed.

use rusqlite::{Connection, params};

use super::policy::PolicyRow;
use super::{Reader, StoreError, sql};

/// Adds a value; the same one again changes nothing.
pub fn add(tx: &Connection, row: &PolicyRow) -> Result<(), StoreError> {
    let add =
        "INSERT INTO policy_history(key, revision, payload, signer, sig) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING";
    let row = params![row.key, row.revision, row.payload, row.signer, row.sig];
    sql::change(tx, add, row)?;
    Ok(())
}

/// Whether a signed value was accepted once.
pub async fn has(reader: &Reader, key: &str, sig: &str) -> Result<bool, StoreError> {
    Ok(
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM policy_history WHERE key = ? AND sig = ?)",
        )
        .bind(key)
        .bind(sig)
        .fetch_one(&reader.0)
        .await?,
    )
}

/// Whether a signed value was accepted at that revision of its key.
pub async fn was_in_force(
    reader: &Reader,
    (key, revision): (&str, u64),
    sig: &str,
) -> Result<bool, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM policy_history WHERE key = ? AND sig = ? AND revision = ?)",
    )
    .bind(key)
    .bind(sig)
    .bind(i64::try_from(revision).unwrap_or(i64::MAX))
    .fetch_one(&reader.0)
    .await?)
}

/// Values of one key, the last accepted first, at most `limit` before row `before`.
pub async fn of_key(
    reader: &Reader,
    key: &str,
    before: i64,
    limit: i64,
) -> Result<Vec<(i64, PolicyRow)>, StoreError> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, key, revision, payload, signer, sig FROM policy_history
         WHERE key = ? AND id < ? ORDER BY id DESC LIMIT ?",
    )
    .bind(key)
    .bind(before)
    .bind(limit)
    .fetch_all(&reader.0)
    .await?;
    Ok(rows.into_iter().map(numbered).collect())
}

/// The last value of a key that was accepted; a deletion is none.
pub async fn last_value(reader: &Reader, key: &str) -> Result<Option<PolicyRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT key, revision, payload, signer, sig FROM policy_history
         WHERE key = ? AND length(payload) > 0 ORDER BY id DESC LIMIT 1",
    )
    .bind(key)
    .fetch_optional(&reader.0)
    .await?)
}

/// Values in the order in which they were accepted, at most `limit` behind row `after`.
pub async fn after(
    reader: &Reader,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, PolicyRow)>, StoreError> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, key, revision, payload, signer, sig FROM policy_history WHERE id > ? ORDER BY id LIMIT ?",
    )
    .bind(after)
    .bind(limit)
    .fetch_all(&reader.0)
    .await?;
    Ok(rows.into_iter().map(numbered).collect())
}

type Row = (i64, String, i64, Vec<u8>, String, String);

fn numbered((id, key, revision, payload, signer, sig): Row) -> (i64, PolicyRow) {
    let row = PolicyRow {
        key,
        revision,
        payload,
        signer,
        sig,
    };
    (id, row)
}
