//! A process that is stopped and not merely about to be.

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// About ten seconds.
const TRIES: u32 = 10_000;

/// Stops every thread of a process; SIGCONT lets it go on.
///
/// The signal is only queued: on a busy machine a server answers for some milliseconds more.
pub fn halt(pid: Pid) {
    kill(pid, Signal::SIGSTOP).expect("the process is there");
    let halted = (0..TRIES).any(|_| {
        // Its callers are tests with nothing else on this thread, some without a runtime.
        #[allow(clippy::disallowed_methods)]
        std::thread::sleep(Duration::from_millis(1));
        stopped(pid)
    });
    assert!(halted, "process {pid} goes on");
}

fn stopped(pid: Pid) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("a process of this machine");
    tasks.flatten().all(|task| {
        // A thread that ended meanwhile runs no more.
        let Ok(stat) = fs::read_to_string(task.path().join("stat")) else {
            return true;
        };
        // "pid (name) state …"; the name may hold anything.
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        state.is_some_and(|rest| rest.starts_with('T'))
    })
}
