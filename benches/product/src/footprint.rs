//! Start-up time and memory of the programs as they are installed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use countersign_load::{Figures, Login, fill};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use self::memory::{Tree, tree};

mod memory;
mod metrics;
mod scale;
mod webhook;

const LIMIT: Duration = Duration::from_secs(60);
/// What a process does right after its start is not idling.
const SETTLE: Duration = Duration::from_secs(2);
/// As many as the console keeps waiting for one agent.
const WAITING: usize = 10_000;
const STARTS: usize = 5;

/// Arguments of the command `footprint`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FootprintArgs {
    /// The console: the program `countersign`.
    #[arg(long)]
    console: Option<PathBuf>,
    /// The same with its window; needs a display.
    #[arg(long)]
    window: Option<PathBuf>,
    /// Measure only the console with so many waiting requests, and how it starts with them.
    #[arg(long)]
    waiting: Option<usize>,
    /// Folder for the stores.
    #[arg(long)]
    data: PathBuf,
}

pub(crate) async fn run(args: &FootprintArgs) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    std::fs::create_dir_all(&args.data)?;
    if let (Some(program), Some(waiting)) = (&args.console, args.waiting) {
        scale::measure(program, &args.data, waiting, &mut figures).await?;
        return Ok(figures);
    }
    if let Some(program) = &args.console {
        start_ups(program, &args.data, &mut figures).await?;
        memory_of_console(program, &args.data, &mut figures).await?;
        webhook::measure(program, &args.data, &mut figures).await?;
    }
    if let Some(program) = &args.window {
        memory_of_window(program, &args.data, &mut figures).await?;
    }
    Ok(figures)
}

pub(crate) struct Served {
    child: Child,
    ready_after: Duration,
    pub(crate) ready: serde_json::Value,
}

/// The program, as a person has it with this data folder.
pub(crate) fn command(program: &Path, data: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let ours = name.to_string_lossy().starts_with("COUNTERSIGN_");
        if ours && name != "COUNTERSIGN_NATS_SERVER" {
            command.env_remove(name);
        }
    }
    command
        .env("COUNTERSIGN_DATA_DIR", data)
        .env("COUNTERSIGN_OPERATOR", "Bench")
        .env("COUNTERSIGN_KEYS", "file")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

impl Served {
    pub(crate) async fn start(program: &Path, data: &Path) -> anyhow::Result<Self> {
        Self::start_with(program, data, &["serve"]).await
    }

    async fn start_with(program: &Path, data: &Path, words: &[&str]) -> anyhow::Result<Self> {
        let start = Instant::now();
        let mut child = command(program, data)
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let out = child.stdout.take().context("no pipe")?;
        let mut lines = BufReader::new(out).lines();
        let line = tokio::time::timeout(LIMIT, lines.next_line())
            .await??
            .context("no ready line")?;
        let ready_after = start.elapsed();
        Ok(Self {
            child,
            ready_after,
            ready: serde_json::from_str(&line)?,
        })
    }

    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        stop(self.child).await
    }
}

async fn stop(mut child: Child) -> anyhow::Result<()> {
    let pid = i32::try_from(child.id().context("it ended")?)?;
    kill(Pid::from_raw(pid), Signal::SIGTERM)?;
    tokio::time::timeout(LIMIT, child.wait())
        .await
        .context("it does not stop")??;
    Ok(())
}

/// A new folder once, then the same folder again: what a person has every day.
async fn start_ups(program: &Path, below: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    let data = tempfile::Builder::new()
        .prefix("start-")
        .tempdir_in(below)?;
    let first = Served::start(program, data.path()).await?;
    figures.set("start_up_first_ms", first.ready_after.as_secs_f64() * 1e3);
    first.stop().await?;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let served = Served::start(program, data.path()).await?;
        times.push(served.ready_after.as_secs_f64() * 1e3);
        served.stop().await?;
    }
    times.sort_by(f64::total_cmp);
    figures.set("start_up_ms", times[times.len() / 2]);
    Ok(())
}

async fn memory_of_console(
    program: &Path,
    below: &Path,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let data = tempfile::Builder::new()
        .prefix("memory-")
        .tempdir_in(below)?;
    let served = Served::start(program, data.path()).await?;
    let pid = served.child.id().context("it ended")?;
    tokio::time::sleep(SETTLE).await;
    let Tree {
        program: idle,
        server,
        ..
    } = tree(pid)?;
    figures.set("console_idle_mib", idle);
    figures.set("server_idle_mib", server);
    let path = served.ready["agent_json"]
        .as_str()
        .context("no local agent")?;
    let login: Login = serde_json::from_slice(&std::fs::read(path)?)?;
    fill(&login, WAITING).await?;
    wait_for_waiting(program, data.path(), WAITING, LIMIT).await?;
    tokio::time::sleep(SETTLE).await;
    let Tree {
        program: full,
        server,
        ..
    } = tree(pid)?;
    figures.set("console_10000_waiting_mib", full);
    figures.set("server_10000_waiting_mib", server);
    served.stop().await?;
    metrics::measure(program, data.path(), figures).await
}

async fn wait_for_waiting(
    program: &Path,
    data: &Path,
    waiting: usize,
    limit: Duration,
) -> anyhow::Result<()> {
    let until = Instant::now() + limit;
    loop {
        let out = command(program, data)
            .args(["status", "--json"])
            .output()
            .await?;
        ensure!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        let status: serde_json::Value = serde_json::from_slice(&out.stdout)?;
        if status["waiting"] == waiting {
            return Ok(());
        }
        ensure!(
            Instant::now() < until,
            "{} of {waiting} are listed",
            status["waiting"]
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The window as it opens on an empty inbox.
async fn memory_of_window(
    program: &Path,
    below: &Path,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    const OPEN: Duration = Duration::from_secs(5);
    let data = tempfile::Builder::new()
        .prefix("window-")
        .tempdir_in(below)?;
    let child = command(program, data.path())
        .stdout(Stdio::null())
        .spawn()?;
    let until = Instant::now() + LIMIT;
    while !data.path().join("runtime.json").is_file() {
        ensure!(
            Instant::now() < until,
            "the window's console does not start"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(OPEN).await;
    let Tree {
        program,
        web,
        server,
    } = tree(child.id().context("the window closed by itself")?)?;
    ensure!(web > 0.0, "the window shows no page; is there a display?");
    figures.set("window_process_mib", program);
    figures.set("window_page_mib", web);
    figures.set("window_server_mib", server);
    stop(child).await
}
