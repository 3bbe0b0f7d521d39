//! Table `decisions`: what is stored on the bus, one a request, whether or not the request is here.

use countersign_wire::RequestKey;
use rusqlite::params;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::bulk::{pieces, wanted, with_values};
use super::direct::WriteConnection;
use super::{Reader, StoreError};
use crate::domain::Timestamp;
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

/// A decision as other parts read it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct StoredDecision {
    /// Row number.
    pub id: i64,
    /// The request's row.
    pub request: Option<i64>,
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// UUID.
    pub decision_id: Option<String>,
    /// Payload as stored.
    pub payload: Vec<u8>,
    /// Header `CS-Key`.
    pub key: Option<String>,
    /// Header `CS-Sig`.
    pub sig: Option<String>,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// The server's stamp, ms.
    pub stored_at: i64,
    /// How it reads everywhere.
    pub effective: Option<String>,
    /// Why it is void.
    pub fault: Option<String>,
    /// As sent.
    pub origin: Option<String>,
}

const COLUMNS: &str = "id, request, ws, agent, request_id, decision_id, payload, key, sig, stream_seq, \
    stored_at, effective, fault, origin";

/// Inserts rows; a row whose key or position is taken is left out. Returns the stream sequences of
/// what was inserted, in the order of the rows.
pub async fn insert(
    tx: &mut WriteConnection,
    rows: &[NewDecision<'_>],
) -> Result<Vec<i64>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    tx.direct(|sqlite| {
        let mut insert = sqlite.prepare_cached(
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
    })
    .await
}

/// Decisions that came before these requests.
pub async fn orphans(
    tx: &mut SqliteConnection,
    keys: &[RequestKey],
) -> Result<Vec<StoredDecision>, StoreError> {
    let mut found = Vec::new();
    for piece in pieces(keys) {
        let mut query = wanted(piece);
        query.push("SELECT ");
        for (place, column) in COLUMNS.split(", ").enumerate() {
            query.push(if place == 0 { "d." } else { ", d." });
            query.push(column.trim());
        }
        query.push(
            " FROM wanted CROSS JOIN decisions d ON d.ws = wanted.ws AND d.agent = wanted.agent
             AND d.request_id = wanted.request_id WHERE d.request IS NULL",
        );
        found.extend(
            query
                .build_query_as::<StoredDecision>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(found)
}

/// What a decision permits, for the watch over executions.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
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
pub async fn outcomes(
    tx: &mut SqliteConnection,
    keys: &[RequestKey],
) -> Result<Vec<Outcome>, StoreError> {
    let mut found = Vec::with_capacity(keys.len());
    for piece in pieces(keys) {
        let mut query = wanted(piece);
        query.push(
            "SELECT d.ws, d.agent, d.request_id, d.effective, d.args_digest, d.decision_id, d.stored_at
             FROM wanted CROSS JOIN decisions d ON d.ws = wanted.ws AND d.agent = wanted.agent
             AND d.request_id = wanted.request_id",
        );
        found.extend(
            query
                .build_query_as::<Outcome>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(found)
}

/// How many decisions wait for their request.
pub async fn count_orphans(tx: &mut SqliteConnection) -> Result<i64, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT count(*) FROM decisions WHERE request IS NULL")
            .fetch_one(tx)
            .await?,
    )
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
pub async fn adopt(tx: &mut SqliteConnection, adopted: &[Adopted]) -> Result<(), StoreError> {
    for piece in pieces(adopted) {
        let mut query = QueryBuilder::<Sqlite>::new("");
        with_values!(
            query,
            "found(id, request, effective, fault)",
            piece,
            |values, row| {
                values
                    .push_bind(row.id)
                    .push_bind(row.request)
                    .push_bind(row.effective.as_str())
                    .push_bind(row.fault);
            }
        );
        query.push(
            "UPDATE decisions SET request = found.request, effective = found.effective,
             fault = found.fault FROM found WHERE decisions.id = found.id AND decisions.request IS NULL",
        );
        query.build().execute(&mut *tx).await?;
    }
    Ok(())
}

/// The decision on one request, as this transaction sees it.
pub async fn stored(
    tx: &mut SqliteConnection,
    key: &RequestKey,
) -> Result<Option<StoredDecision>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT ");
    query.push(COLUMNS);
    query.push(" FROM decisions WHERE ws = ");
    query.push_bind(key.workspace.as_ref());
    query.push(" AND agent = ");
    query.push_bind(key.agent.as_ref());
    query.push(" AND request_id = ");
    query.push_bind(key.request_id.as_ref());
    Ok(query.build_query_as().fetch_optional(tx).await?)
}

/// Writes how a decision reads after what came later was known.
pub async fn change_effective(
    tx: &mut SqliteConnection,
    id: i64,
    effective: &str,
    fault: Option<&str>,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE decisions SET effective = ?2, fault = ?3 WHERE id = ?1")
        .bind(id)
        .bind(effective)
        .bind(fault)
        .execute(tx)
        .await?;
    Ok(())
}

/// The decision on one request.
pub async fn of_request(
    reader: &Reader,
    key: &RequestKey,
) -> Result<Option<StoredDecision>, StoreError> {
    stored(&mut *reader.0.acquire().await?, key).await
}
