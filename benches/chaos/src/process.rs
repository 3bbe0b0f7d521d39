//! One process that is kept running, and broken on purpose.
//!
//! An end that nobody asked for is noted, with what the process said last.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};

/// A process that cannot start is tried again this often.
const START_AGAIN: Duration = Duration::from_secs(1);
const END_LIMIT: Duration = Duration::from_secs(30);

/// Makes the command of the start with this number.
type Make = Box<dyn Fn(u64) -> anyhow::Result<Command>>;

/// A process, kept running while it is wanted.
pub(crate) struct Kept {
    name: String,
    make: Make,
    log: PathBuf,
    child: Option<Child>,
    wanted: bool,
    not_before: Instant,
    /// Whether it may end on its own, and badly, too.
    pub(crate) comes_and_goes: bool,
    /// Whether it was asked to end.
    retired: bool,
    pub(crate) starts: u64,
    /// Starts that were ended by force.
    pub(crate) killed: Vec<u64>,
    ready: Arc<Mutex<Option<Value>>>,
    /// Ends that nobody asked for.
    pub(crate) odd_ends: Vec<String>,
}

impl Kept {
    pub(crate) fn new(
        name: impl Into<String>,
        log: PathBuf,
        make: impl Fn(u64) -> anyhow::Result<Command> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            make: Box::new(make),
            log,
            child: None,
            wanted: false,
            not_before: Instant::now(),
            comes_and_goes: false,
            retired: false,
            starts: 0,
            killed: Vec::new(),
            ready: Arc::default(),
            odd_ends: Vec::new(),
        }
    }

    /// What it printed first since its last start.
    pub(crate) fn ready(&self) -> Option<Value> {
        self.ready.lock().ok().and_then(|ready| ready.clone())
    }

    pub(crate) fn runs(&self) -> bool {
        self.child.is_some()
    }

    fn pid(&self) -> Option<Pid> {
        let id = self.child.as_ref()?.id()?;
        i32::try_from(id).ok().map(Pid::from_raw)
    }

    /// Its process id, if it runs.
    pub(crate) fn pid_number(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    /// Sends a signal, if it runs.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // Fails only when it has just ended.
            let _ = kill(pid, signal);
        }
    }

    /// From now on it is to run.
    pub(crate) fn want(&mut self) {
        self.wanted = true;
        self.retired = false;
    }

    /// It is not started again once it has ended; an orderly end is not an odd one.
    pub(crate) fn retire(&mut self) {
        self.wanted = false;
        self.retired = true;
    }

    /// Ends it as `kill -9` does; it stays down until it is wanted again.
    pub(crate) async fn kill9(&mut self) -> anyhow::Result<()> {
        self.wanted = false;
        if let Some(mut child) = self.child.take() {
            self.killed.push(self.starts);
            child.kill().await?;
        }
        Ok(())
    }

    /// Asks it to end in order and waits; it stays down until it is wanted again.
    pub(crate) async fn stop(&mut self, limit: Duration) -> anyhow::Result<()> {
        self.wanted = false;
        self.signal(Signal::SIGCONT);
        self.signal(Signal::SIGTERM);
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        if timeout(limit, child.wait()).await.is_err() {
            self.odd_ends.push(format!(
                "{} did not end within {} s of SIGTERM",
                self.name,
                limit.as_secs()
            ));
            self.killed.push(self.starts);
            child.kill().await?;
        }
        Ok(())
    }

    /// As [`Self::stop`] with the limit of an orderly end.
    pub(crate) async fn stop_in_order(&mut self) -> anyhow::Result<()> {
        self.stop(END_LIMIT).await
    }

    /// Looks after it: notes an end, starts it if it is to run.
    pub(crate) fn look(&mut self) -> anyhow::Result<()> {
        if let Some(child) = &mut self.child
            && let Some(status) = child.try_wait()?
        {
            self.child = None;
            self.ended(status);
        }
        if self.wanted && self.child.is_none() && Instant::now() >= self.not_before {
            self.start()?;
        }
        Ok(())
    }

    fn ended(&mut self, status: ExitStatus) {
        self.not_before = Instant::now() + START_AGAIN;
        if self.comes_and_goes || (self.retired && status.success()) {
            return;
        }
        // A console may refuse to start while its disk is full or another process holds its folder.
        if self.retired || self.ready().is_some() {
            let last = last_line(&self.log);
            self.odd_ends
                .push(format!("{} ended with {status}: {last}", self.name));
        }
    }

    fn start(&mut self) -> anyhow::Result<()> {
        self.starts += 1;
        let mut command = (self.make)(self.starts)?;
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log: File = log.with_context(|| self.log.display().to_string())?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            let setting = name.to_string_lossy().starts_with("COUNTERSIGN_");
            let ours = command
                .as_std()
                .get_envs()
                .any(|(set, value)| set == name && value.is_some());
            if setting && !ours && name != "COUNTERSIGN_NATS_SERVER" {
                command.env_remove(name);
            }
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("{} does not start", self.name))?;
        let ready = Arc::new(Mutex::new(None));
        self.ready = Arc::clone(&ready);
        if let Some(out) = child.stdout.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(out).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    if let (Ok(mut ready), Ok(value)) = (ready.lock(), serde_json::from_str(&line))
                    {
                        ready.get_or_insert(value);
                    }
                }
            });
        }
        self.child = Some(child);
        Ok(())
    }
}

/// The end of a log, for a report.
pub(crate) fn last_line(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().last().unwrap_or("no word").to_owned()
}

/// This program's own command that ties a process to its parent.
pub(crate) fn tied() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["child", "--"]);
    Ok(command)
}
