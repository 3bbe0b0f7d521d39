//! Everything that the audit log proves, read at one moment, a page at a time.
//!
//! It sees one state, in one transaction, whatever is written while it reads.

use sqlx::{Sqlite, Transaction};

use super::audit::{Head, Row};
use super::realm_log::SlotRow;
use super::{Reader, StoreError};

/// Rows of the log read at once.
const LOG_PAGE: i64 = 500;
/// Requests and decisions read at once: each may hold some megabytes.
const PAYLOAD_PAGE: i64 = 16;

/// One moment of the store.
pub struct Snapshot(Transaction<'static, Sqlite>);

/// A request as it was asked.
#[derive(Debug, sqlx::FromRow)]
pub struct BundledRequest {
    /// Row number.
    pub id: i64,
    /// Workspace, empty where the subject names none.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Request id.
    pub request_id: String,
    /// `sha256:…` of the bytes.
    pub request_digest: String,
    /// Server's stamp, ms.
    pub stored_at: i64,
    /// Deadline, ms.
    pub deadline_at: i64,
    /// State.
    pub state: String,
    /// Payload as received; empty once retention removed it.
    pub raw: Vec<u8>,
}

/// What is stored as a decision.
#[derive(Debug, sqlx::FromRow)]
pub struct BundledDecision {
    /// Row number.
    pub id: i64,
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Request id.
    pub request_id: String,
    /// Payload as received.
    pub payload: Vec<u8>,
    /// `CS-Key`.
    pub key: Option<String>,
    /// `CS-Sig`.
    pub sig: Option<String>,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// Server's stamp, ms.
    pub stored_at: i64,
    /// How it reads.
    pub effective: Option<String>,
    /// Why it is void.
    pub fault: Option<String>,
}

/// An accepted value of the shared policy.
#[derive(Debug, sqlx::FromRow)]
pub struct BundledPolicy {
    /// Row number.
    pub id: i64,
    /// Key in the bucket.
    pub key: String,
    /// Revision.
    pub revision: i64,
    /// The signed JSON.
    pub payload: Vec<u8>,
    /// Public key of the signer.
    pub signer: String,
    /// Base64url.
    pub sig: String,
}

impl Reader {
    /// The store as it is now.
    pub async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot(self.0.begin().await?))
    }
}

impl Snapshot {
    /// Rows of the log behind `seq`, a page.
    pub async fn log(&mut self, seq: i64) -> Result<Vec<Row>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT seq, prev, hash, at, actor, action, subject, detail FROM audit
             WHERE seq > ? ORDER BY seq LIMIT ?",
        )
        .bind(seq)
        .bind(LOG_PAGE)
        .fetch_all(&mut *self.0)
        .await?)
    }

    /// The entries of the realm log on the present stream, in their order.
    pub async fn entries(&mut self) -> Result<Vec<SlotRow>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT slot, seq, stored_at, n, digest, word, message FROM realm_log
             WHERE n IS NOT NULL AND epoch = (SELECT epoch FROM bus_stream WHERE stream = 'CS_DECISIONS')
             ORDER BY n",
        )
        .fetch_all(&mut *self.0)
        .await?)
    }

    /// Values of the policy behind row `id`, a page.
    pub async fn policy(&mut self, id: i64) -> Result<Vec<BundledPolicy>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT id, key, revision, payload, signer, sig FROM policy_history
             WHERE id > ? ORDER BY id LIMIT ?",
        )
        .bind(id)
        .bind(PAYLOAD_PAGE)
        .fetch_all(&mut *self.0)
        .await?)
    }

    /// Requests behind row `id`, a page.
    pub async fn requests(&mut self, id: i64) -> Result<Vec<BundledRequest>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT id, ws, agent, request_id, request_digest, stored_at, deadline_at, state, raw
             FROM requests WHERE id > ? ORDER BY id LIMIT ?",
        )
        .bind(id)
        .bind(PAYLOAD_PAGE)
        .fetch_all(&mut *self.0)
        .await?)
    }

    /// Decisions behind row `id`, a page.
    pub async fn decisions(&mut self, id: i64) -> Result<Vec<BundledDecision>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT id, ws, agent, request_id, payload, key, sig, stream_seq, stored_at, effective, fault
             FROM decisions WHERE id > ? ORDER BY id LIMIT ?",
        )
        .bind(id)
        .bind(PAYLOAD_PAGE)
        .fetch_all(&mut *self.0)
        .await?)
    }

    /// The end of the log.
    pub async fn head(&mut self) -> Result<Head, StoreError> {
        let last: Option<(i64, Vec<u8>)> =
            sqlx::query_as("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
                .fetch_optional(&mut *self.0)
                .await?;
        let (seq, hash) = last.unwrap_or((0, vec![0; 32]));
        let hash = hash
            .try_into()
            .map_err(|_| StoreError::corrupt("an audit hash of a wrong length"))?;
        Ok(Head { seq, hash })
    }
}
