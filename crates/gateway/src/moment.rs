//! Moments that survive a restart of the process and of the machine.

use std::sync::LazyLock;

use countersign_wire::Timestamp;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// When something was: `ticks` is the clock that counts sleep, in seconds, and says something on the boot of this id
/// alone; `wall` is the wall clock, in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moment {
    pub(crate) boot: Option<String>,
    pub(crate) ticks: Option<f64>,
    pub(crate) wall: f64,
}

/// The id of this boot.
static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    boot.map(|id| id.trim().to_owned())
});

impl Moment {
    pub(crate) fn now() -> Self {
        #[cfg(target_os = "linux")]
        let clock = ClockId::CLOCK_BOOTTIME;
        #[cfg(not(target_os = "linux"))]
        let clock = ClockId::CLOCK_MONOTONIC;
        let ticks = clock_gettime(clock).ok().map(std::time::Duration::from);
        Self {
            boot: BOOT.clone(),
            ticks: ticks.map(|ticks| ticks.as_secs_f64()),
            wall: wall(),
        }
    }

    /// Seconds from `earlier` until this one; none where the clock that both have went back.
    pub(crate) fn since(&self, earlier: &Self) -> Option<f64> {
        let passed = match (self.ticks, earlier.ticks) {
            (Some(now), Some(then)) if self.boot.is_some() && self.boot == earlier.boot => {
                now - then
            }
            _ => self.wall - earlier.wall,
        };
        (passed >= 0.0).then_some(passed)
    }

    /// Whether the wall clock was set back since `earlier`, by more than a clock that is corrected goes back.
    pub(crate) fn is_set_back_since(&self, earlier: &Self) -> bool {
        let passed = self.since(earlier);
        passed.is_none_or(|passed| self.wall - earlier.wall < passed - 1.0)
    }

    /// For display, so many seconds later.
    pub(crate) fn after(&self, seconds: f64) -> Timestamp {
        let nanos = (self.wall + seconds) * 1e9;
        let at = OffsetDateTime::from_unix_timestamp_nanos(nanos as i128);
        Timestamp::new(at.unwrap_or(OffsetDateTime::UNIX_EPOCH))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the agent's own clock; the one that counts sleep goes before it on the same boot"
)]
fn wall() -> f64 {
    OffsetDateTime::now_utc().unix_timestamp_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_count_on_one_boot_and_the_wall_clock_after_another() {
        let at = |boot: &str, ticks: f64, wall: f64| Moment {
            boot: Some(boot.to_owned()),
            ticks: Some(ticks),
            wall,
        };
        let then = at("a", 10.0, 1000.0);
        for (now, passed, set_back) in [
            (at("a", 15.0, 1005.0), Some(5.0), false),
            (at("a", 15.0, 900.0), Some(5.0), true),
            (at("a", 15.0, 2000.0), Some(5.0), false),
            (at("a", 9.0, 1005.0), None, true),
            (at("b", 1.0, 1005.0), Some(5.0), false),
            (at("b", 1.0, 900.0), None, true),
        ] {
            assert_eq!(now.since(&then), passed, "{now:?}");
            assert_eq!(now.is_set_back_since(&then), set_back, "{now:?}");
        }
    }
}
