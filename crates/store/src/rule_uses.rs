//! Table `rule_uses`: what rules and setup keys decided.

use rusqlite::{Connection, params};

use super::{StoreError, sql};
use crate::domain::Timestamp;

/// Calls whose amounts a sum adds up; with more in its window the rule asks.
pub const SUMMED_MAX: i64 = 1_000;

/// A decision that a rule or a setup key made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleUse {
    /// The request's row.
    pub request: i64,
    /// Workspace.
    pub ws: String,
    /// The rule, or the setup key.
    pub rule_id: String,
    /// Its version.
    pub rule_version: i64,
    /// `rule` or `setup_key`.
    pub origin: &'static str,
    /// `approve` or `deny`.
    pub verdict: &'static str,
    /// When, server time.
    pub at: Timestamp,
}

/// Notes decisions that are on their way; what was refused has left nothing there.
pub fn insert(tx: &Connection, uses: &[RuleUse]) -> Result<(), StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT OR REPLACE INTO rule_uses(request, ws, rule_id, rule_version, origin, verdict,
         decision_id, at)
         SELECT request, ?2, ?3, ?4, ?5, ?6, id, ?7 FROM outbox
         WHERE kind = 'decision' AND request = ?1 AND state = 'queued'",
    )?;
    for of in uses {
        insert.execute(params![
            of.request,
            of.ws,
            of.rule_id,
            of.rule_version,
            of.origin,
            of.verdict,
            of.at.0
        ])?;
    }
    Ok(())
}

/// Notes what the stream says of these requests, whichever console decided them.
pub fn take_up(tx: &Connection, requests: &[i64]) -> Result<(), StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT OR REPLACE INTO rule_uses(request, ws, rule_id, rule_version, origin, verdict,
         decision_id, at)
         SELECT request, ws, rule_id, coalesce(rule_version, 0), origin, verdict, decision_id, stored_at
         FROM decisions WHERE request = ? AND rule_id IS NOT NULL AND origin IN ('rule', 'setup_key')
         AND fault IS NULL AND effective = verdict AND decision_id IS NOT NULL",
    )?;
    for request in requests {
        insert.execute([request])?;
    }
    Ok(())
}

/// Forgets a decision that came too late or lost.
pub fn forget(tx: &Connection, decision_id: &str) -> Result<(), StoreError> {
    let forget = "DELETE FROM rule_uses WHERE decision_id = ?";
    sql::change(tx, forget, [decision_id]).map(drop)
}

/// The calls that a rule has approved after a moment, or would have approved where it is one in the shadow.
const APPROVED: &str = "FROM (
    SELECT request, at FROM rule_uses
      WHERE ws = ?1 AND rule_id = ?2 AND at > ?3 AND origin = 'rule' AND verdict = 'approve'
    UNION
    SELECT request, at FROM rule_notes
      WHERE ?4 AND ws = ?1 AND rule_id = ?2 AND at > ?3 AND kind = 'shadow' AND detail = 'approve')";

/// Whose calls are counted.
#[derive(Debug, Clone, Copy)]
pub struct Approvals<'a> {
    /// Workspace.
    pub ws: &'a str,
    /// The rule.
    pub rule_id: &'a str,
    /// Only those after this moment.
    pub since: Timestamp,
    /// Also those that it would have approved in the shadow.
    pub shadow: bool,
}

/// How many calls a rule has approved.
pub fn approved(tx: &Connection, of: Approvals<'_>) -> Result<u64, StoreError> {
    let count: i64 = sql::value(
        tx,
        &format!("SELECT count(*) {APPROVED}"),
        params![of.ws, of.rule_id, of.since.0, of.shadow],
    )?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// The rows of the calls that a rule has approved, the newest first, at most `limit`.
pub fn approved_calls(
    tx: &Connection,
    of: Approvals<'_>,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        &format!("SELECT request {APPROVED} ORDER BY at DESC LIMIT ?5"),
        params![of.ws, of.rule_id, of.since.0, of.shadow, limit],
    )
}
