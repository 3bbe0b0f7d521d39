//! What the life cycle writes into the rows of `requests`.

use rusqlite::{Connection, Statement, params};

use super::{StoreError, sql};
use crate::domain::{Delivery, RequestRecord, State, Timestamp};

/// What the life cycle changes in a row.
#[derive(Debug, Clone)]
pub struct StateChange {
    /// Row number.
    pub id: i64,
    /// New state.
    pub state: State,
    /// Verdict as it reads everywhere.
    pub verdict: Option<String>,
    /// Who decided.
    pub origin: Option<String>,
    /// When it was decided, server time.
    pub decided_at: Option<Timestamp>,
    /// New rung.
    pub delivery: Delivery,
}

impl StateChange {
    /// What the request waits for again is decided by nobody.
    #[must_use]
    pub fn waits_again(record: &RequestRecord, state: State) -> Self {
        Self {
            id: record.id,
            state,
            verdict: None,
            origin: None,
            decided_at: None,
            delivery: record.delivery,
        }
    }
}

/// Puts the deadline back to where it was before a tighten.
pub fn loosen(tx: &Connection, record: &RequestRecord) -> Result<(), StoreError> {
    let loosen = "UPDATE requests SET deadline_at = ?2, tightened_at = NULL WHERE id = ?1";
    sql::change(tx, loosen, [record.id, record.first_deadline_at.0]).map(drop)
}

/// Writes life-cycle changes.
pub fn change_states(tx: &Connection, changes: &[StateChange]) -> Result<(), StoreError> {
    Ok(write_states(tx, changes)?)
}

/// As [`change_states`] where most rows have the same verdict already, as those of a decision that comes back from the
/// stream do: what stays the same is not taken out of its indexes and put back.
pub(super) fn confirm_states(sqlite: &Connection, changes: &[StateChange]) -> rusqlite::Result<()> {
    let mut confirm = sqlite.prepare_cached(
        "UPDATE requests SET state = ?2, decided_at = ?5, delivery = ?6
         WHERE id = ?1 AND verdict IS ?3 AND origin IS ?4",
    )?;
    for change in changes {
        let confirmed = put(&mut confirm, change)?;
        if confirmed == 0 {
            write_states(sqlite, std::slice::from_ref(change))?;
        }
    }
    Ok(())
}

pub(super) fn write_states(sqlite: &Connection, changes: &[StateChange]) -> rusqlite::Result<()> {
    let mut update = sqlite.prepare_cached(
        "UPDATE requests SET state = ?2, verdict = ?3, origin = ?4, decided_at = ?5, delivery = ?6
         WHERE id = ?1",
    )?;
    for change in changes {
        put(&mut update, change)?;
    }
    Ok(())
}

/// Numbered as in both statements: row, state, verdict, origin, time, rung.
fn put(statement: &mut Statement<'_>, change: &StateChange) -> rusqlite::Result<usize> {
    statement.execute(params![
        change.id,
        change.state.as_str(),
        change.verdict,
        change.origin,
        change.decided_at.map(|at| at.0),
        change.delivery.as_str(),
    ])
}

/// Raises rungs of the ladder.
pub fn change_delivery(tx: &Connection, changes: &[(i64, Delivery)]) -> Result<(), StoreError> {
    let mut update = tx.prepare_cached("UPDATE requests SET delivery = ?2 WHERE id = ?1")?;
    for (id, delivery) in changes {
        update.execute(params![id, delivery.as_str()])?;
    }
    Ok(())
}
