//! Looks again and again whether the streams have room for more, and says so before they are full.
//!
//! The limits of a shared bus stay as they are.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::alarms::keep_to;
use crate::Fault;
use crate::bus::{Bus, BusError};
use crate::domain::AlarmCode;
use crate::runtime::Shared;

const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Gives the stream of requests its limit, then looks every minute until `stop`.
pub(super) async fn run(shared: Arc<Shared>, bus: Bus, stop: CancellationToken) {
    let looking = async {
        if let Some(most) = shared.requests_max_bytes
            && let Err(error) = limit(&shared, &bus, most).await
        {
            tracing::warn!(%error, "requests_max_mib is not in force");
        }
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            if let Err(error) = look(&shared, &bus).await {
                tracing::warn!(%error, "whether the streams have room is not known");
            }
        }
    };
    stop.run_until_cancelled(looking).await;
}

/// On a bus that others use, too, a console only widens the limit: two with different ones would set it in turn.
async fn limit(shared: &Shared, bus: &Bus, most: u64) -> Result<(), BusError> {
    match shared.has_own_server {
        true => bus.limit_requests(most).await,
        false => bus.widen_requests(most).await,
    }
}

async fn look(shared: &Shared, bus: &Bus) -> Result<(), Fault> {
    let rooms = bus.rooms().await?;
    let full = rooms.iter().filter(|room| room.is_alarming());
    let full: Vec<String> = full.map(|room| room.stream.to_owned()).collect();
    keep_to(shared, AlarmCode::StreamFull, &full).await
}
