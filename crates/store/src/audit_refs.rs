//! Tables `request_audit` and `audit_early`: which rows of the audit log are about a request.
//!
//! It is not written together with the log: it follows in steps, and each one records its progress in its own
//! transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Reader, StoreError, meta, sql};
pub use crate::domain::facts::AuditRef;

/// Key in `meta` of the last row of the log that is looked at.
const LOG: &str = "referenced_audit";

/// Looks at the next `limit` rows of the log. Returns whether there are more.
pub fn step(tx: &Connection, limit: usize) -> Result<bool, StoreError> {
    let mut select =
        tx.prepare_cached("SELECT seq, subject, action FROM audit WHERE seq > ? ORDER BY seq")?;
    let mut rows = select.query([indexed(tx)?])?;
    let (mut last, mut seen, mut more) = (None, 0, false);
    while let Some(row) = rows.next()? {
        if seen >= limit {
            more = true;
            break;
        }
        seen += 1;
        let (seq, subject, action): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let begins = matches!(action.as_str(), "request" | "rejected");
        refer(tx, seq, &subject, begins)?;
        last = Some(seq);
    }
    if let Some(last) = last {
        meta::put(tx, LOG, &last.to_string())?;
    }
    Ok(more)
}

fn refer(tx: &Connection, seq: i64, subject: &str, begins: bool) -> Result<(), StoreError> {
    let Some(named) = parts(subject) else {
        return Ok(());
    };
    let find = "SELECT id FROM requests WHERE ws = ? AND agent = ? AND request_id = ?";
    let found: Option<i64> = sql::first(tx, find, named, |row| row.get(0))?;
    let Some(request) = found else {
        let keep = "INSERT OR IGNORE INTO audit_early(subject, seq) VALUES (?, ?)";
        sql::change(tx, keep, params![subject, seq])?;
        return Ok(());
    };
    let add = "INSERT OR IGNORE INTO request_audit(request, seq) VALUES (?, ?)";
    sql::change(tx, add, [request, seq])?;
    if begins {
        let join = "INSERT OR IGNORE INTO request_audit(request, seq)
             SELECT ?, seq FROM audit_early WHERE subject = ?";
        if sql::change(tx, join, params![request, subject])? > 0 {
            sql::change(tx, "DELETE FROM audit_early WHERE subject = ?", [subject])?;
        }
    }
    Ok(())
}

/// The last row of the log that is looked at.
pub(super) fn indexed(sqlite: &Connection) -> rusqlite::Result<i64> {
    let place = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?";
    let place = sqlite.query_row(place, [LOG], |row| row.get(0));
    Ok(place.optional()?.unwrap_or(0))
}

/// Workspace, agent and id of a subject that names a request.
pub(super) fn parts(subject: &str) -> Option<[&str; 3]> {
    if subject.starts_with("rejected:") {
        return Some(["", "", subject]);
    }
    let mut parts = subject.split('/');
    let found = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(found)
}

/// The rows of the log about these requests, oldest first within each, at most `most` of one.
pub async fn of_requests(
    reader: &Reader,
    ids: &[i64],
    most: i64,
) -> Result<Vec<AuditRef>, StoreError> {
    let list = serde_json::Value::from(ids).to_string();
    let rows =
        "SELECT r.request, r.seq, a.hash, a.at, a.actor, a.action
         FROM json_each(?1) wanted CROSS JOIN request_audit r ON r.request = wanted.value
         CROSS JOIN audit a ON a.seq = r.seq
         WHERE r.seq IN (SELECT seq FROM request_audit n WHERE n.request = wanted.value ORDER BY seq LIMIT ?2)";
    let read = reader.direct(move |sqlite| {
        sql::all(sqlite, rows, params![list, most], |row| {
            Ok(AuditRef {
                request: row.get(0)?,
                seq: row.get(1)?,
                hash: row.get(2)?,
                at: row.get(3)?,
                actor: row.get(4)?,
                action: row.get(5)?,
            })
        })
    });
    read.await
}
