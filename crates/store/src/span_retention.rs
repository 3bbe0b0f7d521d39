//! What retention finds and takes away of `spans`: a few rows of one block at a time.
//!
//! A block is removed only when the last write of all its rows is old enough.

use rusqlite::Connection;

use super::block_times::BLOCK;
use super::retention::Gone;
use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// Row numbers removed in one transaction, at most: a divisor of a block.
const PIECE: i64 = 128;

/// Spans whose row numbers follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanPiece {
    first: i64,
    before: Timestamp,
}

/// Whatever is older than this moment does not fit into `bytes`; none while everything fits.
pub async fn oversized_before(
    reader: &Reader,
    bytes: u64,
) -> Result<Option<Timestamp>, StoreError> {
    let blocks: Vec<(i64, i64)> =
        sqlx::query_as("SELECT block, last_at FROM span_times ORDER BY last_at DESC, block DESC")
            .fetch_all(&reader.0)
            .await?;
    let mut total = 0_u64;
    for (block, last_at) in blocks {
        let sum: i64 = sqlx::query_scalar(
            "SELECT coalesce(sum(length(body)), 0) FROM spans WHERE id >= ? AND id < ?",
        )
        .bind(block * BLOCK)
        .bind((block + 1) * BLOCK)
        .fetch_one(&reader.0)
        .await?;
        total = total.saturating_add(u64::try_from(sum).unwrap_or(0));
        if total > bytes {
            return Ok(Some(Timestamp(last_at).plus_ms(1)));
        }
    }
    Ok(None)
}

/// What may go, oldest first; at most `limit` pieces.
pub async fn find(
    reader: &Reader,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<SpanPiece>, StoreError> {
    let pieces = BLOCK / PIECE;
    let blocks: Vec<i64> =
        sqlx::query_scalar("SELECT block FROM span_times WHERE last_at < ? ORDER BY block LIMIT ?")
            .bind(before.0)
            .bind((limit / pieces).max(1))
            .fetch_all(&reader.0)
            .await?;
    let of_block = |block: i64| {
        (0..pieces).map(move |piece| SpanPiece {
            first: block * BLOCK + piece * PIECE,
            before,
        })
    };
    Ok(blocks.into_iter().flat_map(of_block).collect())
}

/// Removes a piece, and its block's times with the last of them; nothing when a span of the block was
/// written meanwhile. Each span is named by its trace.
pub fn remove(tx: &Connection, piece: &SpanPiece) -> Result<Vec<Gone>, StoreError> {
    let (block, before) = (piece.first / BLOCK, piece.before.0);
    let gone = sql::all(
        tx,
        "DELETE FROM spans WHERE id >= ? AND id < ?
         AND EXISTS (SELECT 1 FROM span_times WHERE block = ? AND last_at < ?)
         RETURNING trace_id, length(body)",
        [piece.first, piece.first + PIECE, block, before],
        Gone::read,
    )?;
    sql::change(
        tx,
        "DELETE FROM span_times WHERE block = ?1 AND last_at < ?2
         AND NOT EXISTS (SELECT 1 FROM spans WHERE id >= ?3 AND id < ?4)",
        [block, before, block * BLOCK, (block + 1) * BLOCK],
    )?;
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::super::spans::{self, NewSpan};
    use super::super::{Writer, temporary};
    use super::*;

    fn put(writer: &mut Writer, numbers: std::ops::Range<i64>, seq: i64, at: i64) {
        let spans: Vec<NewSpan> = numbers
            .map(|number| NewSpan {
                agent: "acme/bot".parse().unwrap(),
                trace_id: format!("t{}", number / 10),
                span_id: number.to_string(),
                parent_span_id: None,
                name: "step".into(),
                kind: "tool",
                status: None,
                started_at: 0,
                ended_at: None,
                request_id: None,
                call_id: None,
                stream_seq: seq + number,
                stored_at: Timestamp(at),
                body: vec![b' '; 100],
            })
            .collect();
        let spans: Vec<&NewSpan> = spans.iter().collect();
        let tx = writer.begin().unwrap();
        spans::upsert(&tx, "e", &spans).unwrap();
        tx.commit().unwrap();
    }

    fn remove_all(writer: &mut Writer, pieces: &[SpanPiece]) -> usize {
        let tx = writer.begin().unwrap();
        let mut count = 0;
        for piece in pieces {
            let gone = remove(&tx, piece).unwrap();
            assert!(gone.len() <= usize::try_from(PIECE).unwrap());
            count += gone.len();
        }
        tx.commit().unwrap();
        count
    }

    async fn left(reader: &Reader) -> (i64, i64, i64) {
        let sql = "SELECT (SELECT count(*) FROM spans), (SELECT count(*) FROM traces), (SELECT count(*) FROM span_times)";
        sqlx::query_as(sql).fetch_one(&reader.0).await.unwrap()
    }

    #[tokio::test]
    async fn a_block_goes_whole_once_its_last_write_is_old_enough() {
        let (_folder, mut writer, reader) = temporary().await;
        // Rows 1 to 1,023 are the first block, 1,024 to 2,047 the second, the rest the third.
        put(&mut writer, 0..1_023, 1, 100);
        put(&mut writer, 1_023..2_047, 1, 200);
        put(&mut writer, 2_047..2_500, 1, 300);
        let found = async |before| find(&reader, Timestamp(before), 10_000).await.unwrap();
        assert!(found(100).await.is_empty());
        let old = found(101).await;
        assert_eq!(old.len(), 8);
        // One of them is written again: the block stays, whatever was found before.
        put(&mut writer, 5..6, 9_000, 250);
        assert_eq!(remove_all(&mut writer, &old), 0);
        assert_eq!(left(&reader).await, (2_500, 250, 3));
        assert_eq!(remove_all(&mut writer, &found(201).await), 1_024);
        assert_eq!(remove_all(&mut writer, &found(251).await), 1_023);
        assert_eq!(left(&reader).await, (453, 46, 1));
        assert_eq!(remove_all(&mut writer, &found(301).await), 453);
        assert_eq!(left(&reader).await, (0, 0, 0));
    }

    #[tokio::test]
    async fn the_oldest_blocks_go_until_the_rest_has_the_size() {
        let (_folder, mut writer, reader) = temporary().await;
        put(&mut writer, 0..1_023, 1, 100);
        put(&mut writer, 1_023..2_047, 1, 200);
        put(&mut writer, 2_047..2_500, 1, 300);
        for (bytes, before) in [
            (250_000, None),
            (249_999, Some(101)),
            (147_700, Some(101)),
            (147_699, Some(201)),
            (0, Some(301)),
        ] {
            let found = oversized_before(&reader, bytes).await.unwrap();
            assert_eq!(found, before.map(Timestamp), "{bytes}");
        }
    }
}
