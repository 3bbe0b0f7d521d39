//! Table `stalls`: answers whose next rung is awaited, and those that are overdue.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{StoreError, sql};
use crate::domain::{Delivery, Stall, State, Timestamp};

/// An answer and what is known of its way.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Row of the request.
    pub request: i64,
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// Its state.
    pub state: State,
    /// How far it has come.
    pub delivery: Delivery,
    /// As it reads everywhere.
    pub verdict: Option<String>,
    /// A tool call, and not a question.
    pub is_call: bool,
    /// When the agent stops waiting.
    pub deadline_at: Timestamp,
    /// When the decision was signed here, while it is in the outbox.
    pub queued_at: Option<Timestamp>,
    /// Stamp and id of the stored decision.
    pub stored_at: Option<Timestamp>,
    /// Stamp of the receipt `received`.
    pub received_at: Option<Timestamp>,
    /// When the agent was last heard.
    pub heard_at: Option<Timestamp>,
    /// Since when it was heard without a pause.
    pub alive_since: Option<Timestamp>,
    /// The alarm that is raised for it.
    pub alarmed: Option<Stall>,
}

fn watched(row: &Row<'_>) -> Result<Watched, StoreError> {
    let corrupt = |column: &str| StoreError::corrupt(format!("an unknown {column} in requests"));
    let word = |place: usize| row.get::<_, String>(place);
    let word_or_null = |place: usize| row.get::<_, Option<String>>(place);
    let time = |place: usize| Ok::<_, StoreError>(row.get::<_, Option<i64>>(place)?.map(Timestamp));
    Ok(Watched {
        request: row.get(0)?,
        ws: row.get(1)?,
        agent: row.get(2)?,
        request_id: row.get(3)?,
        state: word(4)?.parse().map_err(|_| corrupt("state"))?,
        delivery: Delivery::from_word(&word(5)?).ok_or_else(|| corrupt("delivery"))?,
        verdict: row.get(6)?,
        is_call: word_or_null(7)?.as_deref() == Some("tool_call"),
        deadline_at: Timestamp(row.get(8)?),
        queued_at: time(9)?,
        stored_at: time(10)?,
        received_at: time(11)?,
        heard_at: time(12)?,
        alive_since: time(13)?,
        alarmed: word_or_null(14)?.as_deref().and_then(Stall::from_code),
    })
}

/// What is known of these requests' answers.
pub fn look_up(tx: &Connection, ids: &[i64]) -> Result<Vec<Watched>, StoreError> {
    let mut select = tx.prepare_cached(
        "SELECT r.id, r.ws, r.agent, r.request_id, r.state, r.delivery, r.verdict, r.kind, r.deadline_at,
           o.release_at, d.stored_at,
           (SELECT min(c.at) FROM receipts c WHERE c.ws = r.ws AND c.agent = r.agent
             AND c.request_id = r.request_id AND c.decision_id = d.decision_id
             AND c.stage = 'received'),
           a.last_seen, a.alive_since, s.code
         FROM requests r
         LEFT JOIN outbox o ON o.kind = 'decision' AND o.request = r.id AND o.state = 'queued'
         LEFT JOIN decisions d ON d.request = r.id
         LEFT JOIN agents a ON a.ws = r.ws AND a.name = r.agent
         LEFT JOIN stalls s ON s.request = r.id
         WHERE r.id = ?",
    )?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let mut rows = select.query([id])?;
        if let Some(row) = rows.next()? {
            found.push(watched(row)?);
        }
    }
    Ok(found)
}

/// Looks at an answer again at `look_at`; no alarm is raised for it.
pub fn park(tx: &Connection, request: i64, look_at: Timestamp) -> Result<(), StoreError> {
    put(tx, request, None, look_at)
}

/// Notes that an alarm is raised for an answer.
pub fn mark(tx: &Connection, request: i64, stall: Stall, at: Timestamp) -> Result<(), StoreError> {
    put(tx, request, Some(stall.code()), at)
}

fn put(
    tx: &Connection,
    request: i64,
    code: Option<&str>,
    look_at: Timestamp,
) -> Result<(), StoreError> {
    let put = "INSERT INTO stalls(request, code, look_at) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET code = ?2, look_at = ?3";
    sql::change(tx, put, params![request, code, look_at.0]).map(drop)
}

/// Watches an answer no longer.
pub fn forget(tx: &Connection, request: i64) -> Result<(), StoreError> {
    sql::change(tx, "DELETE FROM stalls WHERE request = ?", [request]).map(drop)
}

/// Those of these requests that are watched.
pub fn watched_of(tx: &Connection, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let mut select = tx.prepare_cached("SELECT request FROM stalls WHERE request = ?")?;
    let mut found = Vec::new();
    for id in ids {
        let watched = select.query_row([id], |row| row.get::<_, i64>(0));
        found.extend(watched.optional()?);
    }
    Ok(found)
}

/// Requests to be looked at by now, the longest overdue first.
pub fn due(tx: &Connection, now: Timestamp, limit: i64) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        "SELECT request FROM stalls WHERE code IS NULL AND look_at <= ? ORDER BY look_at LIMIT ?",
        [now.0, limit],
    )
}

/// Requests whose decision is signed since before `since` and still in the outbox, without an alarm.
pub fn unsent(tx: &Connection, since: Timestamp, limit: i64) -> Result<Vec<i64>, StoreError> {
    sql::column(
        tx,
        "SELECT request FROM outbox WHERE kind = 'decision' AND state = 'queued' AND release_at <= ?
         AND NOT EXISTS (SELECT 1 FROM stalls s WHERE s.request = outbox.request)
         ORDER BY release_at, id LIMIT ?",
        [since.0, limit],
    )
}

/// When the oldest decision in the outbox was signed.
pub fn oldest_unsent(tx: &Connection) -> Result<Option<Timestamp>, StoreError> {
    sql::first(
        tx,
        "SELECT release_at FROM outbox WHERE kind = 'decision' AND state = 'queued'
         AND NOT EXISTS (SELECT 1 FROM stalls s WHERE s.request = outbox.request)
         ORDER BY release_at, id LIMIT 1",
        [],
        |row| Ok(Timestamp(row.get(0)?)),
    )
}

/// The earliest time at which an answer is to be looked at.
pub fn next_look(tx: &Connection) -> Result<Option<Timestamp>, StoreError> {
    let earliest = "SELECT min(look_at) FROM stalls WHERE code IS NULL";
    Ok(sql::value::<Option<i64>>(tx, earliest, [])?.map(Timestamp))
}

/// How many answers are watched, and for how many an alarm is raised.
pub fn counts(tx: &Connection) -> Result<(i64, i64), StoreError> {
    let counts = "SELECT count(*), count(code) FROM stalls";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    Ok(tx.prepare_cached(counts)?.query_row([], read)?)
}

/// A stored decision that no sweep has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unswept {
    /// Row of the decision.
    pub id: i64,
    /// Row of its request, where that is here.
    pub request: Option<i64>,
    /// The server's stamp, ms.
    pub stored_at: i64,
    /// Whether a further rung can be awaited.
    pub waits: bool,
}

/// Decisions after row `after`, in the order of their arrival.
pub fn unswept(tx: &Connection, after: i64, limit: i64) -> Result<Vec<Unswept>, StoreError> {
    sql::all(
        tx,
        "SELECT d.id, d.request, d.stored_at,
           coalesce(r.state = 'decided' AND r.delivery IN ('on_bus', 'received'), 0)
         FROM decisions d LEFT JOIN requests r ON r.id = d.request
         WHERE d.id > ? ORDER BY d.id LIMIT ?",
        [after, limit],
        |row| {
            Ok(Unswept {
                id: row.get(0)?,
                request: row.get(1)?,
                stored_at: row.get(2)?,
                waits: row.get(3)?,
            })
        },
    )
}
