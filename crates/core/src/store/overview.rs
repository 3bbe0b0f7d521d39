//! Requests of a time, one by one, for counting.

use futures::TryStreamExt;
use sqlx::{QueryBuilder, Sqlite};

use super::history_source::span;
use super::{Reader, StoreError};
use crate::domain::Timestamp;
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
///
/// # Errors
/// [`StoreError`].
pub async fn facts(
    reader: &Reader,
    filter: &HistoryFilter,
    mut each: impl FnMut(Fact),
) -> Result<(), StoreError> {
    let span = span(reader, filter).await?;
    let mut query = QueryBuilder::<Sqlite>::new(
        "SELECT ws, agent, tool, state, verdict, origin, stored_at, decided_at FROM requests WHERE id > ",
    );
    query
        .push_bind(span.above)
        .push(" AND id < ")
        .push_bind(span.below);
    if let Some(since) = filter.since {
        query.push(" AND stored_at >= ").push_bind(since.0);
    }
    if let Some(until) = filter.until {
        query.push(" AND stored_at < ").push_bind(until.0);
    }
    if let Some(workspace) = &filter.workspace {
        query.push(" AND ws = ").push_bind(workspace.clone());
    }
    let mut rows = query.build_query_as::<Row>().fetch(&reader.0);
    while let Some((ws, agent, tool, state, verdict, origin, stored, decided)) =
        rows.try_next().await?
    {
        each(Fact {
            agent: format!("{ws}/{agent}"),
            tool,
            state: state
                .parse()
                .map_err(|_| StoreError::corrupt("an unknown state in requests"))?,
            verdict,
            origin,
            stored_at: Timestamp(stored),
            decided_at: decided.map(Timestamp),
        });
    }
    Ok(())
}

/// How many answers are overdue on their way.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn overdue(reader: &Reader) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("SELECT count(code) FROM stalls")
        .fetch_one(&reader.0)
        .await?)
}
