//! The traces that were last written to, page by page.

use std::ops::ControlFlow;

use crate::Fault;
pub use crate::domain::facts::TraceLine;
use crate::runtime::App;
use crate::store::span_bodies::{self, WholeSpan};
use crate::store::traces::{self, LOOKED_AT};

/// A page of traces.
#[derive(Debug, Clone)]
pub struct Traces {
    /// The one last written to first.
    pub lines: Vec<TraceLine>,
    /// What [`App::traces`] takes for the next page; none at the end.
    pub next: Option<i64>,
}

impl App {
    /// The traces that were last written to, at most `limit`, from the one before `before` on.
    pub async fn traces(&self, before: Option<i64>, limit: i64) -> Result<Traces, Fault> {
        let reader = self.reader();
        let rows = traces::page(reader, before, limit).await?;
        let full = i64::try_from(rows.len()).is_ok_and(|count| count >= limit);
        let next = rows.last().filter(|_| full).map(|row| row.seen);
        let mut lines = Vec::with_capacity(rows.len());
        for row in rows {
            // None where retention took the last span meanwhile.
            if let Some(mut figures) = traces::figures(reader, &row.trace_id).await? {
                let longer = figures.spans > LOOKED_AT;
                figures.spans = figures.spans.min(LOOKED_AT);
                lines.push(TraceLine {
                    row: row.id,
                    figures,
                    longer,
                });
            }
        }
        Ok(Traces { lines, next })
    }

    /// The trace id of a row of the list.
    pub async fn trace_of_row(&self, row: i64) -> Result<String, Fault> {
        traces::trace_id(self.reader(), row)
            .await?
            .ok_or_else(|| Fault::unknown("the trace; retention may have removed it", "history"))
    }

    /// One span with its payload.
    pub async fn span(&self, id: i64) -> Result<WholeSpan, Fault> {
        span_bodies::one(self.reader(), id)
            .await?
            .ok_or_else(|| Fault::unknown("the span; retention may have removed it", "history"))
    }

    /// Hands the payload of each span to `each`, one at a time and in their order, until it breaks.
    /// Returns whether all were read.
    pub async fn each_span_body(
        &self,
        ids: &[i64],
        each: impl FnMut(i64, &[u8]) -> ControlFlow<()>,
    ) -> Result<bool, Fault> {
        Ok(span_bodies::each(self.reader(), ids, each).await?)
    }
}
