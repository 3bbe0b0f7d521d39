//! How long one request takes when nothing else happens.

use std::time::Duration;

use crate::clock::monotonic_ns;
use crate::console::{Console, Report};
use crate::{Agent, Figures};

/// Lets the projection of the last decision end before the next request.
const PAUSE: Duration = Duration::from_millis(10);
/// Requests that are not counted.
const WARM_UP: usize = 20;

/// Request to listed and decision to agent, p50 and p99 in ms.
pub(crate) async fn latencies(
    console: &mut Console,
    agent: &Agent,
    samples: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let (mut listing, mut deciding) = (Vec::new(), Vec::new());
    for number in 0..samples + WARM_UP {
        let start = monotonic_ns();
        let reported = async {
            let (mut listed, mut taken_up) = (None, None);
            while listed.is_none() || taken_up.is_none() {
                match console.next().await? {
                    Report::Listed { at, .. } => listed = listed.or(Some(at)),
                    Report::Deciding { at } => taken_up = Some(at),
                }
            }
            anyhow::Ok((listed.unwrap_or_default(), taken_up.unwrap_or_default()))
        };
        let (decided, (listed, taken_up)) = tokio::try_join!(agent.ask(), reported)?;
        if number >= WARM_UP {
            listing.push(listed - start);
            deciding.push(decided - taken_up);
        }
        tokio::time::sleep(PAUSE).await;
    }
    figures.percentiles("listed", listing);
    figures.percentiles("decision", deciding);
    Ok(())
}
