//! The console under test as a child process, and its output.
//!
//! The child prints a ready line, then one line for each commit and each decision that it takes up;
//! it ends when its standard input does, so that nothing is left behind.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

use crate::{Login, RoundArgs};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// Reports that may wait: more than a phase makes.
const QUEUE: usize = 65_536;

/// What the console does with what arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Lists it, decides nothing.
    Keep,
    /// Approves it at once and reports nothing.
    Decide,
    /// The same by a rule of its own, where the console knows rules.
    ByRule,
    /// Approves it 5 ms after it is listed, and reports when.
    DecideLater,
}

impl Mode {
    /// How long it waits before it decides, while nothing else happens.
    pub const PAUSE: Duration = Duration::from_millis(5);

    fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Decide => "decide",
            Self::ByRule => "by-rule",
            Self::DecideLater => "decide-later",
        }
    }
}

/// Arguments of the command `console`.
#[derive(Debug, Clone, Args)]
pub struct ConsoleArgs {
    /// What to do with arrivals.
    #[arg(long)]
    pub mode: Mode,
    /// An empty folder.
    #[arg(long)]
    pub data: PathBuf,
    /// How many agents to let in.
    #[arg(long)]
    pub agents: usize,
    /// A second reader that takes 20 s for a card, where the console knows readers.
    #[arg(long)]
    pub reader: bool,
    /// A webhook for every request, where the console knows feeds.
    #[arg(long)]
    pub feed: bool,
}

/// The ready line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ready {
    /// How the agents log in.
    pub agents: Vec<Login>,
}

/// A later line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// So many requests were committed and can be shown.
    Listed {
        /// How many.
        count: u64,
        /// When, [`crate::monotonic_ns`].
        at: i64,
    },
    /// A decision is taken up.
    Deciding {
        /// When, [`crate::monotonic_ns`].
        at: i64,
    },
}

/// Returns when the driver is done with this console.
pub async fn until_told_to_stop() {
    let mut rest = Vec::new();
    // An error ends it as well as the end does.
    let _ = tokio::io::stdin().read_to_end(&mut rest).await;
}

/// A running console.
pub(crate) struct Console {
    child: Child,
    stdin: Option<ChildStdin>,
    reports: mpsc::Receiver<anyhow::Result<Report>>,
    pub(crate) agents: Vec<Login>,
    _data: tempfile::TempDir,
}

impl Console {
    /// Starts this program's own command `console` on a new folder below `below`.
    pub(crate) async fn start(
        mode: Mode,
        agents: usize,
        round: &RoundArgs,
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&round.data)?;
        let data = tempfile::Builder::new()
            .prefix("bench-")
            .tempdir_in(&round.data)?;
        let mut child = Command::new(std::env::current_exe()?)
            .args([
                "console",
                "--mode",
                mode.word(),
                "--agents",
                &agents.to_string(),
                "--data",
            ])
            .arg(data.path())
            .args(round.reader.then_some("--reader"))
            .args(round.feed.then_some("--feed"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("the console does not start")?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("no pipe")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(START_LIMIT, lines.next_line())
            .await
            .context("the console is not ready in time")??
            .context("the console ended before it was ready")?;
        let ready: Ready = serde_json::from_str(&line).context("an odd ready line")?;
        // Read at once: a console that waits for a full pipe would be measured wrongly.
        let (sender, reports) = mpsc::channel(QUEUE);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let report = serde_json::from_str(&line);
                let report = report.with_context(|| format!("an odd line: {line}"));
                if sender.send(report).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            stdin,
            reports,
            agents: ready.agents,
            _data: data,
        })
    }

    pub(crate) async fn next(&mut self) -> anyhow::Result<Report> {
        tokio::time::timeout(START_LIMIT, self.reports.recv())
            .await
            .context("the console shows nothing")?
            .context("the console ended")?
    }

    /// Waits until so many requests are listed in all; when that was.
    pub(crate) async fn listed(&mut self, wanted: u64) -> anyhow::Result<i64> {
        let mut sum = 0;
        loop {
            if let Report::Listed { count, at } = self.next().await? {
                sum += count;
                if sum >= wanted {
                    return Ok(at);
                }
            }
        }
    }

    /// Ends it in an orderly way.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        drop(self.stdin.take());
        let drained = async { while self.reports.recv().await.is_some() {} };
        tokio::time::timeout(STOP_LIMIT, drained)
            .await
            .context("the console does not stop")?;
        let status = tokio::time::timeout(STOP_LIMIT, self.child.wait()).await??;
        anyhow::ensure!(status.success(), "the console ended with {status}");
        Ok(())
    }
}
