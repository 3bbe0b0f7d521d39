//! The console with very many waiting requests: memory, and the next start to a correct inbox.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use countersign_load::{Figures, Login, fill};
use tokio::time::Instant;

use super::memory::tree;
use super::{SETTLE, Served, command, wait_for_waiting};

/// For storing them all, on a busy machine too.
const FILL_LIMIT: Duration = Duration::from_secs(30 * 60);
const STARTS: usize = 3;

pub(super) async fn measure(
    program: &Path,
    below: &Path,
    waiting: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let data = tempfile::Builder::new()
        .prefix("scale-")
        .tempdir_in(below)?;
    std::fs::write(
        data.path().join("config.toml"),
        format!("waiting_limit = {waiting}\n"),
    )?;
    let served = Served::start(program, data.path()).await?;
    let pid = served.child.id().context("it ended")?;
    tokio::time::sleep(SETTLE).await;
    let idle = tree(pid)?;
    let path = served.ready["agent_json"]
        .as_str()
        .context("no local agent")?;
    let login: Login = serde_json::from_slice(&std::fs::read(path)?)?;
    let start = Instant::now();
    fill(&login, waiting).await?;
    wait_for_waiting(program, data.path(), waiting, FILL_LIMIT).await?;
    figures.set("filled_s", start.elapsed().as_secs_f64());
    tokio::time::sleep(SETTLE).await;
    let full = tree(pid)?;
    figures.set("console_idle_mib", idle.program);
    figures.set("console_filled_mib", full.program);
    figures.set("server_filled_mib", full.server);
    served.stop().await?;

    let (mut starts, mut lists) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let served = Served::start(program, data.path()).await?;
        starts.push(served.ready_after.as_secs_f64() * 1e3);
        let start = Instant::now();
        let listed = command(program, data.path())
            .args(["inbox", "--json"])
            .output()
            .await?;
        lists.push(start.elapsed().as_secs_f64() * 1e3);
        let lines = listed.stdout.iter().filter(|byte| **byte == b'\n').count();
        ensure!(lines == waiting, "{lines} of {waiting} are listed");
        let pid = served.child.id().context("it ended")?;
        figures.set("console_restarted_mib", tree(pid)?.program);
        served.stop().await?;
    }
    starts.sort_by(f64::total_cmp);
    lists.sort_by(f64::total_cmp);
    figures.set("start_up_ms", starts[STARTS / 2]);
    figures.set("inbox_listed_ms", lists[STARTS / 2]);
    Ok(())
}
