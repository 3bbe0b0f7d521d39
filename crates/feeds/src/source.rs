//! Reads the audit log for a feed, from its cursor on.

use std::sync::Arc;

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
    log: Option<Arc<LogSync>>,
    behind: feed_log::Behind,
}

impl Source {
    pub(crate) fn new(cursor: i64, replay: Option<(i64, i64)>) -> Self {
        Self {
            read_to: cursor,
            replay,
            synced_to: 0,
            log: None,
            behind: feed_log::Behind::default(),
        }
    }

    /// Events of the next rows, about so many at most, and whether there may be more. All of them are on the disk.
    pub(crate) async fn read<D: Desk>(
        &mut self,
        desk: &D,
        feed: &Feed,
        most: usize,
    ) -> Result<(Vec<Event>, bool), StoreError> {
        let most = most.div_ceil(2).min(ROWS);
        let behind = &mut self.behind;
        let rows = feed_log::after_with(desk.store(), self.read_to, most, behind).await?;
        let Some(last) = rows.last().map(|log| log.row.seq) else {
            return Ok((Vec::new(), false));
        };
        let last_again = self.replay.map_or(i64::MAX, |(last, _)| last);
        let rows = rows.iter().filter(|log| log.row.seq <= last_again);
        let events: Vec<Event> = rows
            .flat_map(|log| of_row(desk.sender(), log, |kind, of| feed.wants(kind, of)))
            .collect();
        if !events.is_empty() && last > self.synced_to {
            self.sync(desk).await?;
        }
        self.read_to = match self.replay.take_if(|(again, _)| *again <= last) {
            Some((_, resume)) => resume.max(last_again),
            None => last,
        };
        Ok((events, true))
    }

    async fn sync<D: Desk>(&mut self, desk: &D) -> Result<(), StoreError> {
        let head = audit::current_head(desk.store()).await?.seq;
        let log = match self.log.take() {
            Some(log) => log,
            None => Arc::new(desk.store().log()?),
        };
        let synced = tokio::task::spawn_blocking(move || log.sync().map(|()| log)).await;
        let synced =
            synced.map_err(|_| StoreError::NotDurable("a wait for the disk ended".to_owned()))?;
        (self.log, self.synced_to) = (Some(synced?), head);
        Ok(())
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
    let mut behind = feed_log::Behind::default();
    while seq < last {
        let rows = feed_log::after_with(store, seq, ROWS, &mut behind).await?;
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
