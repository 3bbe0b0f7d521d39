//! Names the agent whose messages are most of what this console has yet to read.
//!
//! A console that has only just begun to read is left out: it has much to read after an absence.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{AgentKey, Stream};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::alarms::keep_to;
use super::incoming::asker;
use crate::Fault;
use crate::bus::Bus;
use crate::domain::AlarmCode;
use crate::runtime::Shared;

const LOOK_EVERY: Duration = Duration::from_secs(10);
/// From so many messages on that are not read.
const BEHIND: u64 = 5_000;
/// So many looks in a row.
const LOOKS: u32 = 3;
/// Messages that are looked at, at even steps.
const SAMPLES: u64 = 16;

/// Looks again and again until `stop`.
pub(super) async fn run(shared: Arc<Shared>, bus: Bus, stop: CancellationToken) {
    let looking = async {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut behind = 0;
        loop {
            looks.tick().await;
            if let Err(error) = look(&shared, &bus, &mut behind).await {
                tracing::warn!(%error, "it is not known whose messages are unread");
            }
        }
    };
    stop.run_until_cancelled(looking).await;
}

async fn look(shared: &Shared, bus: &Bus, behind: &mut u32) -> Result<(), Fault> {
    let name = Stream::Requests.name();
    let next = shared.positions.borrow().get(name).map(|at| at.next);
    let Some(next) = next else {
        return Ok(());
    };
    let last = bus.last_sequence(name).await?;
    let floods = if last.saturating_sub(next) < BEHIND {
        *behind = 0;
        None
    } else {
        *behind += 1;
        if *behind < LOOKS {
            return Ok(());
        }
        most(&bus.sampled(name, next, last, SAMPLES).await?)
    };
    let floods: Vec<String> = floods.iter().map(AgentKey::to_string).collect();
    keep_to(shared, AlarmCode::AgentFloods, &floods).await
}

/// Whose most of these messages are. Where many were removed the same one comes again and again, and is one.
fn most(sampled: &BTreeMap<u64, String>) -> Option<AgentKey> {
    let mut counts: BTreeMap<AgentKey, u64> = BTreeMap::new();
    for subject in sampled.values() {
        if let Some(agent) = asker(subject) {
            *counts.entry(agent).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.filter(|(_, count)| 2 * count > SAMPLES)
        .map(|(agent, _)| agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_named_that_sent_most_of_what_is_not_read() {
        let of = |evil: u64, others: u64| {
            let evil = (0..evil).map(|n| (n, format!("countersign.v1.request.acme.evil.{n}")));
            let others = (0..others).map(|n| {
                let subject = format!("countersign.v1.withdraw.acme.bot{n}.r1");
                (100 + n, subject)
            });
            most(&evil.chain(others).collect()).map(|agent| agent.to_string())
        };
        let evil = Some("acme/evil".to_owned());
        assert_eq!(of(16, 0), evil);
        assert_eq!(of(9, 7), evil);
        assert_eq!(of(8, 8), None, "half of it");
        assert_eq!(of(0, 16), None, "many agents");
        assert_eq!(of(1, 0), None, "all others were removed");
        let nobody = (0..16).map(|n| (n, format!("countersign.v1.request.{n}")));
        assert_eq!(most(&nobody.collect()), None);
    }
}
