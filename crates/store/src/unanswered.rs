//! Requests that ended without an answer on the bus.

use rusqlite::{Connection, OptionalExtension, params};

use super::{StoreError, sql};

/// The states of a request that ended without a person, in the order in which they are looked through.
const ENDED: [&str; 3] = ["expired", "rejected", "withdrawn"];

/// How far the ended requests were looked through; nothing yet by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndedCursor {
    /// Of [`ENDED`].
    state: usize,
    /// The last request of that state that was looked at.
    id: i64,
}

/// Requests that ended on this console without an answer on the bus: withdrawn, expired or rejected
/// here, no stored decision and nothing in the outbox. Of at most `limit` (1 or more) that ended, from `after` on; with the
/// place to go on from, none at the end.
pub fn page(
    tx: &Connection,
    after: EndedCursor,
    limit: i64,
) -> Result<(Vec<i64>, Option<EndedCursor>), StoreError> {
    let (mut found, mut left, mut at) = (Vec::new(), limit, after);
    while let Some(state) = ENDED.get(at.state) {
        // `state <> 'decided'` names the index, whose order this is: a page reads no more than its own rows.
        let looked_at: Vec<(i64, bool)> = sql::all(
            tx,
            "SELECT r.id, r.delivery = 'stored' AND r.ws <> ''
             AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.kind = 'decision' AND o.request = r.id
             AND o.state NOT IN ('late', 'lost'))
             AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.request = r.id)
             FROM requests r WHERE r.state = ? AND r.state <> 'decided' AND r.id > ? ORDER BY r.id LIMIT ?",
            params![state, at.id, left],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let open = looked_at.iter().filter(|(_, open)| *open);
        found.extend(open.map(|(id, _)| *id));
        left -= i64::try_from(looked_at.len()).unwrap_or(i64::MAX);
        match looked_at.last() {
            Some((id, _)) if left <= 0 => return Ok((found, Some(EndedCursor { id: *id, ..at }))),
            _ => {
                at = EndedCursor {
                    state: at.state + 1,
                    id: 0,
                }
            }
        }
    }
    Ok((found, None))
}

/// Those of these requests that [`page`] would give.
pub fn of(tx: &Connection, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let mut select = tx.prepare_cached(
        "SELECT r.id FROM requests r WHERE r.id = ?
         AND r.state IN ('expired', 'withdrawn', 'rejected') AND r.delivery = 'stored' AND r.ws <> ''
         AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.kind = 'decision' AND o.request = r.id
             AND o.state NOT IN ('late', 'lost'))
         AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.request = r.id)",
    )?;
    let mut found = Vec::new();
    for id in ids {
        let open = select.query_row([id], |row| row.get::<_, i64>(0));
        found.extend(open.optional()?);
    }
    Ok(found)
}

/// At most this many characters of a reason reach the agent.
const WHY_MAX: i64 = 1_000;

/// Why a request is rejected, as its agent receives it: `code: what is wrong`.
pub fn why(tx: &Connection, id: i64) -> Result<Option<String>, StoreError> {
    let why = "SELECT substr(error_code || ': ' || coalesce(error_detail, ''), 1, ?2) FROM requests WHERE id = ?1";
    sql::value(tx, why, [id, WHY_MAX])
}

/// A request that another console had room for is not a rejected message here.
pub fn forgive(tx: &Connection, id: i64) -> Result<(), StoreError> {
    let forgive = "UPDATE requests SET error_code = NULL, error_detail = NULL WHERE id = ?";
    sql::change(tx, forgive, [id]).map(drop)
}
