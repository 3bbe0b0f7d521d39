//! Pages in another order than that of arrival.

use std::cmp::Reverse;

use super::*;
use crate::domain::history::{Sort, SortBy};
use crate::history_sorted::{by_decision_sql, sorted_page};

#[tokio::test]
async fn an_order_by_decision_is_read_from_its_index_alone() {
    let (_folder, writer, _reader) = temporary().await;
    insert(&writer, &Fake::default());
    for (beyond, order) in [("<", "DESC"), (">", "ASC")] {
        let plan = plan(&writer, &by_decision_sql(beyond, order)).join("\n");
        assert!(
            plan.contains("SEARCH requests USING COVERING INDEX requests_by_decided")
                && !plan.contains("TEMP B-TREE"),
            "{plan}"
        );
    }
}

/// The rows that pass in the order that is asked for: what was decided, or nothing, beside the row's number.
fn wanted(fakes: &[Fake], filter: &HistoryFilter, sort: Sort) -> Vec<i64> {
    let all = (1_i64..).zip(fakes);
    let mut rows: Vec<(i64, &Fake)> = all.filter(|(_, fake)| passes(fake, filter)).collect();
    let decided = |fake: &Fake| fake.verdict.map(|_| fake.stored_at + fake.front);
    let rank = |fake: &Fake| ["low", "high"].iter().position(|risk| *risk == fake.risk);
    match (sort.by, sort.ascending) {
        (SortBy::Stored, true) => {}
        (SortBy::Stored, false) => rows.reverse(),
        (SortBy::Decided, ascending) => {
            let (mut first, mut last): (Vec<_>, Vec<_>) = rows
                .into_iter()
                .partition(|(_, fake)| fake.verdict.is_some());
            first.sort_by_key(|(id, fake)| (decided(fake), *id));
            if !ascending {
                first.reverse();
            }
            last.reverse();
            rows = first.into_iter().chain(last).collect();
        }
        (SortBy::Risk, true) => rows.sort_by_key(|(id, fake)| (rank(fake), Reverse(*id))),
        (SortBy::Risk, false) => rows.sort_by_key(|(id, fake)| Reverse((rank(fake), *id))),
    }
    rows.into_iter().map(|(id, _)| id).collect()
}

async fn all_pages(reader: &Reader, filter: &HistoryFilter, sort: Sort, limit: i64) -> Vec<i64> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        // Without time for a second look: pages end early, and still nothing is lost.
        let order = (sort, after);
        let found = sorted_page(reader, filter, order, limit, Some(Duration::ZERO));
        let found = found.await.unwrap();
        seen.extend(found.rows.iter().map(|row: &RequestSummary| row.id));
        match found.next {
            Some(next) => after = Some(next),
            None => return seen,
        }
    }
}

#[test]
fn pages_of_every_order_hold_each_request_that_passes_once() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let filters = (
        prop::sample::select(single_filters()),
        prop::sample::select(single_filters()),
    );
    let orders = prop::sample::select(vec![SortBy::Stored, SortBy::Decided, SortBy::Risk]);
    let orders = (orders, any::<bool>()).prop_map(|(by, ascending)| Sort { by, ascending });
    let asked = prop::collection::vec((filters, orders), 8);
    proptest!(ProptestConfig::with_cases(24), |(fakes in fakes(), asked in asked, limit in 1..5_i64)| {
        runtime.block_on(async {
            let (_folder, writer, reader) = temporary().await;
            for fake in &fakes {
                insert(&writer, fake);
            }
            for ((one, other), sort) in asked {
                let filter = both(one, other);
                let found = all_pages(&reader, &filter, sort, limit).await;
                assert_eq!(found, wanted(&fakes, &filter, sort), "{filter:?} {sort:?}");
            }
        });
    });
}
