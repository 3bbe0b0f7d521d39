//! Table `traces`: which trace was written to last, and what a list says of each.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::{Reader, StoreError, sql};
pub use crate::domain::facts::TraceFigures;

/// Spans looked at for the line of one trace; a longer one is said to be longer.
pub const LOOKED_AT: i64 = 1_000;

/// A trace in the list.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct TraceRow {
    /// Row number.
    pub id: i64,
    /// The agents' trace.
    pub trace_id: String,
    /// The higher, the later it was written to.
    pub seen: i64,
}

/// Notes that these traces were written to.
pub(super) fn touch<'a>(
    sqlite: &Connection,
    traces: impl DoubleEndedIterator<Item = &'a str>,
) -> rusqlite::Result<()> {
    // The last one that a batch names was written to last.
    let mut known = HashSet::new();
    let mut last_first: Vec<&str> = Vec::new();
    for trace in traces.rev() {
        if known.insert(trace) {
            last_first.push(trace);
        }
    }
    let mut last = sqlite.prepare_cached("SELECT coalesce(max(seen), 0) FROM traces")?;
    let mut seen: i64 = last.query_row([], |row| row.get(0))?;
    let mut touch = sqlite.prepare_cached(
        "INSERT INTO traces(trace_id, seen) VALUES (?1, ?2)
         ON CONFLICT(trace_id) DO UPDATE SET seen = excluded.seen",
    )?;
    for trace in last_first.into_iter().rev() {
        seen += 1;
        touch.execute(params![trace, seen])?;
    }
    Ok(())
}

/// The traces that were last written to, at most `limit`, from the one before `before` on.
pub async fn page(
    reader: &Reader,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<TraceRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT id, trace_id, seen FROM traces WHERE seen < ? ORDER BY seen DESC LIMIT ?",
    )
    .bind(before.unwrap_or(i64::MAX))
    .bind(limit)
    .fetch_all(&reader.0)
    .await?)
}

/// The trace of a row.
pub async fn trace_id(reader: &Reader, id: i64) -> Result<Option<String>, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT trace_id FROM traces WHERE id = ?")
            .bind(id)
            .fetch_optional(&reader.0)
            .await?,
    )
}

/// What a list says of a trace; none where it has no span.
pub async fn figures(reader: &Reader, trace_id: &str) -> Result<Option<TraceFigures>, StoreError> {
    let figures = "WITH part AS MATERIALIZED (
           SELECT id, ws, agent, parent_span_id, name, status, started_at, ended_at FROM spans
           WHERE trace_id = ?1 ORDER BY started_at, id LIMIT ?2)
         SELECT count(*) AS spans,
           coalesce((SELECT name FROM part
             ORDER BY coalesce(parent_span_id, '') <> '', started_at, id LIMIT 1), '') AS name,
           coalesce((SELECT group_concat(who, ' ') FROM
             (SELECT DISTINCT ws || '/' || agent AS who FROM part ORDER BY who)), '') AS agents,
           coalesce(min(started_at), 0) AS started_at,
           coalesce(max(max(started_at, coalesce(ended_at, started_at))), 0) AS last_at,
           count(*) FILTER (WHERE ended_at IS NULL) AS open,
           count(*) FILTER (WHERE status IN ('error', 'timeout', 'incomplete')) AS failed,
           (SELECT count(*) FROM (SELECT 1 FROM requests WHERE trace_id = ?1
             AND state IN ('pending', 'holding', 'queued') LIMIT ?2)) AS waiting
         FROM part";
    let trace_id = trace_id.to_owned();
    let read = reader.direct(move |sqlite| {
        sql::first(sqlite, figures, params![trace_id, LOOKED_AT + 1], |row| {
            Ok(TraceFigures {
                spans: row.get(0)?,
                name: row.get(1)?,
                agents: row.get(2)?,
                started_at: row.get(3)?,
                last_at: row.get(4)?,
                open: row.get(5)?,
                failed: row.get(6)?,
                waiting: row.get(7)?,
            })
        })
    });
    Ok(read.await?.filter(|found| found.spans > 0))
}

#[cfg(test)]
mod tests {
    use countersign_wire::AgentKey;

    use super::super::Writer;
    use super::super::pool::temporary;
    use super::super::spans::{self, NewSpan};
    use super::*;
    use crate::domain::Timestamp;

    fn span(trace: &str, number: i64, more: impl FnOnce(&mut NewSpan)) -> NewSpan {
        let agent: AgentKey = "acme/bot".parse().unwrap();
        let mut span = NewSpan {
            agent,
            trace_id: trace.into(),
            span_id: format!("s{number}"),
            parent_span_id: Some("s0".into()),
            name: format!("{trace} {number}"),
            kind: "tool",
            status: Some("ok"),
            started_at: 1_000 + number,
            ended_at: Some(1_005 + number),
            request_id: None,
            call_id: None,
            stream_seq: number,
            stored_at: Timestamp(number),
            body: b"{}".to_vec(),
        };
        more(&mut span);
        span
    }

    fn store(writer: &mut Writer, spans: &[NewSpan]) {
        let tx = writer.begin().unwrap();
        let spans: Vec<&NewSpan> = spans.iter().collect();
        spans::upsert(&tx, "e", &spans).unwrap();
        tx.commit().unwrap();
    }

    async fn listed(reader: &Reader, before: Option<i64>, limit: i64) -> Vec<String> {
        let rows = page(reader, before, limit).await.unwrap();
        rows.into_iter().map(|row| row.trace_id).collect()
    }

    #[tokio::test]
    async fn the_trace_that_was_written_to_last_comes_first_and_pages_have_no_gap() {
        let (_folder, mut writer, reader) = temporary().await;
        let first = [
            span("a", 1, |_| {}),
            span("b", 1, |_| {}),
            span("c", 1, |_| {}),
        ];
        store(&mut writer, &first);
        assert_eq!(listed(&reader, None, 9).await, ["c", "b", "a"]);
        store(
            &mut writer,
            &[
                span("a", 2, |_| {}),
                span("c", 2, |_| {}),
                span("a", 3, |_| {}),
            ],
        );
        assert_eq!(listed(&reader, None, 9).await, ["a", "c", "b"]);
        let mut paged = Vec::new();
        let mut before = None;
        while let Some(row) = page(&reader, before, 1).await.unwrap().pop() {
            before = Some(row.seen);
            assert_eq!(
                trace_id(&reader, row.id).await.unwrap().as_ref(),
                Some(&row.trace_id)
            );
            paged.push(row.trace_id);
        }
        assert_eq!(paged, ["a", "c", "b"]);
    }

    #[tokio::test]
    async fn a_line_says_what_its_spans_say_and_is_named_after_its_root() {
        let (_folder, mut writer, reader) = temporary().await;
        let spans = [
            span("t", 1, |span| span.status = Some("error")),
            span("t", 2, |span| {
                span.agent = "acme/other".parse().unwrap();
                span.ended_at = None;
                span.status = Some("running");
            }),
            span("t", 9, |span| {
                span.parent_span_id = None;
                span.name = "the root".into();
                span.ended_at = Some(9_000);
            }),
        ];
        store(&mut writer, &spans);
        let figures = figures(&reader, "t").await.unwrap().unwrap();
        assert_eq!(figures.name, "the root");
        assert_eq!(
            (figures.spans, figures.failed, figures.open, figures.waiting),
            (3, 1, 1, 0)
        );
        assert_eq!((figures.started_at, figures.last_at), (1_001, 9_000));
        assert_eq!(figures.agents, "acme/bot acme/other");
        assert!(super::figures(&reader, "nothing").await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_long_trace_is_looked_at_up_to_a_limit() {
        let (_folder, mut writer, reader) = temporary().await;
        let many: Vec<NewSpan> = (0..LOOKED_AT + 50)
            .map(|number| span("t", number, |_| {}))
            .collect();
        store(&mut writer, &many);
        let figures = figures(&reader, "t").await.unwrap().unwrap();
        assert_eq!(figures.spans, LOOKED_AT + 1);
    }

    #[tokio::test]
    async fn a_trace_goes_with_its_last_span() {
        let (_folder, mut writer, reader) = temporary().await;
        store(&mut writer, &[span("a", 1, |_| {}), span("a", 2, |_| {})]);
        for (span, left) in [("s1", 1), ("s2", 0)] {
            let gone = writer.execute("DELETE FROM spans WHERE span_id = ?", [span]);
            gone.unwrap();
            assert_eq!(listed(&reader, None, 9).await.len(), left, "{span}");
        }
    }
}
