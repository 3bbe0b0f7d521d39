//! Requests of a time, one by one, for counting.

use futures::TryStreamExt;
use sqlx::{QueryBuilder, Sqlite};

use super::history_source::span;
use super::looked::looked;
use super::{Reader, StoreError, conditions, outcomes};
use crate::domain::Timestamp;
use crate::domain::haste::InFront;
use crate::domain::history::HistoryFilter;
use crate::domain::overview::Fact;
use crate::domain::overview::people::{People, PersonDecided};

type Row = (
    String,
    String,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    i64,
    Option<i64>,
    Option<i64>,
    Option<i64>,
);
type Decided = (String, i64, String, bool, Option<i64>, Option<i64>);

/// Hands every request that passes the time and the workspace of a filter to `each`.
pub async fn facts(
    reader: &Reader,
    filter: &HistoryFilter,
    mut each: impl FnMut(Fact),
) -> Result<(), StoreError> {
    let span = span(reader, filter).await?;
    let mut query = QueryBuilder::<Sqlite>::new(concat!(
        "SELECT ws, agent, tool, state, verdict, origin, stored_at, decided_at,
         CASE origin WHEN 'operator' THEN ",
        looked!("l.front_ms", "r.id"),
        " END, CASE origin WHEN 'operator' THEN ",
        looked!("l.read_ms", "r.id"),
        " END FROM requests r WHERE id > ",
    ));
    query
        .push_bind(span.above)
        .push(" AND id < ")
        .push_bind(span.below);
    conditions::stored(&mut query, filter.since, filter.until);
    conditions::equal(&mut query, [("ws", &filter.workspace)]);
    let mut rows = query.build_query_as::<Row>().fetch(&reader.0);
    while let Some(row) = rows.try_next().await? {
        let (ws, agent, tool, state, verdict, origin, stored, decided, front_ms, read_ms) = row;
        each(Fact {
            agent: format!("{ws}/{agent}"),
            tool,
            fate: outcomes::read((state, verdict, origin, stored, decided))?,
            front: front(front_ms, read_ms),
        });
    }
    Ok(())
}

fn front(front_ms: Option<i64>, read_ms: Option<i64>) -> Option<InFront> {
    Some(InFront {
        front_ms: front_ms?,
        read_ms: read_ms?,
    })
}

/// Counts what people decided in the weeks, and the practice cards with a change that they answered.
pub async fn people(reader: &Reader, people: &mut People) -> Result<(), StoreError> {
    let Some((since, until)) = people.time() else {
        return Ok(());
    };
    let sql = "SELECT d.key, r.decided_at, r.verdict, l.request IS NOT NULL AND l.front_ms IS NULL, l.front_ms, l.read_ms
         FROM requests r CROSS JOIN decisions d ON d.request = r.id
         LEFT JOIN looked l ON l.request = r.id AND l.decision_id = d.decision_id
         WHERE r.decided_at >= ? AND r.decided_at < ? AND r.state = 'decided' AND r.origin = 'operator'
           AND r.verdict IS NOT NULL AND d.key IS NOT NULL";
    let query = sqlx::query_as::<_, Decided>(sql)
        .bind(since.0)
        .bind(until.0);
    let mut rows = query.fetch(&reader.0);
    while let Some((key, at, verdict, by_cli, front_ms, read_ms)) = rows.try_next().await? {
        people.decided(PersonDecided {
            key,
            at: Timestamp(at),
            verdict,
            by_cli,
            front: front(front_ms, read_ms),
        });
    }
    let sql = "SELECT operator, at, outcome = 'caught' FROM practice
         WHERE outcome IN ('caught', 'missed') AND at >= ? AND at < ?";
    let query = sqlx::query_as::<_, (String, i64, bool)>(sql)
        .bind(since.0)
        .bind(until.0);
    let mut rows = query.fetch(&reader.0);
    while let Some((key, at, caught)) = rows.try_next().await? {
        people.practised(key, Timestamp(at), caught);
    }
    Ok(())
}

/// How many answers are overdue on their way.
pub async fn overdue(reader: &Reader) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT count(code) FROM stalls")
        .fetch_one(&reader.0)
        .await?)
}
