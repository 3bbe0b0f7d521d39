//! Table `rule_notes`: what rules said without deciding: in the shadow, or with trouble.

use rusqlite::{Connection, params};

use super::{StoreError, sql};
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
pub fn insert(tx: &Connection, note: &RuleNote) -> Result<bool, StoreError> {
    let added = sql::change(
        tx,
        "INSERT INTO rule_notes(request, ws, rule_id, rule_version, kind, detail, policy_digest, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        params![
            note.request,
            note.ws,
            note.rule_id,
            note.rule_version,
            note.kind,
            note.detail,
            note.policy_digest,
            note.at.0,
        ],
    )?;
    Ok(added == 1)
}
