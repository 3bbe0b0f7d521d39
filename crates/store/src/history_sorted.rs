//! Pages of the history in another order than that of arrival.
//!
//! SQLite never has to sort: each order is a sequence of parts, and each part the range of an index.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::history::{FIRST, MOST, page_towards, rows};
use super::history_narrow::passing;
use super::history_source::{Source, Span, Towards};
use super::request_list::RequestSummary;
use super::{Reader, StoreError, conditions};
use crate::domain::history::{Cursor, HistoryFilter, Sort, SortBy};

/// Risks, the highest first.
const RISKS: [&str; 5] = ["critical", "high", "medium", "low", "safe"];

/// A page in some order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SortedPage {
    /// In that order.
    pub rows: Vec<RequestSummary>,
    /// Where the next page begins; none at the end.
    pub next: Option<Cursor>,
}

/// A part of an order.
enum Part {
    /// What passes this filter, as it was stored.
    Stored(Box<HistoryFilter>, Towards),
    /// What was decided, by when.
    Decided(Towards),
}

fn parts(filter: &HistoryFilter, sort: Sort) -> Vec<Part> {
    let towards = match sort.ascending {
        true => Towards::Newer,
        false => Towards::Older,
    };
    match sort.by {
        SortBy::Stored => vec![Part::Stored(Box::new(filter.clone()), towards)],
        SortBy::Decided => {
            let undecided = HistoryFilter {
                undecided: true,
                ..filter.clone()
            };
            vec![
                Part::Decided(towards),
                Part::Stored(Box::new(undecided), Towards::Older),
            ]
        }
        SortBy::Risk => {
            let mut risks = RISKS.to_vec();
            if sort.ascending {
                risks.reverse();
            }
            let wanted = |risk: &&str| filter.risk.as_deref().is_none_or(|only| only == *risk);
            let of = |risk: &str| HistoryFilter {
                risk: Some(risk.to_owned()),
                ..filter.clone()
            };
            let parts = risks.into_iter().filter(wanted).map(of);
            parts
                .map(|of| Part::Stored(Box::new(of), Towards::Older))
                .collect()
        }
    }
}

/// The page of an order after a cursor, at most `limit` rows. Once `budget` is over, what was found by then is the page.
pub async fn sorted_page(
    reader: &Reader,
    filter: &HistoryFilter,
    (sort, after): (Sort, Option<Cursor>),
    limit: i64,
    budget: Option<Duration>,
) -> Result<SortedPage, StoreError> {
    let give_up = budget.map(|budget| Instant::now() + budget);
    let parts = parts(filter, sort);
    let first = after.map_or(0, |after| after.part);
    let mut page = SortedPage::default();
    for (part, of) in parts.iter().enumerate().skip(first) {
        let room = limit.saturating_sub_unsigned(u64::try_from(page.rows.len()).unwrap_or(0));
        // What came before was read to its end.
        if room == 0 || (part > first && give_up.is_some_and(|at| Instant::now() >= at)) {
            page.next = Some(begin(part, of));
            return Ok(page);
        }
        let after = after.filter(|after| after.part == part);
        let (found, next) = match of {
            Part::Stored(filter, towards) => {
                let after = (*towards, after.map(|after| after.id));
                let found = page_towards(reader, filter, after, room, give_up).await?;
                (found.rows, found.next.map(|id| (0, id)))
            }
            Part::Decided(towards) => {
                let begin = after.unwrap_or_else(|| begin(part, of));
                let after = (*towards, (begin.at, begin.id));
                decided(reader, filter, after, room, give_up).await?
            }
        };
        page.rows.extend(found);
        if let Some((at, id)) = next {
            page.next = Some(Cursor { part, at, id });
            return Ok(page);
        }
    }
    Ok(page)
}

/// The cursor before the first row of a part.
fn begin(part: usize, of: &Part) -> Cursor {
    let at = match of {
        Part::Stored(_, Towards::Older) | Part::Decided(Towards::Older) => i64::MAX,
        Part::Stored(_, Towards::Newer) | Part::Decided(Towards::Newer) => i64::MIN,
    };
    Cursor { part, at, id: at }
}

/// Rows by when they were decided, and behind which of them the next page begins.
async fn decided(
    reader: &Reader,
    filter: &HistoryFilter,
    (towards, mut after): (Towards, (i64, i64)),
    limit: i64,
    give_up: Option<Instant>,
) -> Result<(Vec<RequestSummary>, Option<(i64, i64)>), StoreError> {
    let full = usize::try_from(limit).unwrap_or(usize::MAX);
    let exact = Source::Rows(String::new()).is_exact(filter)
        && filter.since.is_none()
        && filter.until.is_none();
    let mut chunk = match exact {
        true => limit + 1,
        false => (limit * FIRST).clamp(64, MOST),
    };
    let mut found: Vec<(i64, i64)> = Vec::new();
    let next = loop {
        let begun = Instant::now();
        let some = by_decision(reader, (towards, after), chunk).await?;
        let passes = match exact {
            true => None,
            false => Some(those_that_pass(reader, filter, &some).await?),
        };
        let passing = some.iter().filter(|(_, id)| {
            let passes = passes.as_ref();
            passes.is_none_or(|passes| passes.contains(id))
        });
        found.extend(passing);
        if found.len() > full {
            found.truncate(full);
            break found.last().copied();
        }
        if i64::try_from(some.len()).unwrap_or(i64::MAX) < chunk {
            break None;
        }
        after = some.last().copied().unwrap_or(after);
        // The next look takes twice as many.
        let longer = begun.elapsed() * 2;
        if give_up.is_some_and(|give_up| Instant::now() + longer >= give_up) {
            break Some(after);
        }
        chunk = (chunk * 2).min(MOST);
    };
    let ids: Vec<i64> = found.into_iter().map(|(_, id)| id).collect();
    Ok((rows(reader, &ids).await?, next))
}

/// When rows were decided, with their numbers, in the order of that.
async fn by_decision(
    reader: &Reader,
    (towards, (at, id)): (Towards, (i64, i64)),
    limit: i64,
) -> Result<Vec<(i64, i64)>, StoreError> {
    let sql = match towards {
        Towards::Older => by_decision_sql("<", "DESC"),
        Towards::Newer => by_decision_sql(">", "ASC"),
    };
    let sql = sqlx::AssertSqlSafe(sql);
    let found = sqlx::query_as(sql).bind(at).bind(id).bind(limit);
    Ok(found.fetch_all(&reader.0).await?)
}

pub(super) fn by_decision_sql(beyond: &str, order: &str) -> String {
    format!(
        "SELECT decided_at, id FROM requests
         WHERE decided_at IS NOT NULL AND (decided_at, id) {beyond} (?, ?) AND {}
         ORDER BY decided_at {order}, id {order} LIMIT ?",
        conditions::no_probe("requests.id")
    )
}

async fn those_that_pass(
    reader: &Reader,
    filter: &HistoryFilter,
    rows: &[(i64, i64)],
) -> Result<HashSet<i64>, StoreError> {
    let ids: Vec<i64> = rows.iter().map(|(_, id)| *id).collect();
    let source = Source::Rows(serde_json::Value::from(ids).to_string());
    let all = Span {
        above: 0,
        below: i64::MAX,
    };
    let Some(mut query) = passing(&source, filter, all, -1, Towards::Older) else {
        return Ok(HashSet::new());
    };
    let passing: Vec<i64> = query.build_query_scalar().fetch_all(&reader.0).await?;
    Ok(passing.into_iter().collect())
}
