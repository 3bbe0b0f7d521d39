//! Where a feed is, as it is written: only what has changed, and not for every event.

use std::time::Duration;

use countersign_store::StoreError;
use countersign_store::feed_events::{self, KeptEvent};
use countersign_store::feeds::{self, FeedNote, FeedRow};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::Desk;
use crate::queue::Changes;
use crate::start::detail;

/// Between two writings of a cursor alone.
const WRITE: Duration = Duration::from_millis(250);
/// Commands are followed within 1 s.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
/// Between two removals of dead events that are too old or too many, if so many events were not kept before.
const PRUNE: Duration = Duration::from_secs(86_400);
const PRUNE_KEPT: usize = 1_000;

/// The row of a feed, as it is and as it is written.
pub(crate) struct Place {
    pub(crate) row: FeedRow,
    written: FeedRow,
    wrote_at: Instant,
    looked_at: Instant,
    pruned_at: Option<Instant>,
    kept_since: usize,
}

impl Place {
    /// Reads the row; none while it is not there, or until the stop.
    pub(crate) async fn read<D: Desk>(
        desk: &D,
        name: &str,
        stop: &CancellationToken,
    ) -> Option<Self> {
        while !stop.is_cancelled() {
            let rows = feeds::all(desk.store()).await.unwrap_or_default();
            if let Some(row) = rows.into_iter().find(|row| row.name == name) {
                let now = Instant::now();
                return Some(Self {
                    written: row.clone(),
                    row,
                    wrote_at: now,
                    looked_at: now,
                    pruned_at: None,
                    kept_since: 0,
                });
            }
            tokio::select! { () = sleep(LOOK) => {}, () = stop.cancelled() => {} }
        }
        None
    }

    /// What is sent again, and where it goes on then.
    pub(crate) fn replay(&self) -> Option<(i64, i64)> {
        self.row.replay_to.zip(self.row.resume_at)
    }

    /// Every row up to this one is settled.
    pub(crate) fn settle_to(&mut self, seq: i64) {
        self.row.cursor = seq;
        if let Some((last, resume)) = self.replay().filter(|(last, _)| seq >= *last) {
            (self.row.replay_to, self.row.resume_at) = (None, None);
            self.row.cursor = if seq == last { resume } else { seq.max(resume) };
        }
    }

    pub(crate) fn state(
        &mut self,
        resting: bool,
        last_error: &Option<String>,
        last_taken_at: Option<i64>,
    ) {
        let state = if resting { "resting" } else { "ok" };
        if self.row.state != state {
            state.clone_into(&mut self.row.state);
        }
        self.row.last_error.clone_from(last_error);
        self.row.last_taken_at = last_taken_at.or(self.row.last_taken_at);
    }

    /// Writes what has changed; it rests until that is durable. Nothing of it waits longer than a moment.
    pub(crate) async fn write<D: Desk>(
        &mut self,
        desk: &D,
        (changes, gone): (Changes, bool),
        now: bool,
        stop: &CancellationToken,
    ) {
        let is_urgent =
            now || changes != Changes::default() || self.row.state != self.written.state;
        if !is_urgent && (self.row == self.written || self.wrote_at.elapsed() < WRITE) {
            return;
        }
        let changed = (self.row != self.written).then(|| (self.row.clone(), self.row.revision));
        if changed.is_none() && changes == Changes::default() {
            return;
        }
        self.kept_since += changes.kept.len();
        let prunes =
            self.kept_since >= PRUNE_KEPT || self.pruned_at.is_none_or(|at| at.elapsed() >= PRUNE);
        let note = FeedNote {
            prunes,
            feed: self.row.name.clone(),
            row: changed,
            kept: changes.kept,
            settled: changes.settled,
            failing: changes.failing,
            audit: gone.then(|| (detail("disabled", &self.row.address), false)),
            ..FeedNote::default()
        };
        while !desk.note(note.clone()).await {
            tokio::select! { () = sleep(LOOK) => {}, () = stop.cancelled() => return }
        }
        if prunes {
            (self.pruned_at, self.kept_since) = (Some(Instant::now()), 0);
        }
        self.written = self.row.clone();
        self.wrote_at = Instant::now();
    }

    /// Whether a command has changed the feed meanwhile.
    pub(crate) async fn is_changed<D: Desk>(&mut self, desk: &D) -> bool {
        if self.looked_at.elapsed() < LOOK {
            return false;
        }
        self.looked_at = Instant::now();
        let rows = feeds::all(desk.store()).await.unwrap_or_default();
        rows.iter()
            .any(|row| row.name == self.row.name && row.revision != self.row.revision)
    }

    /// When to look again at the latest.
    pub(crate) fn look_in(&self) -> Duration {
        LOOK.saturating_sub(self.looked_at.elapsed())
            .max(Duration::from_millis(1))
    }
}

/// The events that are kept to be sent, and whether there are dead ones; none after the stop. A failed read is repeated:
/// to take it for an empty list would forget them.
pub(crate) async fn kept<D: Desk>(
    desk: &D,
    name: &str,
    stop: &CancellationToken,
) -> Option<(Vec<KeptEvent>, bool)> {
    while !stop.is_cancelled() {
        let read = async {
            let kept = feed_events::retrying(desk.store(), name).await?;
            Ok::<_, StoreError>((kept, feed_events::has_dead(desk.store(), name).await?))
        };
        match read.await {
            Ok(kept) => return Some(kept),
            Err(error) => tracing::warn!(feed = name, %error, "refused events cannot be read"),
        }
        tokio::select! { () = sleep(LOOK) => {}, () = stop.cancelled() => {} }
    }
    None
}
