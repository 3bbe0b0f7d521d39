//! Payloads of spans, as received.
//!
//! Refuses to hold more than one in memory: a trace of 20,000 spans may be many gigabytes.

use std::ops::ControlFlow;

use futures::TryStreamExt;
use sqlx::{QueryBuilder, Sqlite};

use super::bulk::pieces;
use super::spans::SpanRow;
use super::{Reader, StoreError};

/// A span with its payload.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct WholeSpan {
    /// The span.
    #[sqlx(flatten)]
    pub row: SpanRow,
    /// The agents' trace.
    pub trace_id: String,
    /// Payload as received.
    pub body: Vec<u8>,
}

/// One span with its payload.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn one(reader: &Reader, id: i64) -> Result<Option<WholeSpan>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT id, ws, agent, span_id, parent_span_id, name, kind, status, started_at, ended_at,
         request_id, call_id, trace_id, body FROM spans WHERE id = ?",
    )
    .bind(id)
    .fetch_optional(&reader.0)
    .await?)
}

/// Hands the payload of each row to `each`, one at a time and in no order, until it breaks. Returns
/// whether all were read.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn each(
    reader: &Reader,
    ids: &[i64],
    mut each: impl FnMut(i64, &[u8]) -> ControlFlow<()>,
) -> Result<bool, StoreError> {
    for piece in pieces(ids) {
        let mut query = QueryBuilder::<Sqlite>::new("SELECT id, body FROM spans WHERE id IN (");
        let mut list = query.separated(", ");
        for id in piece {
            list.push_bind(*id);
        }
        query.push(")");
        let mut rows = query.build_query_as::<(i64, Vec<u8>)>().fetch(&reader.0);
        while let Some((id, body)) = rows.try_next().await? {
            if each(id, &body).is_break() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
