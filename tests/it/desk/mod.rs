//! A data folder, the commands on it, a console in it, and agents.

mod agent;
mod console;
mod request;

pub(crate) use agent::Agent;
pub(crate) use console::{Console, Running};
pub(crate) use request::{Request, digest_of};

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use countersign_testkit::TempData;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::time::Instant;

/// Longer than anything here takes, also on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// What coding agents set for the processes that they start; below them the program refuses what decides.
pub(crate) const SET_BY_AGENTS: [&str; 5] = [
    "CLAUDECODE",
    "GEMINI_CLI",
    "CODEX_SANDBOX",
    "CURSOR_AGENT",
    "OPENCODE",
];

/// A data folder and the commands that work on it.
pub(crate) struct Desk {
    data: TempData,
    settings: Vec<(&'static str, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let data = TempData::new();
        std::fs::set_permissions(data.path(), Permissions::from_mode(0o700)).expect("our folder");
        Self {
            data,
            settings: Vec::new(),
        }
    }

    /// The same with a setting in the environment.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.data.path()
    }

    /// A command that inherits no setting of the person who runs the tests.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        for (name, _) in std::env::vars_os() {
            let ours = name.to_string_lossy().starts_with("COUNTERSIGN_");
            let by_agents = SET_BY_AGENTS.iter().any(|of| name == *of);
            if (ours && name != "COUNTERSIGN_NATS_SERVER") || name == "RUST_LOG" || by_agents {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .env("COUNTERSIGN_DATA_DIR", self.path())
            .env("COUNTERSIGN_OPERATOR", "Test Operator")
            // Never into the keychain of the person who runs the tests.
            .env("COUNTERSIGN_KEYS", "file")
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end, which it must reach in time.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ended {
        ended_in_time(self.command(arguments))
    }

    /// Runs a command that reads `input`.
    pub(crate) fn run_with(&self, input: &str, arguments: &[&str]) -> Ended {
        let mut child = self.start(arguments, Stdio::piped());
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin
            .write_all(input.as_bytes())
            .expect("the program reads");
        drop(stdin);
        ended(child.wait_with_output().expect("the program ends"))
    }

    /// Starts a command with its output in pipes.
    pub(crate) fn start(&self, arguments: &[&str], stdin: Stdio) -> std::process::Child {
        let mut command = self.command(arguments);
        command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("the program runs")
    }

    /// Runs a command that must do what it says; its JSON lines.
    pub(crate) fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        self.run(arguments).success().lines()
    }

    /// The same for a command that prints one object.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let mut lines = self.lines(arguments);
        assert_eq!(lines.len(), 1, "{arguments:?} prints one line");
        lines.remove(0)
    }

    /// `show` once it holds; fails with what it last said.
    pub(crate) fn show_when(&self, id: &str, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(|| {
            let shown = self.run(&["show", id, "--json"]);
            let value = (shown.code == 0).then(|| shown.lines().remove(0));
            value.filter(|value| holds(value)).ok_or(shown)
        })
    }

    /// `show` once the request is in this state.
    pub(crate) fn show_in_state(&self, id: &str, state: &str) -> Value {
        self.show_when(id, |shown| shown["state"] == state)
    }
}

impl Ended {
    /// The same, if the command did what it says.
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        self.out.lines().map(parse).collect()
    }

    /// Code and message of an error under `--json`, after checking that it is one.
    pub(crate) fn error(&self) -> (i32, String, String) {
        let value: Value = serde_json::from_str(&self.err).unwrap_or_else(|_| panic!("{self:?}"));
        let fields: Vec<&str> = value
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(fields, ["error"], "{self:?}");
        let text = |name: &str| value["error"][name].as_str().expect("a text").to_owned();
        (self.code, text("code"), text("message"))
    }
}

/// Runs a command that must end within [`LIMIT`]; one that does not is killed, and said with what it
/// printed.
pub(crate) fn ended_in_time(mut command: Command) -> Ended {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program runs");
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    let (has_ended, end) = mpsc::sync_channel(1);
    let watch = std::thread::spawn(move || {
        let late = end.recv_timeout(LIMIT).is_err();
        // It fails only when it is gone already.
        late.then(|| kill(pid, Signal::SIGKILL)).is_some()
    });
    let output = child.wait_with_output().expect("the program ends");
    // The watch has gone only when it was late.
    let _ = has_ended.send(());
    let late = watch.join().expect("the watch ends");
    assert!(!late, "{command:?} does not end: {output:?}");
    ended(output)
}

pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code().expect("not ended by a signal"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Looks until there is a result; fails with what the last look saw.
pub(crate) fn eventually<T, E: std::fmt::Debug>(mut look: impl FnMut() -> Result<T, E>) -> T {
    let until = Instant::now() + LIMIT;
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) => assert!(Instant::now() < until, "it stays {seen:?}"),
        }
        pause();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is waited for happens in another process, which informs nobody"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}
