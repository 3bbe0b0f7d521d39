//! A running `countersign serve`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use serde_json::Value;

use super::{Desk, eventually};

/// A process that is killed when the test ends.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).expect("a process id"));
        kill(pid, signal).expect("the process is there");
        if signal == Signal::SIGSTOP {
            // The signal is only queued; a busy machine lets the process run on for a while.
            waitpid(pid, Some(WaitPidFlag::WUNTRACED)).expect("a child that stopped");
        }
    }

    /// Waits for the end; the exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        eventually(|| self.0.try_wait().expect("a child").ok_or("running")).code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A console without a window.
pub(crate) struct Console {
    process: Running,
    out: BufReader<ChildStdout>,
    /// Its ready line.
    pub(crate) ready: Value,
}

impl Console {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(desk: &Desk) -> Self {
        let mut command = desk.command(&["serve"]);
        let log = std::fs::File::create(desk.path().join("serve.log")).expect("a log file");
        command.stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("the program runs");
        let out = child.stdout.take().expect("a pipe");
        let process = Running(child);
        let mut out = BufReader::new(out);
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        let ready = serde_json::from_str(&line).unwrap_or_else(|_| {
            let log = std::fs::read_to_string(desk.path().join("serve.log"));
            panic!("serve printed {line:?} and logged {log:?}")
        });
        Self {
            process,
            out,
            ready,
        }
    }

    pub(crate) fn url(&self) -> String {
        self.ready["nats_url"].as_str().expect("a URL").to_owned()
    }

    pub(crate) fn agent_json(&self) -> String {
        self.ready["agent_json"]
            .as_str()
            .expect("a path")
            .to_owned()
    }

    /// Sends it a signal that does not end it.
    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill9(mut self) {
        self.process.signal(Signal::SIGKILL);
        self.process.wait();
    }

    /// Asks it to end; exit code and whatever it printed after the ready line.
    pub(crate) fn stop(mut self, signal: Signal) -> (Option<i32>, String) {
        self.process.signal(signal);
        let code = self.process.wait();
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("UTF-8");
        (code, rest)
    }
}
