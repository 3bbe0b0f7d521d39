//! What retention finds, and what it takes away: payloads of requests that have ended, receipts,
//! messages that were set aside, and spans.
//!
//! The audit log, digests, decisions and requests that have not ended stay.

use rusqlite::{Connection, Row};

use super::span_retention::{self, SpanPiece};
use super::{Reader, StoreError, search_index, sql};
use crate::domain::Timestamp;
use crate::domain::retention::Kind;

/// Found in one look; the rest is found in the next.
const FOUND: i64 = 10_000;

/// One thing to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Row of `requests`.
    Request(i64),
    /// Key of `receipts`: workspace, agent, request, decision, stage.
    Receipt([String; 5]),
    /// Row of `quarantine`.
    Quarantined(i64),
    /// Rows of `spans`.
    Spans(SpanPiece),
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// `WS/AGENT/ID` of a request, `STREAM/SEQ` of a message that was set aside, the trace of a span.
    pub name: String,
    /// Bytes of its payload.
    pub bytes: i64,
}

impl Gone {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            name: row.get(0)?,
            bytes: row.get(1)?,
        })
    }
}

/// Whatever is older than this moment does not fit into `bytes`; none while everything fits.
pub async fn oversized_before(
    reader: &Reader,
    kind: Kind,
    bytes: u64,
) -> Result<Option<Timestamp>, StoreError> {
    let sql = match kind {
        Kind::Requests => {
            "SELECT max(at) FROM (SELECT stored_at AS at, sum(length(raw)) OVER
             (ORDER BY stored_at DESC, id DESC) AS total FROM requests) WHERE total > ?"
        }
        Kind::Receipts => {
            "SELECT max(at) FROM (SELECT at, sum(length(detail)) OVER
             (ORDER BY at DESC, stream_seq DESC) AS total FROM receipts) WHERE total > ?"
        }
        Kind::Quarantine => {
            "SELECT max(at) FROM (SELECT at, sum(length(raw)) OVER
             (ORDER BY at DESC, id DESC) AS total FROM quarantine) WHERE total > ?"
        }
        Kind::Spans => return span_retention::oversized_before(reader, bytes).await,
    };
    let newest: Option<i64> = sqlx::query_scalar(sql)
        .bind(i64::try_from(bytes).unwrap_or(i64::MAX))
        .fetch_one(&reader.0)
        .await?;
    Ok(newest.map(|at| Timestamp(at).plus_ms(1)))
}

/// What may go, oldest first where that costs nothing; at most 10,000.
pub async fn find(reader: &Reader, kind: Kind, before: Timestamp) -> Result<Vec<Item>, StoreError> {
    match kind {
        Kind::Requests => {
            let ids: Vec<i64> = sqlx::query_scalar(
                "SELECT r.id FROM requests r WHERE r.stored_at < ?
                 AND r.state IN ('decided', 'expired', 'withdrawn', 'rejected', 'void')
                 AND NOT EXISTS (SELECT 1 FROM removed gone WHERE gone.request = r.id)
                 AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.kind = 'decision' AND o.request = r.id
                                 AND o.state IN ('holding', 'queued'))
                 ORDER BY r.id LIMIT ?",
            )
            .bind(before.0)
            .bind(FOUND)
            .fetch_all(&reader.0)
            .await?;
            Ok(ids.into_iter().map(Item::Request).collect())
        }
        Kind::Receipts => {
            let keys: Vec<(String, String, String, String, String)> = sqlx::query_as(
                "SELECT ws, agent, request_id, decision_id, stage FROM receipts WHERE at < ? LIMIT ?",
            )
            .bind(before.0)
            .bind(FOUND)
            .fetch_all(&reader.0)
            .await?;
            let items = keys
                .into_iter()
                .map(|(ws, agent, request, decision, stage)| {
                    Item::Receipt([ws, agent, request, decision, stage])
                });
            Ok(items.collect())
        }
        Kind::Quarantine => {
            let ids: Vec<i64> =
                sqlx::query_scalar("SELECT id FROM quarantine WHERE at < ? ORDER BY id LIMIT ?")
                    .bind(before.0)
                    .bind(FOUND)
                    .fetch_all(&reader.0)
                    .await?;
            Ok(ids.into_iter().map(Item::Quarantined).collect())
        }
        Kind::Spans => {
            let pieces = span_retention::find(reader, before, FOUND).await?;
            Ok(pieces.into_iter().map(Item::Spans).collect())
        }
    }
}

/// Freed pages are overwritten from here on, until [`stop_erasing`].
pub fn start_erasing(tx: &Connection) -> Result<(), StoreError> {
    Ok(tx.pragma_update(None, "secure_delete", true)?)
}

/// Ends what [`start_erasing`] began: the hot path does not pay for it.
pub fn stop_erasing(tx: &Connection) -> Result<(), StoreError> {
    Ok(tx.pragma_update(None, "secure_delete", false)?)
}

/// Removes one thing; nothing when it is gone already or may not go any more.
pub fn remove(tx: &Connection, item: &Item, now: Timestamp) -> Result<Vec<Gone>, StoreError> {
    let gone = match item {
        Item::Request(id) => empty(tx, *id, now)?,
        Item::Spans(piece) => return span_retention::remove(tx, piece),
        Item::Receipt(key) => {
            let delete = "DELETE FROM receipts WHERE ws = ? AND agent = ? AND request_id = ?
                 AND decision_id = ? AND stage = ?
                 RETURNING ws || '/' || agent || '/' || request_id, length(detail)";
            sql::first(tx, delete, key.each_ref(), Gone::read)?
        }
        Item::Quarantined(id) => {
            let delete = "DELETE FROM quarantine WHERE id = ?
                 RETURNING stream || '/' || stream_seq, length(raw)";
            sql::first(tx, delete, [id], Gone::read)?
        }
    };
    Ok(gone.into_iter().collect())
}

fn empty(tx: &Connection, id: i64, now: Timestamp) -> Result<Option<Gone>, StoreError> {
    let gone = sql::first(
        tx,
        "SELECT iif(ws = '', request_id, ws || '/' || agent || '/' || request_id), length(raw)
         FROM requests WHERE id = ?
         AND state IN ('decided', 'expired', 'withdrawn', 'rejected', 'void')
         AND NOT EXISTS (SELECT 1 FROM removed WHERE request = requests.id)",
        [id],
        Gone::read,
    )?;
    if gone.is_some() {
        let empty = "UPDATE requests SET raw = x'', title = NULL WHERE id = ?";
        sql::change(tx, empty, [id])?;
        search_index::remove(tx, id)?;
        let note = "INSERT INTO removed(request, at) VALUES (?, ?)";
        sql::change(tx, note, [id, now.0])?;
    }
    Ok(gone)
}

/// When the payload of a request was removed, and the digest that it had; none while it is here.
pub fn removed(sqlite: &Connection, id: i64) -> Result<Option<(Timestamp, String)>, StoreError> {
    let removed = "SELECT removed.at, requests.request_digest FROM removed
         JOIN requests ON requests.id = removed.request WHERE removed.request = ?";
    sql::first(sqlite, removed, [id], |row| {
        Ok((Timestamp(row.get(0)?), row.get(1)?))
    })
}

/// Whether a request that the audit log says was emptied is empty, marked so, and still has the digest
/// that the log names.
pub async fn is_emptied(reader: &Reader, name: &str, digest: &str) -> Result<bool, StoreError> {
    let mut parts = name.splitn(3, '/');
    let (ws, agent, id) = match (parts.next(), parts.next(), parts.next()) {
        (Some(ws), Some(agent), Some(id)) => (ws, agent, id),
        _ => ("", "", name),
    };
    let found: Option<i64> = sqlx::query_scalar(
        "SELECT r.id FROM requests r JOIN removed ON removed.request = r.id
         WHERE r.ws = ? AND r.agent = ? AND r.request_id = ? AND r.raw = x'' AND r.request_digest = ?",
    )
    .bind(ws)
    .bind(agent)
    .bind(id)
    .bind(digest)
    .fetch_optional(&reader.0)
    .await?;
    Ok(found.is_some())
}
