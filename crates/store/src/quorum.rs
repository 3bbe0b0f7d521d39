//! Column `requests.approvals_needed`: how many operators must agree because a rule says so.
//!
//! The number never falls once somebody has voted.

use super::{StoreError, WriteConnection};

/// Waiting requests for which rules asked for more operators.
pub async fn raised(tx: &mut WriteConnection) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT id FROM requests WHERE state <> 'decided' AND state = 'pending'
         AND approvals_needed IS NOT NULL ORDER BY id",
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Notes what the rules ask for, 1 where they ask for no more than the request does. Returns whether that
/// changed anything: a request that is decided, or one that somebody voted on, is not lowered.
pub async fn note(tx: &mut WriteConnection, request: i64, needed: u8) -> Result<bool, StoreError> {
    let kept = (needed > 1).then_some(needed);
    let done = sqlx::query(
        "UPDATE requests SET approvals_needed = ?2
         WHERE id = ?1 AND state IN ('pending', 'holding') AND approvals_needed IS NOT ?2
           AND (coalesce(?2, 1) > coalesce(approvals_needed, 1)
             OR NOT EXISTS (SELECT 1 FROM votes v WHERE v.request = ?1 AND v.stands = 1)
               AND NOT EXISTS (SELECT 1 FROM vote_outbox o WHERE o.request = ?1
                 AND o.state IN ('holding', 'queued', 'stored')))",
    )
    .bind(request)
    .bind(kept)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}
