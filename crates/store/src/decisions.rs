//! Table `decisions`: what is stored on the bus, one a request, whether or not the request is here.

use countersign_wire::RequestKey;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::requests::parts;
use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;
pub use crate::domain::facts::StoredDecision;
use crate::domain::incident::DecisionInForce;

/// A decision as it came from the stream, with what this console makes of it.
#[derive(Debug, Clone)]
pub struct NewDecision<'m> {
    /// The request's row, none while it is unknown.
    pub request: Option<i64>,
    /// From the subject.
    pub key: RequestKey,
    /// From the payload, where it could be read.
    pub body: &'m DecisionBody,
    /// Payload as stored.
    pub payload: &'m [u8],
    /// Headers.
    pub signer: Option<&'m str>,
    /// Headers.
    pub sig: Option<&'m str>,
    /// Stream epoch.
    pub stream_epoch: &'m str,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// The server's stamp.
    pub stored_at: Timestamp,
    /// How it reads everywhere; none while the request is unknown.
    pub effective: Option<&'m str>,
    /// Why it is void.
    pub fault: Option<&'static str>,
}

/// The readable part of a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionBody {
    /// UUID.
    pub decision_id: Option<String>,
    /// As sent.
    pub verdict: Option<String>,
    /// As sent.
    pub origin: Option<String>,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// For the agent.
    pub message: Option<String>,
    /// Rule that decided.
    pub rule_id: Option<String>,
    /// Its version.
    pub rule_version: Option<i64>,
    /// Rule set in force.
    pub policy_digest: Option<String>,
    /// Arguments that may run.
    pub args_digest: Option<String>,
    /// `once`, `session` or `always`, as sent.
    pub scope: Option<String>,
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredDecision> {
    Ok(StoredDecision {
        id: row.get(0)?,
        request: row.get(1)?,
        ws: row.get(2)?,
        agent: row.get(3)?,
        request_id: row.get(4)?,
        decision_id: row.get(5)?,
        payload: row.get(6)?,
        key: row.get(7)?,
        sig: row.get(8)?,
        stream_seq: row.get(9)?,
        stored_at: row.get(10)?,
        effective: row.get(11)?,
        fault: row.get(12)?,
        origin: row.get(13)?,
    })
}

/// Inserts rows; a row whose key or position is taken is left out. Returns the stream sequences of
/// what was inserted, in the order of the rows.
pub fn insert(tx: &Connection, rows: &[NewDecision<'_>]) -> Result<Vec<i64>, StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO decisions(request, ws, agent, request_id, decision_id, verdict, payload, key, sig,
         origin, decided_by, message, rule_id, rule_version, policy_digest, args_digest, stream_epoch,
         stream_seq, stored_at, effective, fault, scope)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING",
    )?;
    let mut inserted = Vec::with_capacity(rows.len());
    for row in rows {
        let added = insert.execute(params![
            row.request,
            row.key.workspace.as_ref(),
            row.key.agent.as_ref(),
            row.key.request_id.as_ref(),
            row.body.decision_id,
            row.body.verdict,
            row.payload,
            row.signer,
            row.sig,
            row.body.origin,
            row.body.decided_by,
            row.body.message,
            row.body.rule_id,
            row.body.rule_version,
            row.body.policy_digest,
            row.body.args_digest,
            row.stream_epoch,
            row.stream_seq,
            row.stored_at.0,
            row.effective,
            row.fault,
            row.body.scope,
        ])?;
        if added == 1 {
            inserted.push(row.stream_seq);
        }
    }
    Ok(inserted)
}

const COLUMNS: &str = "id, request, ws, agent, request_id, decision_id, payload, key, sig, stream_seq, \
    stored_at, effective, fault, origin";

/// Decisions that came before these requests.
pub fn orphans(tx: &Connection, keys: &[RequestKey]) -> Result<Vec<StoredDecision>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM decisions WHERE request IS NULL AND ws = ? AND agent = ? AND request_id = ?"
    );
    let mut found = Vec::new();
    for key in keys {
        found.extend(sql::first(tx, &sql, parts(key), read)?);
    }
    Ok(found)
}

/// What a decision permits, for the watch over executions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// How it reads everywhere; none while the request is unknown.
    pub effective: Option<String>,
    /// Arguments that may run.
    pub args_digest: Option<String>,
    /// UUID.
    pub decision_id: Option<String>,
    /// The server's stamp, ms.
    pub stored_at: i64,
}

impl Outcome {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            ws: row.get(0)?,
            agent: row.get(1)?,
            request_id: row.get(2)?,
            effective: row.get(3)?,
            args_digest: row.get(4)?,
            decision_id: row.get(5)?,
            stored_at: row.get(6)?,
        })
    }

    /// As the check of executions reads it.
    #[must_use]
    pub fn standing(&self) -> DecisionInForce<'_> {
        DecisionInForce {
            decision_id: self.decision_id.as_deref(),
            effective: self.effective.as_deref(),
            args_digest: self.args_digest.as_deref(),
            stored_at: Timestamp(self.stored_at),
        }
    }
}

/// The decisions on these requests, in no order.
pub fn outcomes(tx: &Connection, keys: &[RequestKey]) -> Result<Vec<Outcome>, StoreError> {
    let mut select = tx.prepare_cached(
        "SELECT ws, agent, request_id, effective, args_digest, decision_id, stored_at FROM decisions
         WHERE ws = ? AND agent = ? AND request_id = ?",
    )?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        found.extend(select.query_row(parts(key), Outcome::read).optional()?);
    }
    Ok(found)
}

/// How many decisions wait for their request.
pub fn count_orphans(tx: &Connection) -> Result<i64, StoreError> {
    let count = "SELECT count(*) FROM decisions WHERE request IS NULL";
    sql::value(tx, count, [])
}

/// An orphan that has found its request.
#[derive(Debug, Clone)]
pub struct Adopted {
    /// Row of the decision.
    pub id: i64,
    /// Row of the request.
    pub request: i64,
    /// How it reads everywhere.
    pub effective: String,
    /// Why it is void.
    pub fault: Option<&'static str>,
}

/// Joins orphans to their requests.
pub fn adopt(tx: &Connection, adopted: &[Adopted]) -> Result<(), StoreError> {
    let mut adopt = tx.prepare_cached(
        "UPDATE decisions SET request = ?2, effective = ?3, fault = ?4 WHERE id = ?1 AND request IS NULL",
    )?;
    for row in adopted {
        adopt.execute(params![row.id, row.request, row.effective, row.fault])?;
    }
    Ok(())
}

/// The decision on one request, as this transaction sees it.
pub fn stored(tx: &Connection, key: &RequestKey) -> Result<Option<StoredDecision>, StoreError> {
    let sql =
        format!("SELECT {COLUMNS} FROM decisions WHERE ws = ? AND agent = ? AND request_id = ?");
    sql::first(tx, &sql, parts(key), read)
}

/// Writes how a decision reads after what came later was known.
pub fn change_effective(
    tx: &Connection,
    id: i64,
    effective: &str,
    fault: Option<&str>,
) -> Result<(), StoreError> {
    let change = "UPDATE decisions SET effective = ?2, fault = ?3 WHERE id = ?1";
    sql::change(tx, change, params![id, effective, fault])?;
    Ok(())
}

/// The decision on one request.
pub async fn of_request(
    reader: &Reader,
    key: &RequestKey,
) -> Result<Option<StoredDecision>, StoreError> {
    let key = key.clone();
    reader.direct(move |sqlite| stored(sqlite, &key)).await
}

/// When the last decision that one of two keys signed was stored, among the newest thousand; none where there is none.
pub async fn last_signed(reader: &Reader, keys: &[&str]) -> Result<Option<Timestamp>, StoreError> {
    let last: Option<i64> = sqlx::query_scalar(
        "SELECT max(stored_at) FROM (SELECT key, stored_at FROM decisions ORDER BY id DESC LIMIT 1000)
         WHERE key = ?1 OR key = ?2",
    )
    .bind(keys.first())
    .bind(keys.get(1))
    .fetch_one(&reader.0)
    .await?;
    Ok(last.map(Timestamp))
}
