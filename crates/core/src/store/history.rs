//! The history: requests that pass a filter, newest first, page by page.
//!
//! Refuses to look at every request for one page: candidates come in the order of their rows from one
//! index, and a page that would take too long ends early and says where to go on.

use std::time::Duration;

use sqlx::{QueryBuilder, Sqlite};
use tokio::time::Instant;

use super::history_source::{Source, Span};
use super::lines::{LineRow, select};
use super::{Reader, StoreError, history_source, search_index};
use crate::domain::history::HistoryFilter;

/// Candidates looked at together, at most.
const MOST: i64 = 4_096;
/// Candidates for each row that is wanted, at first.
const FIRST: i64 = 4;

/// A page of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Newest first.
    pub rows: Vec<LineRow>,
    /// Where the next page begins; none at the end.
    pub next: Option<i64>,
}

/// The page after row `after`, at most `limit` rows. Once `budget` is over, what was found by then is the
/// page; without one it is looked for until the page is full.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn page(
    reader: &Reader,
    filter: &HistoryFilter,
    after: Option<i64>,
    limit: i64,
    budget: Option<Duration>,
) -> Result<Page, StoreError> {
    let give_up = budget.map(|budget| Instant::now() + budget);
    let mut span = history_source::span(reader, filter).await?;
    span.below = span.below.min(after.unwrap_or(i64::MAX));
    let source = history_source::of(reader, filter).await?;
    let mut page = Page::default();
    let mut chunk = match source.is_exact(filter) {
        true => limit + 1,
        false => (limit * FIRST).clamp(64, MOST),
    };
    let full = usize::try_from(limit).unwrap_or(usize::MAX);
    loop {
        let ids = candidates(reader, &source, filter, span, chunk).await?;
        let Some(last) = ids.last().copied() else {
            return Ok(page);
        };
        page.rows.extend(passing(reader, filter, &ids).await?);
        if page.rows.len() > full {
            page.rows.truncate(full);
            page.next = page.rows.last().map(|row| row.id);
            return Ok(page);
        }
        if ids.len() < usize::try_from(chunk).unwrap_or(usize::MAX) {
            return Ok(page);
        }
        if give_up.is_some_and(|give_up| Instant::now() >= give_up) {
            page.next = Some(last);
            return Ok(page);
        }
        span.below = last;
        chunk = (chunk * 2).min(MOST);
    }
}

async fn candidates(
    reader: &Reader,
    source: &Source,
    filter: &HistoryFilter,
    span: Span,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    if *source == Source::Text {
        let span = (span.above, span.below);
        return search_index::matching(reader, &filter.text, span, limit).await;
    }
    let Some(mut query) = source.query(span, limit) else {
        return Ok(Vec::new());
    };
    Ok(query.build_query_scalar().fetch_all(&reader.0).await?)
}

/// Those of the candidates for which everything holds, newest first.
async fn passing(
    reader: &Reader,
    filter: &HistoryFilter,
    ids: &[i64],
) -> Result<Vec<LineRow>, StoreError> {
    let list = serde_json::Value::from(ids).to_string();
    let mut query = select(false);
    query.push(" AND r.id IN (SELECT value FROM json_each(");
    query.push_bind(list);
    query.push("))");
    narrow(&mut query, filter);
    let mut rows: Vec<LineRow> = query.build_query_as().fetch_all(&reader.0).await?;
    rows.sort_unstable_by_key(|row| std::cmp::Reverse(row.id));
    Ok(rows)
}

/// All of the filter but its text, which only the index of words can tell.
fn narrow(query: &mut QueryBuilder<Sqlite>, filter: &HistoryFilter) {
    let words = [
        (" AND r.ws = ", &filter.workspace),
        (" AND r.agent = ", &filter.agent),
        (" AND r.tool = ", &filter.tool),
        (" AND r.risk = ", &filter.risk),
        (" AND r.verdict = ", &filter.verdict),
        (" AND r.origin = ", &filter.origin),
        (" AND d.rule_id = ", &filter.rule),
    ];
    for (condition, value) in words {
        if let Some(value) = value {
            query.push(condition);
            query.push_bind(value.clone());
        }
    }
    if let Some(state) = filter.state {
        query.push(" AND r.state = ");
        query.push_bind(state.as_str());
    }
    if let Some(signers) = &filter.signers {
        query.push(" AND d.key IN (SELECT value FROM json_each(");
        query.push_bind(serde_json::Value::from(signers.as_slice()).to_string());
        query.push("))");
    }
    if let Some(since) = filter.since {
        query.push(" AND r.stored_at >= ");
        query.push_bind(since.0);
    }
    if let Some(until) = filter.until {
        query.push(" AND r.stored_at < ");
        query.push_bind(until.0);
    }
}
