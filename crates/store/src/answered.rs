//! Requests with their answers, in the order in which this console learned of the answers.

use super::{Reader, StoreError};

/// An answer and what it answers.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct AnsweredRow {
    /// Row number of the decision; grows with each.
    pub id: i64,
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// Whether the request is known here.
    pub known: bool,
    /// Tool name as the agent wrote it.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: Option<String>,
    /// The trace that the agent named.
    pub trace_id: Option<String>,
    /// The span that wants to make the call.
    pub span_id: Option<String>,
    /// The agent's call.
    pub call_id: Option<String>,
    /// Digest of the request's bytes.
    pub request_digest: Option<String>,
    /// Digest of the arguments that may run, else of those asked for.
    pub args_digest: Option<String>,
    /// UUID.
    pub decision_id: Option<String>,
    /// How it reads everywhere.
    pub verdict: Option<String>,
    /// As sent.
    pub origin: Option<String>,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// Rule that decided.
    pub rule_id: Option<String>,
    /// Its version.
    pub rule_version: Option<i64>,
    /// When the request was stored: server time, ms.
    pub asked_at: Option<i64>,
    /// When the answer was stored: server time, ms.
    pub stored_at: i64,
}

/// Answers after this row, at most `limit`.
pub async fn after(reader: &Reader, row: i64, limit: i64) -> Result<Vec<AnsweredRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT d.id, d.ws, d.agent, d.request_id, r.id IS NOT NULL AS known, r.tool, r.risk, r.trace_id, r.span_id,
         r.call_id, r.request_digest, coalesce(d.args_digest, r.args_digest) AS args_digest, d.decision_id,
         coalesce(d.effective, d.verdict) AS verdict, d.origin, d.decided_by, d.rule_id, d.rule_version,
         r.stored_at AS asked_at, d.stored_at
         FROM decisions d LEFT JOIN requests r ON r.id = d.request
         WHERE d.id > ? ORDER BY d.id LIMIT ?",
    )
    .bind(row)
    .bind(limit)
    .fetch_all(&reader.0)
    .await?)
}

/// The last row there is; 0 without any.
pub async fn last(reader: &Reader) -> Result<i64, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM decisions")
            .fetch_one(&reader.0)
            .await?,
    )
}
