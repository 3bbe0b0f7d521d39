//! Table `requests`: the same call asked again.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{StoreError, sql};
pub use crate::domain::facts::EarlierCall;

/// For each of these rows the newest call that was decided, by the server's stamps, before it was asked, and
/// that has its workspace, agent, tool and argument digest; rows without one are left out. The same in every
/// console, whenever it was read.
pub fn of(sqlite: &Connection, ids: &[i64]) -> Result<BTreeMap<i64, EarlierCall>, StoreError> {
    newest(sqlite, ids, "", "")
}

/// The same, of those that a person approved or denied, where the newest one was denied.
pub fn denied(sqlite: &Connection, ids: &[i64]) -> Result<BTreeMap<i64, EarlierCall>, StoreError> {
    let by_a_person = "AND x.origin = 'operator' AND x.verdict IN ('approve', 'deny', 'terminate')";
    newest(sqlite, ids, by_a_person, "WHERE e.verdict <> 'approve'")
}

fn newest(
    sqlite: &Connection,
    ids: &[i64],
    of: &'static str,
    only: &'static str,
) -> Result<BTreeMap<i64, EarlierCall>, StoreError> {
    let sql = format!(
        "SELECT r.id AS asked, e.id, e.ws, e.agent, e.request_id, e.verdict, d.decided_by, d.message, e.decided_at
         FROM json_each(?) wanted CROSS JOIN requests r ON r.id = wanted.value
         CROSS JOIN requests e ON e.id = (
           SELECT x.id FROM requests x
           WHERE x.ws = r.ws AND x.agent = r.agent AND x.tool = r.tool
           AND substr(x.args_digest, 8, 8) = substr(r.args_digest, 8, 8) AND x.state = 'decided'
           AND x.id < r.id AND x.args_digest = r.args_digest AND x.decided_at <= r.stored_at {of}
           ORDER BY x.id DESC LIMIT 1)
         LEFT JOIN decisions d ON d.request = e.id {only}"
    );
    let ids = serde_json::Value::from(ids).to_string();
    let found = sql::all(sqlite, &sql, [ids], |row| {
        let earlier = EarlierCall {
            id: row.get(1)?,
            ws: row.get(2)?,
            agent: row.get(3)?,
            request_id: row.get(4)?,
            verdict: row.get(5)?,
            decided_by: row.get(6)?,
            message: row.get(7)?,
            decided_at: row.get(8)?,
        };
        Ok((row.get(0)?, earlier))
    })?;
    Ok(found.into_iter().collect())
}
