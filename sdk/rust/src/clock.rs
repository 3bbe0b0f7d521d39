//! The agent's own timer, and its wall clock for display.
//!
//! Deadlines do not use the wall clock: setting it must not lengthen one. The timer also counts while the machine
//! sleeps, because the server's deadline does.

use std::time::Duration;

use countersign_wire::Timestamp;

/// A timer that only ever gets shorter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    started: Option<Duration>,
    /// What had passed at the start, in an earlier process.
    passed: Duration,
    limit: Duration,
}

impl Timer {
    /// Starts now.
    pub(crate) fn start(limit: Duration) -> Self {
        Self::resume(limit, Duration::ZERO)
    }

    /// Starts with so much time passed already.
    pub(crate) fn resume(limit: Duration, passed: Duration) -> Self {
        Self {
            started: since_boot(),
            passed,
            limit,
        }
    }

    /// Since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        match (self.started, since_boot()) {
            (Some(started), Some(now)) => self.passed.saturating_add(now.saturating_sub(started)),
            // Without a clock every timer has run out, so nothing runs.
            _ => Duration::MAX,
        }
    }

    /// What is left; zero once it has run out.
    pub(crate) fn remaining(&self) -> Duration {
        self.limit.saturating_sub(self.elapsed())
    }

    /// Ends so long after the start, if that is earlier.
    pub(crate) fn shorten(&mut self, limit: Duration) {
        self.limit = self.limit.min(limit);
    }
}

/// Sleep included where the system counts it.
#[cfg(unix)]
pub(crate) fn since_boot() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};
    #[cfg(target_os = "linux")]
    let clock = ClockId::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::CLOCK_MONOTONIC;
    clock_gettime(clock).map(Duration::from).ok()
}

/// Since the first call; the performance counter includes sleep.
#[cfg(not(unix))]
pub(crate) fn since_boot() -> Option<Duration> {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "tokio's clock can be paused")]
    Some(START.get_or_init(std::time::Instant::now).elapsed())
}

/// The agent's wall clock, for `requested_at` and `at`, which are only shown.
#[expect(
    clippy::disallowed_methods,
    reason = "the protocol shows the agent's own clock; nothing is judged by it"
)]
pub(crate) fn wall_clock() -> Timestamp {
    Timestamp::new(time::OffsetDateTime::now_utc())
}
