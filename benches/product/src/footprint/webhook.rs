//! Events of a webhook: how many a second one receiver gets, and how long after its row the event arrives.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use countersign_load::{Figures, Login, fill};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, sleep, timeout};

use super::{LIMIT, Served, command};
use crate::receiver::{Came, feed, receive};

/// Sent again at once; as many as half of what waits for one agent.
const AT_ONCE: usize = 5_000;
/// Sent one by one.
const APART: usize = 100;
const BETWEEN: Duration = Duration::from_millis(50);

/// Measures a console of its own with one webhook.
pub(super) async fn measure(
    program: &Path,
    below: &Path,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let data = tempfile::Builder::new()
        .prefix("webhook-")
        .tempdir_in(below)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let feed = feed("request.waiting", listener.local_addr()?);
    std::fs::write(data.path().join("config.toml"), feed)?;
    let (taken, mut came) = channel(AT_ONCE);
    let receiving = tokio::spawn(receive(listener, Some(taken)));
    let served = Served::start(program, data.path()).await?;
    let path = served.ready["agent_json"].as_str().context("no agent")?;
    let login: Login = serde_json::from_slice(&std::fs::read(path)?)?;
    let mut late = Vec::new();
    for _ in 0..APART {
        fill(&login, 1).await?;
        let (body, at) = next(&mut came).await?;
        let row = body["timestamp"].as_str().context("no time")?;
        let row = countersign_core::domain::Timestamp::parse(row).context("no time")?;
        // Of a row in whole milliseconds.
        late.push((at - row.0 as f64).max(0.0));
        sleep(BETWEEN).await;
    }
    late.sort_by(f64::total_cmp);
    figures.set("webhook_p95_ms", late[APART * 95 / 100 - 1]);
    fill(&login, AT_ONCE - APART).await?;
    for _ in APART..AT_ONCE {
        next(&mut came).await?;
    }
    let again = command(program, data.path())
        .args(["feeds", "replay", "bench", "--since", "1h"])
        .output()
        .await?;
    let why = String::from_utf8_lossy(&again.stderr);
    ensure!(again.status.success(), "{why}");
    let (first, _) = next(&mut came).await?;
    let (begun, mut seen) = (
        Instant::now(),
        HashSet::from([first["data"]["seq"].as_i64()]),
    );
    while seen.len() < AT_ONCE {
        seen.insert(next(&mut came).await?.0["data"]["seq"].as_i64());
    }
    let seconds = begun.elapsed().as_secs_f64();
    let events = f64::from(u32::try_from(AT_ONCE - 1)?);
    figures.set("webhook_events_per_s", events / seconds);
    served.stop().await?;
    receiving.abort();
    Ok(())
}

async fn next(came: &mut Receiver<Came>) -> anyhow::Result<Came> {
    let one = timeout(LIMIT, came.recv()).await.context("no event came")?;
    one.context("the receiver ended")
}
