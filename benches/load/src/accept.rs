//! How many requests a second the stream accepts while the console projects them.

use std::time::Duration;

use futures::future::try_join_all;
use tokio::time::Instant;

use crate::Agent;

/// Requests a second, each lane waiting for every acknowledgement.
pub(crate) async fn accepted(
    agents: &[Agent],
    lanes: usize,
    time: Duration,
) -> anyhow::Result<(f64, u64)> {
    let start = Instant::now();
    let end = start + time;
    let work = agents.iter().flat_map(|agent| {
        (0..lanes).map(move |_| async move {
            let mut count = 0_u64;
            while Instant::now() < end {
                agent.publish().await?;
                count += 1;
            }
            anyhow::Ok(count)
        })
    });
    let count: u64 = try_join_all(work).await?.iter().sum();
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let rate = count as f64 / start.elapsed().as_secs_f64();
    Ok((rate, count))
}
