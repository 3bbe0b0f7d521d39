//! A page of metrics while very many requests wait.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use countersign_load::Figures;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::Served;

const PAGES: usize = 40;
/// Longer than a page is kept: each is made anew.
const BETWEEN: Duration = Duration::from_millis(1_050);

/// Reads pages of the console of this folder, which has its requests already.
pub(super) async fn measure(
    program: &Path,
    data: &Path,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let words = ["serve", "--metrics", "127.0.0.1:0"];
    let served = Served::start_with(program, data, &words).await?;
    let address = served.ready["metrics"].as_str().context("no address")?;
    let (mut times, mut largest) = (Vec::new(), 0);
    for _ in 0..PAGES {
        sleep(BETWEEN).await;
        let begun = Instant::now();
        let page = page(address).await?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        ensure!(page.contains("countersign_requests_waiting"), "{page}");
        largest = largest.max(page.len());
    }
    times.sort_by(f64::total_cmp);
    figures.set("metrics_p95_ms", times[PAGES * 95 / 100 - 1]);
    figures.set("metrics_kib", f64::from(u32::try_from(largest)?) / 1_024.0);
    served.stop().await
}

async fn page(address: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
