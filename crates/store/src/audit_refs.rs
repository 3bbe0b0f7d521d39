//! Tables `request_audit` and `audit_early`: which rows of the audit log are about a request.
//!
//! It is not written together with the log: it follows in steps, and each one records its progress in its own
//! transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::direct::WriteConnection;
use super::{Reader, StoreError};

/// Key in `meta` of the last row of the log that is looked at.
const LOG: &str = "referenced_audit";

/// A row of the log that is about a request.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct AuditRef {
    /// Row number of the request.
    pub request: i64,
    /// Number of the row in the log.
    pub seq: i64,
    /// Its hash.
    pub hash: Vec<u8>,
    /// RFC 3339, ms.
    pub at: String,
    /// Who.
    pub actor: String,
    /// What.
    pub action: String,
}

/// Looks at the next `limit` rows of the log. Returns whether there are more.
pub async fn step(tx: &mut WriteConnection, limit: usize) -> Result<bool, StoreError> {
    tx.direct(|sqlite| {
        let place = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?";
        let place: Option<i64> = sqlite
            .query_row(place, [LOG], |row| row.get(0))
            .optional()?;
        let mut select =
            sqlite.prepare("SELECT seq, subject, action FROM audit WHERE seq > ? ORDER BY seq")?;
        let mut rows = select.query([place.unwrap_or(0)])?;
        let (mut last, mut seen, mut more) = (None, 0, false);
        while let Some(row) = rows.next()? {
            if seen >= limit {
                more = true;
                break;
            }
            seen += 1;
            let seq: i64 = row.get(0)?;
            let begins = matches!(row.get_ref(2)?.as_str()?, "request" | "rejected");
            refer(sqlite, seq, row.get_ref(1)?.as_str()?, begins)?;
            last = Some(seq);
        }
        if let Some(last) = last {
            sqlite.execute(
                "INSERT INTO meta(key, value) VALUES (?, ?)
                 ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                params![LOG, last.to_string()],
            )?;
        }
        Ok(more)
    })
    .await
}

fn refer(sqlite: &Connection, seq: i64, subject: &str, begins: bool) -> rusqlite::Result<()> {
    let Some([ws, agent, id]) = parts(subject) else {
        return Ok(());
    };
    let mut find = sqlite
        .prepare_cached("SELECT id FROM requests WHERE ws = ? AND agent = ? AND request_id = ?")?;
    let found: Option<i64> = find
        .query_row([ws, agent, id], |row| row.get(0))
        .optional()?;
    let Some(request) = found else {
        let mut keep = sqlite
            .prepare_cached("INSERT OR IGNORE INTO audit_early(subject, seq) VALUES (?, ?)")?;
        keep.execute(params![subject, seq])?;
        return Ok(());
    };
    let mut add =
        sqlite.prepare_cached("INSERT OR IGNORE INTO request_audit(request, seq) VALUES (?, ?)")?;
    add.execute([request, seq])?;
    if begins {
        let mut join = sqlite.prepare_cached(
            "INSERT OR IGNORE INTO request_audit(request, seq)
             SELECT ?, seq FROM audit_early WHERE subject = ?",
        )?;
        if join.execute(params![request, subject])? > 0 {
            sqlite.execute("DELETE FROM audit_early WHERE subject = ?", [subject])?;
        }
    }
    Ok(())
}

/// Workspace, agent and id of a subject that names a request.
fn parts(subject: &str) -> Option<[&str; 3]> {
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
    Ok(sqlx::query_as(
        "SELECT r.request, r.seq, a.hash, a.at, a.actor, a.action
         FROM json_each(?1) wanted CROSS JOIN request_audit r ON r.request = wanted.value
         CROSS JOIN audit a ON a.seq = r.seq
         WHERE r.seq IN (SELECT seq FROM request_audit n WHERE n.request = wanted.value ORDER BY seq LIMIT ?2)",
    )
    .bind(list)
    .bind(most)
    .fetch_all(&reader.0)
    .await?)
}
