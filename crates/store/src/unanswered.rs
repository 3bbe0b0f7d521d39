//! Requests that ended without an answer on the bus.

use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::StoreError;
use super::bulk::{pieces, with_values};

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
pub async fn page(
    tx: &mut SqliteConnection,
    after: EndedCursor,
    limit: i64,
) -> Result<(Vec<i64>, Option<EndedCursor>), StoreError> {
    let (mut found, mut left, mut at) = (Vec::new(), limit, after);
    while let Some(state) = ENDED.get(at.state) {
        // `state <> 'decided'` names the index, whose order this is: a page reads no more than its own rows.
        let looked_at: Vec<(i64, bool)> = sqlx::query_as(
            "SELECT r.id, r.delivery = 'stored' AND r.ws <> ''
             AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.request = r.id AND o.state NOT IN ('late', 'lost'))
             AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.request = r.id)
             FROM requests r WHERE r.state = ? AND r.state <> 'decided' AND r.id > ? ORDER BY r.id LIMIT ?",
        )
        .bind(state)
        .bind(at.id)
        .bind(left)
        .fetch_all(&mut *tx)
        .await?;
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
pub async fn of(tx: &mut SqliteConnection, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let mut found = Vec::new();
    for piece in pieces(ids) {
        let mut query = QueryBuilder::<Sqlite>::new("");
        with_values!(query, "wanted(id)", piece, |values, id| {
            values.push_bind(*id);
        });
        query.push(
            "SELECT r.id FROM wanted CROSS JOIN requests r ON r.id = wanted.id
             WHERE r.state IN ('expired', 'withdrawn', 'rejected') AND r.delivery = 'stored' AND r.ws <> ''
             AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.request = r.id AND o.state NOT IN ('late', 'lost'))
             AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.request = r.id)",
        );
        found.extend(
            query
                .build_query_scalar::<i64>()
                .fetch_all(&mut *tx)
                .await?,
        );
    }
    Ok(found)
}

/// At most this many characters of a reason reach the agent.
const WHY_MAX: i64 = 1_000;

/// Why a request is rejected, as its agent receives it: `code: what is wrong`.
pub async fn why(tx: &mut SqliteConnection, id: i64) -> Result<Option<String>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT substr(error_code || ': ' || coalesce(error_detail, ''), 1, ?2) FROM requests WHERE id = ?1",
    )
    .bind(id)
    .bind(WHY_MAX)
    .fetch_one(tx)
    .await?)
}

/// A request that another console had room for is not a rejected message here.
pub async fn forgive(tx: &mut SqliteConnection, id: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE requests SET error_code = NULL, error_detail = NULL WHERE id = ?")
        .bind(id)
        .execute(tx)
        .await?;
    Ok(())
}
