//! A bus that is not the remembered one: the console is read-only, puts back what the realm log lacks there, and
//! compares again until it is.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use countersign_wire::Stream;

use super::Link;
use crate::Fault;
use crate::domain::AlarmCode;
use crate::ops::alarms;
use crate::ops::apply::bus_state;
use crate::ops::realm::{LogRecovery, knows_more, put_back};
use crate::store::meta;

/// How often a console that is read-only looks whether its bus was recovered.
const RECOVERED_LOOK: Duration = Duration::from_millis(500);
/// How often a console that is read-only compares the bus again, and puts back what the realm log lacks there.
const COMPARED_AGAIN: Duration = Duration::from_secs(5);

impl Link {
    /// Makes the console read-only where the bus differs from what it remembers, or the realm log there from its own.
    /// What that lacks is put back, where the bus is of the `same` realm and root. Returns whether it is read-only.
    pub(super) async fn is_another(
        &self,
        difference: Option<(String, String)>,
        same: bool,
    ) -> Result<bool, Fault> {
        let mut difference = difference;
        if same && (difference.is_some() || knows_more(&self.shared).await?) {
            match put_back(&self.shared, &self.bus, self.cut_off.load(Relaxed)).await {
                Ok(LogRecovery { parted, .. }) => {
                    let parted = !parted.is_empty();
                    let about = parted.then(|| Stream::Decisions.name().to_owned());
                    let about = about.as_slice();
                    alarms::keep_to(&self.shared, AlarmCode::LogDiffers, about).await?;
                    difference = parted.then(log_differs).or(difference);
                }
                // It is tried again while the console is read-only.
                Err(error) if difference.is_some() => {
                    tracing::warn!(%error, "what the realm log lacks on the bus is not put back yet");
                }
                Err(error) => return Err(error),
            }
        } else if same {
            alarms::keep_to(&self.shared, AlarmCode::LogDiffers, &[]).await?;
        }
        let differs = difference.is_some();
        self.send(bus_state::read_only(difference)).await?;
        Ok(differs)
    }

    /// Waits until the bus was recovered, by this process or by another one of the folder.
    pub(super) async fn recovered(&self, before: Option<&String>) {
        loop {
            tokio::time::sleep(RECOVERED_LOOK).await;
            if self.shared.health.borrow().read_only.is_none() {
                continue;
            }
            let word = meta::get(&self.shared.reader, meta::RECOVERED).await;
            if matches!(word, Ok(word) if word.as_ref() != before) {
                return;
            }
        }
    }

    /// Waits, while the console is read-only, until the bus is to be compared again.
    pub(super) async fn compared_long_ago(&self) {
        let mut health = self.shared.health.subscribe();
        loop {
            let read_only = health.wait_for(|health| health.read_only.is_some()).await;
            if read_only.map(drop).is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(COMPARED_AGAIN).await;
            if health.borrow().read_only.is_some() {
                return;
            }
        }
    }
}

/// Code and sentence of a realm log that went on without entries that this console knows.
fn log_differs() -> (String, String) {
    let why = "the realm log on the bus went on without entries that this console knows; see `countersign bus recover --dry-run`";
    ("log_differs".to_owned(), why.to_owned())
}
