//! The history: requests that pass a filter, newest first, page by page.
//!
//! A page does not look at every request: candidates come in the order of their rows from one index, other indexes show
//! which of them pass, and a page that would take too long ends early and says where to go on.

use std::collections::HashMap;
use std::time::Duration;

use sqlx::{QueryBuilder, Sqlite};
use tokio::time::Instant;

use super::history_narrow::{counting, passing};
use super::history_source::{Source, Span, Towards};
use super::request_list::{RequestSummary, fetched, select};
use super::{Reader, StoreError, history_source};
use crate::domain::history::HistoryFilter;

/// Candidates looked at together, at most.
pub(super) const MOST: i64 = 16_384;
/// Candidates for each row that is wanted, at first.
pub(super) const FIRST: i64 = 4;

/// A page of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order of the page.
    pub rows: Vec<RequestSummary>,
    /// Where the next page begins; none at the end.
    pub next: Option<i64>,
}

/// The page after row `after`, at most `limit` rows, newest first. Once `budget` is over, what was found by then is the
/// page; without one it is looked for until the page is full.
pub async fn page(
    reader: &Reader,
    filter: &HistoryFilter,
    after: Option<i64>,
    limit: i64,
    budget: Option<Duration>,
) -> Result<Page, StoreError> {
    let give_up = budget.map(|budget| Instant::now() + budget);
    page_towards(reader, filter, (Towards::Older, after), limit, give_up).await
}

/// The same, one way or the other.
pub(super) async fn page_towards(
    reader: &Reader,
    filter: &HistoryFilter,
    (towards, after): (Towards, Option<i64>),
    limit: i64,
    give_up: Option<Instant>,
) -> Result<Page, StoreError> {
    let mut span = history_source::span(reader, filter).await?;
    if let Some(after) = after {
        span.go_on(towards, after);
    }
    let source = history_source::of(reader, filter).await?;
    let mut ids: Vec<i64> = Vec::new();
    let mut next = None;
    let mut chunk = match source.is_exact(filter) {
        true => limit + 1,
        false => (limit * FIRST).clamp(64, MOST),
    };
    let full = usize::try_from(limit).unwrap_or(usize::MAX);
    loop {
        let begun = Instant::now();
        let Some(found) = candidates(reader, &source, span, chunk, towards).await? else {
            break;
        };
        let room = i64::try_from(full.saturating_sub(ids.len())).unwrap_or(i64::MAX);
        if let Some(mut query) =
            passing(&source, filter, found.span, room.saturating_add(1), towards)
        {
            let passing: Vec<i64> = query.build_query_scalar().fetch_all(&reader.0).await?;
            ids.extend(passing);
        }
        if ids.len() > full {
            ids.truncate(full);
            next = ids.last().copied();
            break;
        }
        if found.count < chunk {
            break;
        }
        let last = match towards {
            Towards::Older => found.span.above + 1,
            Towards::Newer => found.span.below - 1,
        };
        // The next look takes twice as many.
        let longer = begun.elapsed() * 2;
        if give_up.is_some_and(|give_up| Instant::now() + longer >= give_up) {
            next = Some(last);
            break;
        }
        span.go_on(towards, last);
        chunk = (chunk * 2).min(MOST);
    }
    Ok(Page {
        rows: rows(reader, &ids).await?,
        next,
    })
}

/// How many requests pass a filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// So many were found.
    pub requests: i64,
    /// Every candidate was looked at: none is left.
    pub whole: bool,
}

/// Counts all that pass the filter. Once `budget` is over, what was counted by then, the newest, is the count.
pub async fn count(
    reader: &Reader,
    filter: &HistoryFilter,
    budget: Duration,
) -> Result<Count, StoreError> {
    let give_up = Instant::now() + budget;
    let mut span = history_source::span(reader, filter).await?;
    let source = history_source::of(reader, filter).await?;
    let mut count = Count {
        requests: 0,
        whole: true,
    };
    while let Some(found) = candidates(reader, &source, span, MOST, Towards::Older).await? {
        if let Some(mut query) = counting(&source, filter, found.span) {
            let passing: i64 = query.build_query_scalar().fetch_one(&reader.0).await?;
            count.requests = count.requests.saturating_add(passing);
        }
        if found.count < MOST {
            break;
        }
        if Instant::now() >= give_up {
            count.whole = false;
            break;
        }
        span.below = found.span.above + 1;
    }
    Ok(count)
}

/// How many candidates are in a span.
struct Candidates {
    count: i64,
    /// Around them: what arrives meanwhile does not push one out.
    span: Span,
}

/// The first candidates of a span, at most `limit`; none where there is none.
async fn candidates(
    reader: &Reader,
    source: &Source,
    span: Span,
    limit: i64,
    towards: Towards,
) -> Result<Option<Candidates>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT count(*), min(id), max(id) FROM (");
    if !source.push(&mut query, span, limit, towards) {
        return Ok(None);
    }
    query.push(")");
    let found: (i64, Option<i64>, Option<i64>) =
        query.build_query_as().fetch_one(&reader.0).await?;
    Ok(match found {
        (count, Some(oldest), Some(newest)) => Some(Candidates {
            count,
            span: Span {
                above: oldest - 1,
                below: newest + 1,
            },
        }),
        _ => None,
    })
}

/// The lines of these rows, in their order.
pub(super) async fn rows(reader: &Reader, ids: &[i64]) -> Result<Vec<RequestSummary>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = select(false);
    query.push(" AND r.id IN (SELECT value FROM json_each(");
    query.push_bind(serde_json::Value::from(ids).to_string());
    query.push("))");
    let mut rows = fetched(query, reader).await?;
    let places: HashMap<i64, usize> = ids.iter().copied().zip(0..).collect();
    rows.sort_unstable_by_key(|row| places.get(&row.id).copied());
    Ok(rows)
}
