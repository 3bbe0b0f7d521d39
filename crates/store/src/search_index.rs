//! Tables `request_text` and `requests_fts`: the words of requests, for a text search.
//!
//! It is not written together with its requests: the words cost more than the rows. It follows them in steps, and each
//! one records its progress in its own transaction.

use rusqlite::{Connection, params};

use super::{Reader, StoreError, meta, sql};
use crate::domain::search::{self, Term, TextQuery};

/// Key in `meta` of the last request whose words are in the index.
const REQUESTS: &str = "searched_requests";
/// Key in `meta` of the last decision whose message is in the index.
const DECISIONS: &str = "searched_decisions";
/// Key in `meta` of the version of the words in the index.
const VERSION: &str = "search_version";
/// Key in `meta` of the last request whose words were read again for this version.
const AGAIN: &str = "searched_again";
/// Bytes of payloads read in one step.
const STEP_BYTES: usize = 4 * 1024 * 1024;

/// A request whose words are not in the index yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Row number.
    pub id: i64,
    /// Payload as received; empty when retention took it away.
    pub raw: Vec<u8>,
    /// The operator's words to the agent.
    pub message: Option<String>,
    /// Its words in the index; none when it is not there.
    pub before: Option<String>,
}

/// A request whose decision has come since its words were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaterMessage {
    /// Row number.
    pub id: i64,
    /// Its words in the index.
    pub hay: String,
    /// The operator's words to the agent.
    pub message: String,
}

/// A piece of what the index does not know.
#[derive(Debug, Default)]
pub struct Step {
    /// Requests, in the order of their rows.
    pub unread: Vec<Unread>,
    /// Messages of decisions.
    pub later: Vec<LaterMessage>,
    /// Whether there is more that no search finds.
    pub more: bool,
    /// Whether there are words of another version, which are found as they are until they are read again.
    pub outdated: bool,
    requests: Option<i64>,
    decisions: Option<i64>,
    again: Option<i64>,
}

fn place(tx: &Connection, key: &str) -> Result<i64, StoreError> {
    let sql = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?";
    Ok(sql::first(tx, sql, [key], |row| row.get(0))?.unwrap_or(0))
}

/// What comes next, at most `limit` of each kind.
pub fn next(tx: &Connection, limit: usize) -> Result<Step, StoreError> {
    let mut step = Step::default();
    let indexed = place(tx, REQUESTS)?;
    step.more = read(tx, limit, (indexed, i64::MAX), &mut step.unread)?;
    step.requests = step.unread.last().map(|last| last.id);
    later(tx, limit, &mut step)?;
    step.outdated = indexed > 0 && place(tx, VERSION)? != search::VERSION;
    if step.outdated && step.unread.is_empty() && step.later.is_empty() {
        let again = place(tx, AGAIN)?;
        step.outdated = read(tx, limit, (again, indexed), &mut step.unread)?;
        step.again = step.unread.last().map(|last| last.id);
    }
    Ok(step)
}

/// Requests after one and up to another. Returns whether there are more of them.
fn read(
    tx: &Connection,
    limit: usize,
    (after, to): (i64, i64),
    unread: &mut Vec<Unread>,
) -> Result<bool, StoreError> {
    let mut select = tx.prepare_cached(
        "SELECT r.id, r.raw, d.message, t.hay FROM requests r LEFT JOIN decisions d ON d.request = r.id
         LEFT JOIN request_text t ON t.request = r.id WHERE r.id > ? AND r.id <= ? ORDER BY r.id",
    )?;
    let mut rows = select.query([after, to])?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        if unread.len() >= limit || bytes >= STEP_BYTES {
            return Ok(true);
        }
        let raw: Vec<u8> = row.get(1)?;
        bytes += raw.len();
        unread.push(Unread {
            id: row.get(0)?,
            raw,
            message: row.get(2)?,
            before: row.get(3)?,
        });
    }
    Ok(false)
}

fn later(tx: &Connection, limit: usize, step: &mut Step) -> Result<(), StoreError> {
    let mut select = tx.prepare_cached(
        "SELECT d.id, d.request, t.hay, d.message FROM decisions d
         LEFT JOIN request_text t ON t.request = d.request WHERE d.id > ? ORDER BY d.id",
    )?;
    let mut rows = select.query([place(tx, DECISIONS)?])?;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        if seen >= limit {
            step.more = true;
            break;
        }
        seen += 1;
        step.decisions = Some(row.get(0)?);
        let (id, hay, message): (Option<i64>, Option<String>, Option<String>) =
            (row.get(1)?, row.get(2)?, row.get(3)?);
        // Of a request that is not read yet, the message is read with it.
        if let (Some(id), Some(hay), Some(message)) = (id, hay, message) {
            step.later.push(LaterMessage { id, hay, message });
        }
    }
    Ok(())
}

/// Words of one request: new ones, and those that they replace.
#[derive(Debug)]
pub struct Hay {
    /// Row number of the request.
    pub id: i64,
    /// Its words now.
    pub now: String,
    /// Its words in the index; none when it is not there.
    pub before: Option<String>,
}

/// Puts words into the index and notes that `step` is done.
pub fn put(tx: &Connection, step: &Step, hays: &[Hay]) -> Result<(), StoreError> {
    let mut text = tx.prepare_cached(
        "INSERT INTO request_text(request, hay) VALUES (?, ?)
         ON CONFLICT(request) DO UPDATE SET hay = excluded.hay",
    )?;
    let mut drop = tx.prepare_cached(
        "INSERT INTO requests_fts(requests_fts, rowid, hay) VALUES ('delete', ?, ?)",
    )?;
    let mut add = tx.prepare_cached("INSERT INTO requests_fts(rowid, hay) VALUES (?, ?)")?;
    for hay in hays {
        // The index ignores case: it has these words.
        if hay
            .before
            .as_ref()
            .is_some_and(|before| before.eq_ignore_ascii_case(&hay.now))
        {
            continue;
        }
        if let Some(before) = &hay.before {
            drop.execute(params![hay.id, before])?;
        }
        text.execute(params![hay.id, hay.now])?;
        add.execute(params![hay.id, hay.now])?;
    }
    let version = (!step.outdated).then_some(search::VERSION);
    for (key, place) in [
        (REQUESTS, step.requests),
        (DECISIONS, step.decisions),
        (AGAIN, if step.outdated { step.again } else { Some(0) }),
        (VERSION, version),
    ] {
        if let Some(place) = place {
            meta::put(tx, key, &place.to_string())?;
        }
    }
    Ok(())
}

/// Takes the words of a request out of the index.
pub fn remove(tx: &Connection, id: i64) -> Result<(), StoreError> {
    let remove = "INSERT INTO requests_fts(requests_fts, rowid, hay)
                  SELECT 'delete', request, hay FROM request_text WHERE request = ?";
    sql::change(tx, remove, [id])?;
    sql::change(tx, "DELETE FROM request_text WHERE request = ?", [id]).map(drop)
}

/// Rows whose words hold what is asked for ([`expression`]).
pub(super) const MATCHING: &str =
    "SELECT rowid AS id FROM requests_fts WHERE requests_fts MATCH ? AND rowid";

/// The query as FTS5 reads it: every word is in quotation marks, so that none is an operator. None for a query without
/// words.
pub(super) fn expression(query: &TextQuery) -> Option<String> {
    let term = |term: &Term| {
        let star = if term.prefix { " *" } else { "" };
        format!("\"{}\"{star}", term.text.replace('"', "\"\""))
    };
    let terms: Vec<String> = query.terms().iter().map(term).collect();
    (!terms.is_empty()).then(|| terms.join(" AND "))
}

/// How many requests a search may miss: their words are not in the index yet, or as another version wrote them.
pub async fn unread(reader: &Reader) -> Result<i64, StoreError> {
    let sql = "WITH place(key, at) AS (SELECT key, CAST(value AS INTEGER) FROM meta),
      indexed(at) AS (SELECT coalesce((SELECT at FROM place WHERE key = ?), 0))
      SELECT (SELECT count(*) FROM requests WHERE id > (SELECT at FROM indexed))
           + (SELECT count(*) FROM requests WHERE id <= (SELECT at FROM indexed)
              AND id > coalesce((SELECT at FROM place WHERE key = ?), 0)
              AND coalesce((SELECT at FROM place WHERE key = ?), 0) <> ?)";
    let query = sqlx::query_scalar(sql).bind(REQUESTS).bind(AGAIN);
    let query = query.bind(VERSION).bind(search::VERSION);
    Ok(query.fetch_one(&reader.0).await?)
}
