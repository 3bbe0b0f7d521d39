//! Table `looked`: how people looked at calls before they decided here.

use rusqlite::{Connection, params};

use super::{StoreError, sql};
use crate::domain::haste::InFront;

/// A scalar of the row `l` of a request's decision, over the request's row number; null where this console's operator did
/// not decide, as `front_ms` and `read_ms` are on the command line.
macro_rules! looked {
    ($what:literal, $request:literal) => {
        concat!(
            "(SELECT ",
            $what,
            " FROM looked l JOIN decisions ld ON ld.request = l.request
             AND ld.decision_id = l.decision_id WHERE l.request = ",
            $request,
            ")"
        )
    };
}
pub(super) use looked;

/// How a decision was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The request's row.
    pub request: i64,
    /// The decision.
    pub decision_id: String,
    /// How long the card was in front; none on the command line.
    pub front: Option<InFront>,
    /// JSON `{via, front_ms, to_end, shown}`.
    pub looked: String,
}

/// Keeps them, each in the place of an earlier one on its request.
pub fn keep(tx: &Connection, rows: &[Looked]) -> Result<(), StoreError> {
    let mut insert = tx.prepare_cached(
        "INSERT OR REPLACE INTO looked(request, decision_id, front_ms, read_ms, looked) VALUES (?, ?, ?, ?, ?)",
    )?;
    for row in rows {
        insert.execute(params![
            row.request,
            row.decision_id,
            row.front.map(|front| front.front_ms),
            row.front.map(|front| front.read_ms),
            row.looked
        ])?;
    }
    Ok(())
}

/// How a person looked at a request before deciding it here, JSON; none for what waits, was decided automatically or by
/// another console.
pub fn of_request(sqlite: &Connection, request: i64) -> Result<Option<String>, StoreError> {
    let looked = "SELECT l.looked FROM looked l JOIN decisions d ON d.request = l.request AND d.decision_id = l.decision_id
         WHERE l.request = ?";
    sql::first(sqlite, looked, [request], |row| row.get(0))
}
