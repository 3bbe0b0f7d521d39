//! Requests of a time, one by one, for counting.

use futures::TryStreamExt;
use sqlx::{QueryBuilder, Sqlite};

use super::history_source::span;
use super::{Reader, StoreError, conditions, fates};
use crate::domain::history::HistoryFilter;
use crate::domain::overview::Fact;

type Row = (
    String,
    String,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    i64,
    Option<i64>,
);

/// Hands every request that passes the time and the workspace of a filter to `each`.
pub async fn facts(
    reader: &Reader,
    filter: &HistoryFilter,
    mut each: impl FnMut(Fact),
) -> Result<(), StoreError> {
    let span = span(reader, filter).await?;
    let mut query = QueryBuilder::<Sqlite>::new(
        "SELECT ws, agent, tool, state, verdict, origin, stored_at, decided_at FROM requests r WHERE id > ",
    );
    query
        .push_bind(span.above)
        .push(" AND id < ")
        .push_bind(span.below);
    conditions::stored(&mut query, filter.since, filter.until);
    conditions::equal(&mut query, [("ws", &filter.workspace)]);
    let mut rows = query.build_query_as::<Row>().fetch(&reader.0);
    while let Some((ws, agent, tool, state, verdict, origin, stored, decided)) =
        rows.try_next().await?
    {
        each(Fact {
            agent: format!("{ws}/{agent}"),
            tool,
            fate: fates::read((state, verdict, origin, stored, decided))?,
        });
    }
    Ok(())
}

/// How many answers are overdue on their way.
pub async fn overdue(reader: &Reader) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT count(code) FROM stalls")
        .fetch_one(&reader.0)
        .await?)
}
