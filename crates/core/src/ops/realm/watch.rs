//! Streams that answer for the realm log in its place (protocol, section 8, "Watching").

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::Stream;
use tokio_util::sync::CancellationToken;

use crate::Fault;
use crate::bus::Bus;
use crate::domain::AlarmCode;
use crate::ops::alarms::keep_to;
use crate::runtime::Shared;

const EVERY: Duration = Duration::from_secs(60);

/// Looks at once and then every minute, until it is cancelled.
pub(in crate::ops) async fn watch(shared: Arc<Shared>, bus: Bus, stop: CancellationToken) {
    loop {
        if let Err(error) = look(&shared, &bus).await {
            tracing::warn!(%error, "whether a stream mirrors the realm log is not known");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

async fn look(shared: &Shared, bus: &Bus) -> Result<(), Fault> {
    let mirrors = bus.mirrors_of(Stream::Decisions.name()).await?;
    keep_to(shared, AlarmCode::LogHidden, &mirrors).await
}
