//! The server's time, kept by a clock of this machine that nobody can set.
//!
//! The local wall clock is not used: deadlines are judged by the server's stamps (protocol, section 2), and an hour of
//! skew here must change nothing.

use super::unix::time_since_boot;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use time::OffsetDateTime;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The clock stops, instead of going back, by at most this, ns: two estimates of one clock differ. Where they differ by
/// more, the server's clock was set, and a clock that stopped until then would let everything expire that is asked
/// meanwhile.
const SLACK: i64 = 1_000_000_000;

/// One question to the server and its answer; nanoseconds since boot for the local side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) asked: i64,
    pub(super) answered: i64,
    /// Nanoseconds since 1970 by the server.
    pub(super) server: i64,
}

impl Sample {
    fn round_trip(&self) -> i64 {
        self.answered - self.asked
    }

    /// Server time minus time since boot, taking the answer as written half-way.
    fn offset(&self) -> i64 {
        self.server - (self.asked + self.round_trip() / 2)
    }
}

/// The offset of the sample with the shortest way.
pub(super) fn best_offset(samples: &[Sample]) -> Option<i64> {
    samples
        .iter()
        .filter(|sample| sample.round_trip() >= 0)
        .min_by_key(|sample| sample.round_trip())
        .map(Sample::offset)
}

/// The server's time; clones share one clock.
#[derive(Debug, Clone)]
pub struct ServerClock {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    offset: AtomicI64,
    /// The latest time returned.
    reported: AtomicI64,
    /// When the server was asked last.
    asked: RwLock<Instant>,
    /// Somebody waits for the server to be asked.
    wanted: Notify,
}

impl ServerClock {
    pub(super) fn new(offset: i64) -> Self {
        Self {
            shared: Arc::new(Shared {
                offset: AtomicI64::new(offset),
                reported: AtomicI64::new(i64::MIN),
                asked: RwLock::new(Instant::now()),
                wanted: Notify::new(),
            }),
        }
    }

    /// Has the server asked soon.
    pub fn want(&self) {
        self.shared.wanted.notify_one();
    }

    pub(super) async fn wanted(&self) {
        self.shared.wanted.notified().await;
    }

    /// When the server was asked last for the time returned now.
    pub fn asked(&self) -> Instant {
        *self.shared.asked.read()
    }

    /// Takes over what the server said when it was asked at this moment.
    pub(super) fn answered(&self, asked: Instant, offset: i64) {
        self.adjust(offset);
        *self.shared.asked.write() = asked;
    }

    fn adjust(&self, offset: i64) {
        let before = self.shared.offset.swap(offset, Ordering::Relaxed);
        let back = before.saturating_sub(offset);
        if back > SLACK {
            let seconds = back / 1_000_000_000;
            tracing::warn!(
                seconds,
                "the server's clock was set back; what is timed follows it"
            );
        }
    }

    /// The server's time, to within half of the shortest of three round trips at the last adjustment (every 30 s and
    /// after each reconnect). It never goes back by up to a second; by more it follows the server, whose clock was
    /// wrong.
    pub fn now(&self) -> OffsetDateTime {
        let nanos = self.at(time_since_boot());
        OffsetDateTime::from_unix_timestamp_nanos(nanos.into())
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    fn at(&self, since_boot: i64) -> i64 {
        let now = since_boot.saturating_add(self.shared.offset.load(Ordering::Relaxed));
        let follow =
            |reported: i64| (now > reported || reported.saturating_sub(now) > SLACK).then_some(now);
        let reported = &self.shared.reported;
        match reported.fetch_update(Ordering::Relaxed, Ordering::Relaxed, follow) {
            Ok(_) => now,
            Err(reported) => reported,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample(asked: i64, answered: i64, server: i64) -> Sample {
        Sample {
            asked,
            answered,
            server,
        }
    }

    #[test]
    fn the_shortest_round_trip_decides_and_half_of_it_is_taken_off() {
        let slow = sample(100, 900, 10_000);
        let fast = sample(1_000, 1_100, 11_050);
        assert_eq!(best_offset(&[slow, fast]), Some(10_000));
        assert_eq!(best_offset(&[fast, slow]), Some(10_000));
        assert_eq!(best_offset(&[]), None);
        assert_eq!(best_offset(&[sample(5, 4, 9)]), None);
    }

    #[test]
    fn the_clock_never_steps_back_and_catches_up_by_itself() {
        let clock = ServerClock::new(1_000);
        assert_eq!(clock.at(10), 1_010);
        clock.adjust(500);
        assert_eq!(clock.at(20), 1_010);
        assert_eq!(clock.at(509), 1_010);
        assert_eq!(clock.at(600), 1_100);
        clock.adjust(2_000);
        assert_eq!(clock.at(601), 2_601);
    }

    #[test]
    fn a_server_whose_clock_was_an_hour_ahead_is_followed_when_it_is_right_again() {
        let (second, hour) = (1_000_000_000, 3_600_000_000_000);
        let clock = ServerClock::new(hour);
        assert_eq!(clock.at(second), hour + second);
        clock.adjust(0);
        assert_eq!(clock.at(2 * second), 2 * second);
        assert_eq!(clock.at(3 * second), 3 * second);
        clock.adjust(-second);
        assert_eq!(
            clock.at(3 * second + 1),
            3 * second,
            "two estimates of one clock"
        );
    }

    #[test]
    fn it_moves_with_the_machine_and_not_with_the_wall_clock() {
        let server = 1_800_000_000_000_000_000;
        let clock = ServerClock::new(server - time_since_boot());
        let reported = clock.now().unix_timestamp_nanos() as i64 - server;
        assert!((0..5_000_000_000).contains(&reported), "{reported}");
    }
}
