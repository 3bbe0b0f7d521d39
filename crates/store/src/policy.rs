//! Table `policy`: signed values of the bucket `CS_POLICY` as this console accepted them.

use rusqlite::{Connection, params};

use super::{Reader, StoreError, sql};

/// A signed value.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PolicyRow {
    /// Key in the bucket.
    pub key: String,
    /// Revision in the bucket.
    pub revision: i64,
    /// The signed JSON.
    pub payload: Vec<u8>,
    /// Public key of the signer.
    pub signer: String,
    /// Base64url.
    pub sig: String,
}

impl PolicyRow {
    /// That a key was deleted from the bucket: nobody signs that, and no value is empty.
    #[must_use]
    pub fn deleted(key: String, revision: u64) -> Self {
        Self {
            key,
            revision: i64::try_from(revision).unwrap_or(i64::MAX),
            payload: Vec::new(),
            signer: String::new(),
            sig: String::new(),
        }
    }

    /// Whether this says that its key was deleted.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.payload.is_empty()
    }
}

/// One value; none when its key was deleted.
pub async fn get(reader: &Reader, key: &str) -> Result<Option<PolicyRow>, StoreError> {
    Ok(
        sqlx::query_as("SELECT key, revision, payload, signer, sig FROM policy WHERE key = ? AND length(payload) > 0")
            .bind(key)
            .fetch_optional(&reader.0)
            .await?,
    )
}

/// Every value, and for every deleted key that it was: what is on the bus and not newer is known.
pub async fn remembered(reader: &Reader) -> Result<Vec<PolicyRow>, StoreError> {
    Ok(
        sqlx::query_as("SELECT key, revision, payload, signer, sig FROM policy ORDER BY key")
            .fetch_all(&reader.0)
            .await?,
    )
}

/// Every value.
pub async fn all(reader: &Reader) -> Result<Vec<PolicyRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT key, revision, payload, signer, sig FROM policy WHERE length(payload) > 0
         ORDER BY key",
    )
    .fetch_all(&reader.0)
    .await?)
}

/// The bucket counts its revisions anew: whatever it brings is newer than what is kept.
pub fn forget_revisions(tx: &Connection) -> Result<(), StoreError> {
    sql::change(tx, "UPDATE policy SET revision = 0", [])?;
    Ok(())
}

/// Replaces a value. False when it had this value already.
pub fn put(tx: &Connection, row: &PolicyRow) -> Result<bool, StoreError> {
    let put = "INSERT INTO policy(key, revision, payload, signer, sig) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT(key) DO UPDATE SET revision = ?2, payload = ?3, signer = ?4, sig = ?5
         WHERE policy.revision <> ?2 OR policy.payload <> ?3 OR policy.sig <> ?5";
    let row = params![row.key, row.revision, row.payload, row.signer, row.sig];
    Ok(sql::change(tx, put, row)? > 0)
}
