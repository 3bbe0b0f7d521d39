//! Reads the audit log for a feed, from its cursor on.

use countersign_store::feed_events::KeptEvent;
use countersign_store::{LogSync, Reader, StoreError, audit, feed_log};

use crate::Desk;
use crate::config::Feed;
use crate::event::{Event, Sender, of_row};

/// Rows at a time: each is two events at most.
const ROWS: usize = 250;

/// The rows that were not read yet.
pub(crate) struct Source {
    /// The last one that was read.
    pub(crate) read_to: i64,
    replay: Option<(i64, i64)>,
    synced_to: i64,
}

impl Source {
    pub(crate) fn new(cursor: i64, replay: Option<(i64, i64)>) -> Self {
        Self {
            read_to: cursor,
            replay,
            synced_to: 0,
        }
    }

    /// Events of the next rows, about so many at most, and whether there may be more. All of them are on the disk.
    pub(crate) async fn read<D: Desk>(
        &mut self,
        desk: &D,
        feed: &Feed,
        most: usize,
    ) -> Result<(Vec<Event>, bool), StoreError> {
        let rows = feed_log::after(desk.store(), self.read_to, most.div_ceil(2).min(ROWS)).await?;
        let Some(last) = rows.last().map(|log| log.row.seq) else {
            return Ok((Vec::new(), false));
        };
        if last > self.synced_to {
            let head = audit::current_head(desk.store()).await?.seq;
            let log = LogSync::of(desk.store())?;
            let synced = tokio::task::spawn_blocking(move || log.sync()).await;
            synced
                .map_err(|_| StoreError::NotDurable("a wait for the disk ended".to_owned()))??;
            self.synced_to = head;
        }
        let last_again = self.replay.map_or(i64::MAX, |(last, _)| last);
        let rows = rows.iter().filter(|log| log.row.seq <= last_again);
        let events = rows
            .flat_map(|log| of_row(desk.sender(), log, |kind, of| feed.wants(kind, of)))
            .collect();
        self.read_to = match self.replay.take_if(|(again, _)| *again <= last) {
            Some((_, resume)) => resume.max(last_again),
            None => last,
        };
        Ok((events, true))
    }
}

/// The event of a kept one, made from its row.
pub(crate) async fn of_kept<D: Desk>(
    desk: &D,
    kept: &KeptEvent,
) -> Result<Option<Event>, StoreError> {
    let rows = feed_log::after(desk.store(), kept.seq - 1, 1).await?;
    let events = rows
        .iter()
        .flat_map(|log| of_row(desk.sender(), log, |kind, _| kind == kept.kind));
    let mut events = events.filter(|event| event.id == kept.id);
    Ok(events.next())
}

/// The events of a feed in rows after `seq` and up to `last`, oldest first.
///
/// # Errors
/// [`StoreError`].
pub async fn events_of(
    store: &Reader,
    (sender, feed): (&Sender, &Feed),
    (mut seq, last): (i64, i64),
    mut each: impl FnMut(&Event) -> bool,
) -> Result<(), StoreError> {
    while seq < last {
        let rows = feed_log::after(store, seq, ROWS).await?;
        let Some(newest) = rows.last().map(|log| log.row.seq) else {
            return Ok(());
        };
        let rows = rows.iter().filter(|log| log.row.seq <= last);
        for event in rows.flat_map(|log| of_row(sender, log, |kind, of| feed.wants(kind, of))) {
            if !each(&event) {
                return Ok(());
            }
        }
        seq = newest;
    }
    Ok(())
}

/// How many events behind the cursor are not settled, and the time of the oldest.
///
/// # Errors
/// [`StoreError`].
pub async fn pending(
    store: &Reader,
    of: (&Sender, &Feed),
    cursor: i64,
    replay: Option<(i64, i64)>,
) -> Result<(u64, Option<String>), StoreError> {
    let (mut count, mut oldest) = (0, None);
    let again = replay.map(|(last, _)| (cursor, last));
    let rest = (replay.map_or(cursor, |(_, resume)| resume), i64::MAX);
    for range in again.into_iter().chain([rest]) {
        let counted = events_of(store, of, range, |event| {
            count += 1;
            oldest.get_or_insert_with(|| event.at.clone());
            true
        });
        counted.await?;
    }
    Ok((count, oldest))
}
