//! One clock for the agents' process and the console's.

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of the system's monotonic clock, which all processes of a machine share.
#[must_use]
pub fn monotonic_ns() -> i64 {
    // The clock exists on every Linux; zero would show in the figures at once.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| now.num_nanoseconds())
}
