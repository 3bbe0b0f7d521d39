//! Feeds that are strictly in the order of the log: syslog and files.

use std::collections::VecDeque;
use std::time::Duration;

use countersign_store::feed_events;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::config::Feed;
use crate::event::Event;
use crate::place::Place;
use crate::queue::Changes;
use crate::rest::Rest;
use crate::source::{Source, of_kept};
use crate::{Desk, tries};

/// Events that are written at once.
const BATCH: usize = 500;
/// What is written and not yet taken, in batches.
const UNSURE: usize = 1_000;
const TICK: Duration = Duration::from_millis(100);

/// Where events are written.
pub(crate) trait Sink {
    /// What is written counts as taken after so long without a loss.
    const SURE_AFTER: Duration;
    /// Writes all of them.
    async fn write(&mut self, events: &[Event]) -> Result<(), &'static str>;
    /// Returns when what was written may be lost.
    async fn lost(&mut self) -> &'static str;
}

/// Sends until it is stopped.
pub(crate) async fn run<D: Desk, S: Sink>(
    desk: &D,
    feed: &Feed,
    mut sink: S,
    stop: &CancellationToken,
) {
    while let Some(place) = Place::read(desk, &feed.name, stop).await {
        let source = Source::new(place.row.cursor, place.replay());
        let rest = Rest::new(&feed.name, &feed.rest_s);
        let mut sending = Sending {
            desk,
            feed,
            place,
            source,
            rest,
            unsure: VecDeque::new(),
            changes: Changes::default(),
            reported: None,
        };
        sending.run(&mut sink, stop).await;
    }
}

/// What is written and not yet taken.
struct Unsure {
    /// Up to which row.
    to: i64,
    /// When. Of a clock that nobody sets.
    at: Instant,
    /// How many events.
    count: u64,
    /// Those of them that are kept.
    kept: Vec<String>,
}

struct Sending<'a, D> {
    desk: &'a D,
    feed: &'a Feed,
    place: Place,
    source: Source,
    rest: Rest,
    unsure: VecDeque<Unsure>,
    changes: Changes,
    reported: Option<bool>,
}

impl<D: Desk> Sending<'_, D> {
    /// Until the stop, or until a command has changed the feed.
    async fn run<S: Sink>(&mut self, sink: &mut S, stop: &CancellationToken) {
        let (mut is_away, mut again) = (None, true);
        loop {
            let now = self.desk.now();
            self.rest.cap(now);
            let (mut more, mut idle) = (false, true);
            if self.rest.until().is_none_or(|until| until <= now) && is_away.is_none() {
                match self.step(sink, &mut again).await {
                    Ok(wrote) => (more, idle) = (wrote, self.unsure.is_empty()),
                    Err(word) => is_away = Some(word),
                }
            }
            // Before anything counts as taken.
            let looked_at = Instant::now();
            if is_away.is_none() && !self.unsure.is_empty() {
                is_away = lost_by_now(sink).await;
            }
            if let Some(word) = is_away.take() {
                self.away(word);
                again = true;
            }
            self.settle(S::SURE_AFTER, looked_at);
            let ends = stop.is_cancelled() || self.place.is_changed(self.desk).await;
            let changes = std::mem::take(&mut self.changes);
            self.place
                .write(self.desk, (changes, false), ends, stop)
                .await;
            if ends {
                return;
            }
            let pause = match (more, idle && self.rest.until().is_none()) {
                (true, _) => Duration::ZERO,
                (_, true) => self.place.look_in(),
                _ => TICK,
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                word = sink.lost(), if !self.unsure.is_empty() => is_away = Some(word),
                () = self.desk.changed(), if idle => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Sends what a command wants to be sent again by its id. Returns whether anything was written.
    async fn again<S: Sink>(&mut self, sink: &mut S) -> Result<bool, &'static str> {
        let kept = feed_events::retrying(self.desk.store(), &self.feed.name).await;
        let (mut events, mut ids) = (Vec::new(), Vec::new());
        for kept in kept.map_err(|_| "read")? {
            match of_kept(self.desk, &kept).await {
                Ok(Some(event)) => {
                    events.push(event);
                    ids.push(kept.id);
                }
                // Its row is gone with a store that was put back: nobody can send it.
                Ok(None) => self.changes.settled.push(kept.id),
                Err(_) => return Err("read"),
            }
        }
        if events.is_empty() {
            return Ok(false);
        }
        sink.write(&events).await?;
        self.unsure.push_back(Unsure {
            to: self.place.row.cursor,
            at: Instant::now(),
            count: events.len() as u64,
            kept: ids,
        });
        Ok(true)
    }

    /// Writes the next events. Returns whether there may be more.
    async fn step<S: Sink>(
        &mut self,
        sink: &mut S,
        again: &mut bool,
    ) -> Result<bool, &'static str> {
        if std::mem::take(again) && self.again(sink).await? {
            return Ok(self.rest.until().is_none());
        }
        // One at the end of a rest.
        let most = if self.rest.until().is_some() {
            1
        } else {
            BATCH
        };
        if self.unsure.len() >= UNSURE || most == 1 && !self.unsure.is_empty() {
            return Ok(false);
        }
        let read = self.source.read(self.desk, self.feed, most).await;
        let (events, more) = read.map_err(|_| "read")?;
        if events.is_empty() {
            // Rows that are not wanted are settled with what is before them.
            match self.unsure.back_mut() {
                Some(unsure) => unsure.to = self.source.read_to,
                None => self.place.settle_to(self.source.read_to),
            }
            return Ok(more);
        }
        sink.write(&events).await?;
        self.unsure.push_back(Unsure {
            to: self.source.read_to,
            at: Instant::now(),
            count: events.len() as u64,
            kept: Vec::new(),
        });
        Ok(more)
    }

    fn settle(&mut self, sure_after: Duration, now: Instant) {
        let is_sure = |unsure: &mut Unsure| unsure.at + sure_after <= now;
        while let Some(unsure) = self.unsure.pop_front_if(is_sure) {
            tries::count(&self.feed.name, "taken", unsure.count);
            self.place.settle_to(unsure.to);
            self.changes.settled.extend(unsure.kept);
            self.place.state(false, &None, Some(self.desk.now()));
            self.rest.end();
            self.report(false);
        }
    }

    fn away(&mut self, word: &str) {
        let lost: u64 = self.unsure.drain(..).map(|unsure| unsure.count).sum();
        tries::count(&self.feed.name, "away", lost.max(1));
        self.source = Source::new(self.place.row.cursor, self.place.replay());
        if self.rest.begin(self.desk.now(), None) {
            self.report(true);
        }
        self.place.state(true, &Some(word.to_owned()), None);
    }

    fn report(&mut self, failing: bool) {
        if self.reported.replace(failing) != Some(failing) {
            self.changes.failing = Some(failing);
        }
    }
}

/// What is known without a wait.
async fn lost_by_now<S: Sink>(sink: &mut S) -> Option<&'static str> {
    tokio::select! {
        biased;
        word = sink.lost() => Some(word),
        () = std::future::ready(()) => None,
    }
}
