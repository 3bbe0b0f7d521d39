//! The parts of the bus which only exist on Unix: private folders, signals, and the clock that also
//! runs while the machine sleeps.
//!
//! A server never outlives its owner: on Linux the kernel ends it when the thread that started it ends.

use shared_child::SharedChild;
use shared_child::unix::SharedChildExt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

pub(super) use nix::sys::signal::Signal;

/// Creates the folder and its parents, readable by this user only.
pub(super) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(super) fn signal(child: &SharedChild, signal: Signal) -> io::Result<()> {
    child.send_signal(signal as i32)
}

/// Nanoseconds since the machine started, sleep included where the system counts it.
pub(super) fn time_since_boot() -> i64 {
    #[cfg(target_os = "linux")]
    let clock = ClockId::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::CLOCK_MONOTONIC;
    nanoseconds(clock)
}

/// How long the machine has slept since it started, where the system counts it. An `Instant` stops meanwhile.
#[must_use]
pub fn time_asleep() -> Duration {
    let awake = nanoseconds(ClockId::CLOCK_MONOTONIC);
    let asleep = time_since_boot().saturating_sub(awake);
    Duration::from_nanos(u64::try_from(asleep).unwrap_or(0))
}

fn nanoseconds(clock: ClockId) -> i64 {
    match clock_gettime(clock) {
        Ok(now) => now.tv_sec() * 1_000_000_000 + now.tv_nsec(),
        // Both clocks exist on every supported kernel; a stopped clock is the safe answer.
        Err(_) => 0,
    }
}

/// Has the kernel send SIGTERM to the child when the calling thread ends, however it ends.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(super) fn die_with_this_thread(command: &mut Command) {
    use nix::sys::prctl::set_pdeathsig;
    use nix::unistd::{Pid, getppid};
    use std::os::unix::process::CommandExt;
    let parent = Pid::this();
    // SAFETY: between fork and exec only the async-signal-safe system calls prctl and getppid are
    // made; nothing is allocated and no lock is taken.
    unsafe {
        command.pre_exec(move || {
            set_pdeathsig(Signal::SIGTERM)?;
            // The parent may have died before prctl, then nobody would send the signal.
            if getppid() != parent {
                return Err(io::Error::from_raw_os_error(
                    nix::errno::Errno::ESRCH as i32,
                ));
            }
            Ok(())
        });
    }
}

/// Without such a call in the system, the supervisor's drop is what ends the server.
#[cfg(not(target_os = "linux"))]
pub(super) fn die_with_this_thread(_command: &mut Command) {}
