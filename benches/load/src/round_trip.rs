//! How many requests a second go the whole way: agent, stream, store, decision, agent.

use std::time::Duration;

use futures::future::try_join_all;
use tokio::time::Instant;

use crate::Agent;

/// Round trips a second with `lanes` requests in flight for each agent, after a warm-up.
pub(crate) async fn round_trips(
    agents: &[Agent],
    lanes: usize,
    warm_up: Duration,
    time: Duration,
) -> anyhow::Result<f64> {
    let from = Instant::now() + warm_up;
    let end = from + time;
    let work = agents.iter().flat_map(|agent| {
        (0..lanes).map(move |_| async move {
            let mut count = 0_u64;
            while Instant::now() < end {
                agent.ask().await?;
                let now = Instant::now();
                count += u64::from(now >= from && now < end);
            }
            anyhow::Ok(count)
        })
    });
    let count: u64 = try_join_all(work).await?.iter().sum();
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let rate = count as f64 / time.as_secs_f64();
    Ok(rate)
}
