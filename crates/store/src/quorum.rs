//! Column `requests.approvals_needed`: how many operators must agree because a rule says so.
//!
//! The number never falls once somebody has voted.

use rusqlite::{Connection, params};

use super::{StoreError, sql};

/// Waiting requests for which rules asked for more operators.
pub fn raised(tx: &Connection) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        "SELECT id FROM requests WHERE state <> 'decided' AND state = 'pending'
         AND approvals_needed IS NOT NULL ORDER BY id",
        [],
    )
}

/// Notes what the rules ask for, 1 where they ask for no more than the request does. Returns whether that
/// changed anything: a request that is decided, or one that somebody voted on, is not lowered.
pub fn note(tx: &Connection, request: i64, needed: u8) -> Result<bool, StoreError> {
    let kept = (needed > 1).then_some(needed);
    let note = "UPDATE requests SET approvals_needed = ?2
         WHERE id = ?1 AND state IN ('pending', 'holding') AND approvals_needed IS NOT ?2
           AND (coalesce(?2, 1) > coalesce(approvals_needed, 1)
             OR NOT EXISTS (SELECT 1 FROM votes v WHERE v.request = ?1 AND v.stands = 1)
               AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.kind = 'vote' AND o.request = ?1
                 AND o.state IN ('holding', 'queued', 'stored')))";
    Ok(sql::change(tx, note, params![request, kept])? == 1)
}
