//! How SQLite finds the pages of the history, and that they are the right ones.

mod sorted;

use std::time::Duration;

use proptest::prelude::*;
use rusqlite::{ToSql, params};
use sqlx::QueryBuilder;

use super::plan;
use crate::domain::history::HistoryFilter;
use crate::domain::search::TextQuery;
use crate::domain::{State, Timestamp};
use crate::history::{Count, count, page};
use crate::history_narrow::passing;
use crate::history_source::{self, Source, Span, Towards};
use crate::request_list::{self, RequestSummary};
use crate::{Reader, Writer, sql, temporary};

const SPAN: Span = Span { above: 0, below: 9 };

fn some(word: &str) -> Option<String> {
    Some(word.to_owned())
}

/// One for each filter that a person can set.
fn single_filters() -> Vec<HistoryFilter> {
    let none = HistoryFilter::default;
    vec![
        none(),
        HistoryFilter {
            workspace: some("acme"),
            ..none()
        },
        HistoryFilter {
            agent: some("bot"),
            ..none()
        },
        HistoryFilter {
            workspace: some("acme"),
            agent: some("bot"),
            ..none()
        },
        HistoryFilter {
            tool: some("a"),
            ..none()
        },
        HistoryFilter {
            risk: some("high"),
            ..none()
        },
        HistoryFilter {
            states: Some(vec![State::Expired]),
            ..none()
        },
        HistoryFilter {
            states: Some(vec![State::Pending, State::Expired]),
            ..none()
        },
        HistoryFilter {
            states: Some(vec![State::Decided]),
            ..none()
        },
        HistoryFilter {
            verdicts: Some(vec!["deny".into()]),
            ..none()
        },
        HistoryFilter {
            verdicts: Some(vec!["deny".into(), "approve".into()]),
            ..none()
        },
        HistoryFilter {
            origins: Some(vec!["rule".into()]),
            ..none()
        },
        HistoryFilter {
            origins: Some(vec!["rule".into(), "setup_key".into()]),
            ..none()
        },
        HistoryFilter {
            overdue: true,
            ..none()
        },
        HistoryFilter {
            hasty: true,
            ..none()
        },
        HistoryFilter {
            signers: Some(vec!["U1".into(), "U2".into()]),
            ..none()
        },
        HistoryFilter {
            rule: some("r"),
            ..none()
        },
        HistoryFilter {
            since: Some(Timestamp(5)),
            until: Some(Timestamp(9)),
            ..none()
        },
        HistoryFilter {
            text: TextQuery::parse("word"),
            ..none()
        },
    ]
}

#[tokio::test]
async fn every_filter_is_a_range_of_an_index_that_has_the_order_of_the_page() {
    let (_folder, writer, reader) = temporary().await;
    for (ws, agent) in [("acme", "bot"), ("acme", "other"), ("labs", "bot")] {
        insert(
            &writer,
            &Fake {
                ws,
                agent,
                ..Fake::default()
            },
        );
    }
    for filter in single_filters() {
        let source = history_source::of(&reader, &filter).await.unwrap();
        for towards in [Towards::Older, Towards::Newer] {
            let mut query = QueryBuilder::new("");
            assert!(source.push(&mut query, SPAN, 9, towards), "{filter:?}");
            let plan = plan(&writer, query.sql().as_str()).join("\n");
            assert!(!plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
            for step in plan
                .lines()
                .filter(|step| step.contains("requests") || step.contains("decisions"))
            {
                let found = step.contains("SEARCH") || step.contains("VIRTUAL TABLE INDEX");
                assert!(found, "{filter:?}\n{plan}");
            }
            assert!(
                plan.contains("SEARCH") || matches!(source, Source::Text(_)),
                "{filter:?}\n{plan}"
            );
        }
    }
}

fn both(one: HistoryFilter, other: HistoryFilter) -> HistoryFilter {
    HistoryFilter {
        workspace: one.workspace.or(other.workspace),
        agent: one.agent.or(other.agent),
        tool: one.tool.or(other.tool),
        risk: one.risk.or(other.risk),
        states: one.states.or(other.states),
        verdicts: one.verdicts.or(other.verdicts),
        origins: one.origins.or(other.origins),
        hasty: one.hasty || other.hasty,
        overdue: one.overdue || other.overdue,
        undecided: one.undecided || other.undecided,
        signers: one.signers.or(other.signers),
        rule: one.rule.or(other.rule),
        since: one.since.or(other.since),
        until: one.until.or(other.until),
        text: if one.text.is_blank() {
            other.text
        } else {
            one.text
        },
    }
}

#[tokio::test]
async fn what_else_must_hold_is_told_by_indexes_and_by_rows_only_where_there_is_none() {
    let (_folder, writer, reader) = temporary().await;
    insert(&writer, &Fake::default());
    for one in single_filters() {
        for other in single_filters() {
            let filter = both(one.clone(), other);
            let source = history_source::of(&reader, &filter).await.unwrap();
            let query = passing(&source, &filter, SPAN, 9, Towards::Newer).unwrap();
            let plan = plan(&writer, query.sql().as_str()).join("\n");
            let whole =
                |step: &str| step.starts_with("SCAN x") || ["SCAN r", "SCAN d"].contains(&step);
            assert!(!plan.lines().any(whole), "{filter:?}\n{plan}");
            // What has no index that ends with the row number.
            let by_row = filter.since.is_some()
                || filter.states.as_deref() == Some(&[State::Decided])
                || filter.hasty
                || filter.overdue
                || filter.signers.is_some()
                || filter.workspace.is_some() != (filter.agent.is_some() || filter.tool.is_some());
            let indexed = plan
                .lines()
                .filter(|step| {
                    ["SEARCH x", "SEARCH r "]
                        .iter()
                        .any(|own| step.starts_with(own))
                })
                .all(|step| step.contains("COVERING INDEX"));
            assert!(by_row || indexed, "{filter:?}\n{plan}");
        }
    }
}

#[derive(Debug, Clone)]
struct Fake {
    ws: &'static str,
    agent: &'static str,
    tool: &'static str,
    risk: &'static str,
    verdict: Option<&'static str>,
    origin: &'static str,
    key: &'static str,
    rule: Option<&'static str>,
    stored_at: i64,
    front: i64,
    stall: Option<&'static str>,
    words: &'static str,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            ws: "acme",
            agent: "bot",
            tool: "a",
            risk: "low",
            verdict: None,
            origin: "operator",
            key: "U1",
            rule: None,
            stored_at: 1,
            front: 0,
            stall: None,
            words: "word",
        }
    }
}

fn insert(writer: &Writer, fake: &Fake) {
    let id: i64 = sql::value(
        writer,
        "INSERT INTO requests(ws, agent, request_id, tool, risk, allowed, approvals_required, request_digest,
         stream_epoch, stream_seq, stored_at, received_at, lifetime, deadline_at, state, verdict, origin, decided_at, delivery, raw)
         SELECT ?1, ?2, 'r' || n, ?3, ?4, 'deny', 1, 'd', 'e', n, ?5, 0, 0, 0, ?6, ?7, ?8, ?9, 'stored', x'7b7d'
         FROM (SELECT coalesce(max(id), 0) + 1 AS n FROM requests) RETURNING id",
        params![
            fake.ws,
            fake.agent,
            fake.tool,
            fake.risk,
            fake.stored_at,
            if fake.verdict.is_some() { "decided" } else { "expired" },
            fake.verdict,
            fake.verdict.map(|_| fake.origin),
            fake.verdict.map(|_| fake.stored_at + fake.front),
        ],
    )
    .unwrap();
    let put = |sql, row: &[&dyn ToSql]| assert_eq!(sql::change(writer, sql, row).unwrap(), 1);
    for sql in [
        "INSERT INTO request_text(request, hay) VALUES (?1, ?2)",
        "INSERT INTO requests_fts(rowid, hay) VALUES (?1, ?2)",
    ] {
        put(sql, params![id, fake.words]);
    }
    put(
        "INSERT INTO request_times(block, first_at, last_at) VALUES (?1 / 1024, ?2, ?2)
         ON CONFLICT DO UPDATE SET first_at = min(first_at, ?2), last_at = max(last_at, ?2)",
        params![id, fake.stored_at],
    );
    // A row that is still watched, and not overdue, is there too.
    put(
        "INSERT INTO stalls(request, code, look_at) VALUES (?1, ?2, 0)",
        params![id, fake.stall],
    );
    if fake.verdict.is_some() {
        // A digest that was looked at but not decided proves nothing.
        put(
            "INSERT INTO looked(request, decision_id, front_ms, read_ms, looked) VALUES (?1, 'd' || iif(?2 = 1, 0, ?1), ?2, 3, '{}')",
            params![id, fake.front],
        );
        put(
            "INSERT INTO decisions(decision_id, request, ws, agent, request_id, payload, key, rule_id, stream_epoch, stream_seq, stored_at)
             VALUES ('d' || ?1, ?1, ?2, ?3, 'r' || ?1, x'', ?4, ?5, 'e', ?1, 0)",
            params![id, fake.ws, fake.agent, fake.key, fake.rule],
        );
    }
}

fn fakes() -> impl Strategy<Value = Vec<Fake>> {
    let fake = (
        prop::sample::select(vec![("acme", "bot"), ("acme", "other"), ("labs", "bot")]),
        prop::sample::select(vec!["a", "b", "countersign_probe"]),
        prop::sample::select(vec!["low", "high"]),
        prop::sample::select(vec![None, Some("approve"), Some("deny")]),
        prop::sample::select(vec![
            ("operator", "U1", None),
            ("operator", "U2", None),
            ("rule", "U3", Some("r")),
        ]),
        (
            0..12_i64,
            0..6_i64,
            prop::sample::select(vec![
                None,
                Some("stalled_not_on_bus"),
                Some("stalled_not_executed"),
            ]),
        ),
        prop::sample::select(vec!["word", "other", "word other"]),
    );
    let fake = fake.prop_map(
        |(
            (ws, agent),
            tool,
            risk,
            verdict,
            (origin, key, rule),
            (stored_at, front, stall),
            words,
        )| Fake {
            ws,
            agent,
            tool,
            risk,
            verdict,
            origin,
            key,
            rule,
            stored_at,
            front,
            stall,
            words,
        },
    );
    prop::collection::vec(fake, 1..80)
}

fn passes(fake: &Fake, filter: &HistoryFilter) -> bool {
    let is = |wanted: &Option<String>, word: Option<&str>| {
        wanted.as_deref().is_none_or(|wanted| word == Some(wanted))
    };
    let any = |wanted: &Option<Vec<String>>, word: Option<&str>| {
        wanted
            .as_deref()
            .is_none_or(|wanted| wanted.iter().any(|wanted| word == Some(wanted)))
    };
    let decided = fake.verdict.is_some();
    let state = if decided {
        State::Decided
    } else {
        State::Expired
    };
    fake.tool != "countersign_probe"
        && is(&filter.workspace, Some(fake.ws))
        && is(&filter.agent, Some(fake.agent))
        && is(&filter.tool, Some(fake.tool))
        && is(&filter.risk, Some(fake.risk))
        && any(&filter.verdicts, fake.verdict)
        && any(&filter.origins, fake.verdict.map(|_| fake.origin))
        && is(&filter.rule, fake.rule.filter(|_| decided))
        && filter
            .states
            .as_ref()
            .is_none_or(|wanted| wanted.contains(&state))
        && (!filter.hasty || (decided && fake.front < 3 && fake.front != 1))
        && (!filter.overdue || fake.stall.is_some())
        && filter
            .signers
            .as_ref()
            .is_none_or(|keys| decided && keys.iter().any(|key| key == fake.key))
        && filter.since.is_none_or(|since| fake.stored_at >= since.0)
        && filter.until.is_none_or(|until| fake.stored_at < until.0)
        && filter
            .text
            .terms()
            .iter()
            .all(|term| fake.words.contains(&term.text))
}

async fn all_pages(reader: &Reader, filter: &HistoryFilter, limit: i64) -> Vec<i64> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        // Without time for a second look: pages end early, and still nothing is lost.
        let budget = Some(Duration::ZERO);
        let found = page(reader, filter, after, limit, budget).await.unwrap();
        seen.extend(found.rows.iter().map(|row: &RequestSummary| row.id));
        match found.next {
            Some(next) => after = Some(next),
            None => return seen,
        }
    }
}

#[test]
fn pages_hold_every_request_that_passes_once_and_newest_first() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let filters = (
        prop::sample::select(single_filters()),
        prop::sample::select(single_filters()),
    );
    proptest!(ProptestConfig::with_cases(24), |(fakes in fakes(), pairs in prop::collection::vec(filters, 6), limit in 1..5_i64)| {
        runtime.block_on(async {
            let (_folder, writer, reader) = temporary().await;
            for fake in &fakes {
                insert(&writer, fake);
            }
            for (one, other) in pairs {
                let filter = both(one, other);
                let wanted: Vec<i64> = (1..).zip(&fakes)
                    .filter(|(_, fake)| passes(fake, &filter))
                    .map(|(id, _)| id)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev()
                    .collect();
                let found = all_pages(&reader, &filter, limit).await;
                assert_eq!(found, wanted, "{filter:?}");
                let counted = count(&reader, &filter, Duration::from_secs(60)).await.unwrap();
                let requests = i64::try_from(wanted.len()).unwrap();
                assert_eq!(counted, Count { requests, whole: true }, "{filter:?}");
            }
            let whole = request_list::history(&reader, &request_list::Filter::default(), None, 1_000).await.unwrap();
            let shown = fakes.iter().filter(|fake| passes(fake, &HistoryFilter::default()));
            assert_eq!(whole.len(), shown.count());
        });
    });
}
