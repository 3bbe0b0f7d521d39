//! Payloads of spans, as received.
//!
//! Some megabytes at most are in memory: a trace of 20,000 spans may be many gigabytes.

use std::ops::ControlFlow;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::spans::span_row;
use super::{Reader, StoreError, sql};
pub use crate::domain::facts::WholeSpan;

/// Bytes of payloads in memory at the same time; one more payload may be.
const AT_ONCE: usize = 4 * 1024 * 1024;

/// One span with its payload.
pub async fn one(reader: &Reader, id: i64) -> Result<Option<WholeSpan>, StoreError> {
    let span =
        "SELECT id, ws, agent, span_id, parent_span_id, name, kind, status, started_at, ended_at,
         request_id, call_id, trace_id, body FROM spans WHERE id = ?";
    let read = reader.direct(move |sqlite| {
        sql::first(sqlite, span, [id], |row| {
            Ok(WholeSpan {
                row: span_row(row)?,
                trace_id: row.get(12)?,
                body: row.get(13)?,
            })
        })
    });
    read.await
}

/// Hands the payload of each row to `each`, one at a time and in their order, until it breaks. Returns
/// whether all were read.
pub async fn each(
    reader: &Reader,
    ids: &[i64],
    mut each: impl FnMut(i64, &[u8]) -> ControlFlow<()>,
) -> Result<bool, StoreError> {
    let ids: Arc<[i64]> = ids.into();
    let mut done = 0;
    while done < ids.len() {
        let (all, from) = (Arc::clone(&ids), done);
        let bodies = reader.direct(move |sqlite| some(sqlite, all.iter().skip(from)));
        for (id, body) in bodies.await? {
            done += 1;
            // None where retention took it meanwhile.
            if let Some(body) = body
                && each(id, &body).is_break()
            {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The payloads of the next rows, as many as fit.
fn some<'i>(
    sqlite: &Connection,
    ids: impl Iterator<Item = &'i i64>,
) -> rusqlite::Result<Vec<(i64, Option<Vec<u8>>)>> {
    let mut select = sqlite.prepare("SELECT body FROM spans WHERE id = ?")?;
    let (mut bodies, mut bytes) = (Vec::new(), 0);
    for id in ids {
        let body: Option<Vec<u8>> = select.query_row([id], |row| row.get(0)).optional()?;
        bytes += body.as_ref().map_or(0, Vec::len);
        bodies.push((*id, body));
        if bytes >= AT_ONCE {
            break;
        }
    }
    Ok(bodies)
}
