//! Looks again and again whether the streams have room for more, and says so before they are full.
//!
//! Refuses to raise an alarm anew that stands: a person may have said that it was seen.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::job::Job;
use crate::bus::Bus;
use crate::domain::AlarmCode;
use crate::error::OpError;
use crate::runtime::Shared;
use crate::store::alarms;

const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Gives the stream of requests its limit, then looks every minute until `stop`.
pub(super) async fn run(shared: Arc<Shared>, bus: Bus, stop: CancellationToken) {
    let looking = async {
        if let Some(most) = shared.requests_max_bytes
            && let Err(error) = bus.limit_requests(most).await
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

async fn look(shared: &Shared, bus: &Bus) -> Result<(), OpError> {
    let code = AlarmCode::StreamFull;
    for room in bus.rooms().await? {
        let about = alarms::about(&shared.reader, room.stream).await?;
        let stands = about.iter().any(|alarm| alarm.code == code.as_str());
        if stands == room.is_alarming() {
            continue;
        }
        let subject = room.stream.to_owned();
        let job = match stands {
            true => Job::LowerAlarm { code, subject },
            false => Job::Alarm { code, subject },
        };
        shared
            .jobs
            .send(job)
            .await
            .map_err(|_| OpError::stopped())?;
    }
    Ok(())
}
