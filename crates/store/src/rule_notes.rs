//! Table `rule_notes`: what rules said without deciding: in the shadow, or with trouble.

use sqlx::SqliteConnection;

use super::StoreError;
use crate::domain::Timestamp;

/// What a rule said of a request without deciding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleNote {
    /// The request's row.
    pub request: i64,
    /// Workspace.
    pub ws: String,
    /// The rule.
    pub rule_id: String,
    /// Its version.
    pub rule_version: i64,
    /// `shadow` or `trouble`.
    pub kind: &'static str,
    /// What it would have done, or what was wrong.
    pub detail: String,
    /// The rule set in force.
    pub policy_digest: String,
    /// When, server time.
    pub at: Timestamp,
}

/// Adds a note; false when it is there already.
pub async fn insert(tx: &mut SqliteConnection, note: &RuleNote) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "INSERT INTO rule_notes(request, ws, rule_id, rule_version, kind, detail, policy_digest, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    )
    .bind(note.request)
    .bind(&note.ws)
    .bind(&note.rule_id)
    .bind(note.rule_version)
    .bind(note.kind)
    .bind(&note.detail)
    .bind(&note.policy_digest)
    .bind(note.at.0)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}
