//! Feeds that are strictly in the order of the log: syslog and files.

use std::collections::VecDeque;
use std::time::Duration;

use countersign_store::feed_events;
use tokio::time::sleep;
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
    /// What is written counts as taken after so long without a loss, ms.
    const SURE_AFTER: i64;
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
        };
        sending.run(&mut sink, stop).await;
    }
}

struct Sending<'a, D> {
    desk: &'a D,
    feed: &'a Feed,
    place: Place,
    source: Source,
    rest: Rest,
    /// Up to which row, when it was written, and how many events.
    unsure: VecDeque<(i64, i64, u64)>,
    changes: Changes,
}

impl<D: Desk> Sending<'_, D> {
    /// Until the stop, or until a command has changed the feed.
    async fn run<S: Sink>(&mut self, sink: &mut S, stop: &CancellationToken) {
        let mut is_away = self.again(sink).await;
        loop {
            let now = self.desk.now();
            let (mut more, mut idle) = (false, true);
            if self.rest.until().is_none_or(|until| until <= now) && is_away.is_none() {
                match self.step(sink).await {
                    Ok(wrote) => (more, idle) = (wrote, self.unsure.is_empty()),
                    Err(word) => is_away = Some(word),
                }
            }
            if let Some(word) = is_away.take() {
                self.away(word);
            }
            self.settle(S::SURE_AFTER);
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
                () = stop.cancelled() => {}
                word = sink.lost(), if !self.unsure.is_empty() => is_away = Some(word),
                () = self.desk.changed(), if idle => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Sends what a command wants to be sent again by its id.
    async fn again<S: Sink>(&mut self, sink: &mut S) -> Option<&'static str> {
        let kept = feed_events::of_feed(self.desk.store(), &self.feed.name).await;
        for kept in kept.unwrap_or_default() {
            if let Ok(Some(event)) = of_kept(self.desk, &kept).await
                && let Err(word) = sink.write(&[event]).await
            {
                return Some(word);
            }
            self.changes.settled.push(kept.id);
        }
        None
    }

    /// Writes the next events. Returns whether there may be more.
    async fn step<S: Sink>(&mut self, sink: &mut S) -> Result<bool, &'static str> {
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
                Some((to, ..)) => *to = self.source.read_to,
                None => self.place.settle_to(self.source.read_to),
            }
            return Ok(more);
        }
        sink.write(&events).await?;
        let count = events.len() as u64;
        self.unsure
            .push_back((self.source.read_to, self.desk.now(), count));
        Ok(more)
    }

    fn settle(&mut self, sure_after: i64) {
        let now = self.desk.now();
        while let Some((to, _, count)) = self
            .unsure
            .pop_front_if(|(_, at, _)| *at + sure_after <= now)
        {
            tries::count(&self.feed.name, "taken", count);
            self.place.settle_to(to);
            self.place.state(false, &None, Some(now));
            self.rest.end();
            self.changes.failing = Some(false);
        }
    }

    fn away(&mut self, word: &str) {
        let lost: u64 = self.unsure.drain(..).map(|(.., count)| count).sum();
        tries::count(&self.feed.name, "away", lost.max(1));
        self.source = Source::new(self.place.row.cursor, self.place.replay());
        if self.rest.begin(self.desk.now(), None) {
            self.changes.failing = Some(true);
        }
        self.place.state(true, &Some(word.to_owned()), None);
    }
}
