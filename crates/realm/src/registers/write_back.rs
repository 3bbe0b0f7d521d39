//! Values in force that are written back over older ones, which somebody stored again.

use std::time::Duration;

use countersign_wire::PolicyKey;

use super::Registers;
use super::freshness::Covered;
use super::signed::bytes_of;
use crate::bus::{Bus, PublishOutcome};
use crate::domain::Fault;
use crate::signers::Signers;
use crate::store::{Reader, policy};

/// A value that was stored over is written back this often at most.
const EVERY: Duration = Duration::from_secs(2);

impl Registers {
    /// Writes every value in force back over an older one that was stored over it, for as long as its signer counts:
    /// whoever joins takes what it reads last. Every now and then, until it is cancelled.
    pub async fn write_back(&self, signers: &impl Signers, reader: &Reader, bus: &Bus) {
        loop {
            tokio::time::sleep(EVERY).await;
            let covered = self.book.read().freshness.covered();
            for value in covered {
                match write(signers, reader, bus, &value).await {
                    Ok(true) => self.book.write().freshness.uncovered(&value),
                    Ok(false) => {}
                    Err(error) => {
                        let key = value.key;
                        tracing::warn!(key, %error, "the value in force is not written back yet");
                    }
                }
            }
        }
    }
}

/// False where it must be tried again.
async fn write(
    signers: &impl Signers,
    reader: &Reader,
    bus: &Bus,
    value: &Covered,
) -> Result<bool, Fault> {
    let row = policy::get(reader, &value.key).await?;
    let (Some(row), Some(key)) = (row, PolicyKey::parse(&value.key)) else {
        return Ok(false);
    };
    if row.sig != value.sig || !signers.is_operator(&row.signer) {
        return Ok(false);
    }
    let bytes = bytes_of(&row)?;
    let put = bus.policy_put(&key.to_string(), value.over, bytes).await?;
    Ok(match put {
        // Overtaken: what came in between is reported next.
        PublishOutcome::Stored { .. } | PublishOutcome::Refused { code: 10_071, .. } => true,
        PublishOutcome::Refused { .. } | PublishOutcome::NoAnswer => false,
    })
}
