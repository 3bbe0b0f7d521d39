//! A process that is stopped and not merely about to be.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Stops every thread of a process; SIGCONT lets it go on.
///
/// The signal is only queued: on a busy machine a server answers for some milliseconds more.
pub fn halt(pid: Pid) {
    kill(pid, Signal::SIGSTOP).expect("the process is there");
    let until = Instant::now() + Duration::from_secs(10);
    while !stopped(pid) {
        assert!(Instant::now() < until, "process {pid} goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
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
