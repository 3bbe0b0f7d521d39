//! How many events of a feed are not settled, for a reader that asks again and again: counted on from where it was.

use std::collections::VecDeque;

use countersign_store::{Reader, StoreError, feed_events, feed_log, feeds};

use crate::config::Feed;
use crate::event::kinds_of;

/// Rows that are read at a time; a piece has at most twice as many.
const ROWS: usize = 250;

/// The backlog of one feed.
#[derive(Debug, Default)]
pub struct Backlog {
    again: Span,
    rest: Span,
}

impl Backlog {
    /// How many events are not settled, and the time of the oldest (RFC 3339). Of a long backlog less, until as many
    /// rows were read in later calls; each call takes what it reads from `rows`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn count(
        &mut self,
        store: &Reader,
        feed: &Feed,
        rows: &mut usize,
    ) -> Result<(u64, Option<String>), StoreError> {
        let all = feeds::all(store).await?;
        let Some(row) = all.into_iter().find(|row| row.name == feed.name) else {
            return Ok((0, None));
        };
        let (kept, first) = feed_events::count_retrying(store, &feed.name).await?;
        let mut count = u64::try_from(kept).unwrap_or(0);
        let mut oldest = Vec::new();
        if let Some(first) = first {
            let log = feed_log::light(store, first - 1, 1).await?;
            oldest.extend(log.into_iter().map(|log| log.row.at));
        }
        let replay = row.replay_to.zip(row.resume_at);
        let again = replay.map_or((0, 0), |(last, _)| (row.cursor, last));
        let rest = (replay.map_or(row.cursor, |(_, resume)| resume), i64::MAX);
        for (span, range) in [(&mut self.again, again), (&mut self.rest, rest)] {
            span.count(store, feed, range, rows).await?;
            count += span.pieces.iter().map(|piece| piece.count).sum::<u64>();
            oldest.extend(span.pieces.iter().find_map(|piece| piece.oldest.clone()));
        }
        Ok((count, oldest.into_iter().min()))
    }
}

/// Rows that were counted, one after the other.
#[derive(Debug, Default)]
struct Span {
    pieces: VecDeque<Piece>,
}

/// Rows after `from` and up to `to`.
#[derive(Debug)]
struct Piece {
    from: i64,
    to: i64,
    count: u64,
    oldest: Option<String>,
}

impl Span {
    async fn count(
        &mut self,
        store: &Reader,
        feed: &Feed,
        (from, last): (i64, i64),
        rows: &mut usize,
    ) -> Result<(), StoreError> {
        while self.pieces.pop_front_if(|piece| piece.to <= from).is_some() {}
        let is_other = self.pieces.front().is_some_and(|first| first.from > from)
            || self.pieces.back().is_some_and(|newest| newest.to > last);
        if is_other {
            self.pieces.clear();
        }
        if let Some(first) = self.pieces.pop_front_if(|first| first.from < from) {
            let piece = read(store, feed, (from, first.to, 2 * ROWS), rows).await?;
            self.pieces.push_front(piece);
        }
        while *rows > 0 {
            let newest = self.pieces.back().map_or(from, |newest| newest.to);
            if newest >= last {
                break;
            }
            let piece = read(store, feed, (newest, last, ROWS), rows).await?;
            if piece.to == newest {
                break;
            }
            let is_small = |newest: &Piece| newest.to - newest.from < ROWS as i64;
            match self.pieces.back_mut().filter(|newest| is_small(newest)) {
                Some(newest) => {
                    newest.to = piece.to;
                    newest.count += piece.count;
                    newest.oldest = newest.oldest.take().or(piece.oldest);
                }
                None => self.pieces.push_back(piece),
            }
        }
        Ok(())
    }
}

async fn read(
    store: &Reader,
    feed: &Feed,
    (from, last, most): (i64, i64, usize),
    rows: &mut usize,
) -> Result<Piece, StoreError> {
    let mut piece = Piece {
        from,
        to: from,
        count: 0,
        oldest: None,
    };
    let log = feed_log::light(store, from, most).await?;
    *rows = rows.saturating_sub(log.len());
    for log in log.iter().filter(|log| log.row.seq <= last) {
        let events = kinds_of(log, |kind, of| feed.wants(kind, of)).len() as u64;
        piece.count += events;
        piece.to = log.row.seq;
        if events > 0 && piece.oldest.is_none() {
            piece.oldest = Some(log.row.at.clone());
        }
    }
    Ok(piece)
}
