//! Table `looked`: how long cards were in front and armed before they were decided in the window.

use rusqlite::params;

use super::StoreError;
use super::direct::WriteConnection;

/// How long the card was in front of a decision of the window, as a scalar over the request's row number; null
/// for every other decision.
macro_rules! front_ms {
    ($request:literal) => {
        concat!(
            "(SELECT l.front_ms FROM looked l JOIN decisions ld ON ld.request = l.request
             AND ld.decision_id = l.decision_id WHERE l.request = ",
            $request,
            ")"
        )
    };
}
pub(super) use front_ms;

/// How a decision was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The request's row.
    pub request: i64,
    /// The decision.
    pub decision_id: String,
    /// How long the card was in front and armed, ms.
    pub front_ms: i64,
}

/// Keeps them, each in the place of an earlier one on its request.
pub async fn keep(tx: &mut WriteConnection, rows: &[Looked]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    tx.direct(|sqlite| {
        let mut insert = sqlite.prepare_cached(
            "INSERT OR REPLACE INTO looked(request, decision_id, front_ms) VALUES (?, ?, ?)",
        )?;
        for row in rows {
            insert.execute(params![row.request, row.decision_id, row.front_ms])?;
        }
        Ok(())
    })
    .await
}
