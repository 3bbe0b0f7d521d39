//! Denies what a stopped agent asks, until it is resumed (rules, "Brakes").
//!
//! Refuses to act on a stop while the shared policy is not known: it may have been taken back. Refuses to
//! let a pause end it.

use std::collections::HashSet;

use countersign_wire::{AgentBrake, Origin, Verdict};
use tokio::sync::oneshot;

use super::brakes::Said;
use super::decide;
use super::decide::release_hold;
use super::job::DecideCommand;
use super::ledger::{Batch, Ledger};
use super::policy_intake::{Place, open};
use super::policy_value::PolicyWriter;
use super::turns::Turn;
use crate::domain::{Authority, State, Timestamp};
use crate::error::OpError;
use crate::runtime::App;
use crate::store::{StoreError, requests};

/// How many are looked at in one transaction for one agent.
const AT_ONCE: i64 = 500;
/// What waited already is first left to the operator who stopped the agent: only a person's decision can
/// end the run.
const GRACE_MS: i64 = 2_000;
/// How soon to look whether the policy is known again.
const UNKNOWN_LOOK_MS: i64 = 200;

/// Denies by rank; returns when to look again.
pub(super) async fn deny(
    ledger: &mut Ledger,
    batch: &mut Batch<'_>,
) -> Result<Option<Timestamp>, StoreError> {
    let stopped: Vec<_> = match ledger.brakes.read() {
        Ok(brakes) => brakes
            .agents()
            .filter(|(agent, _)| brakes.stop_of(agent).is_some())
            .map(|(agent, set)| (agent.clone(), set.clone()))
            .collect(),
        Err(_) => Vec::new(),
    };
    // What a key says that waits or is retired would stand there, void, in the place of another console's answer.
    if !stopped.is_empty() && !ledger.counts(ledger.identity.auto_key().as_str(), batch.now) {
        ledger.stop_turns.clear();
        return Ok(None);
    }
    let mut next = None;
    let mut open = HashSet::new();
    for (agent, set) in stopped {
        let ids = requests::open_of(batch.tx, &agent, AT_ONCE).await?;
        if ids.is_empty() {
            continue;
        }
        open.extend(ids.iter().copied());
        if !ledger.policy_known.is_fresh() {
            return Ok(Some(batch.now.plus_ms(UNKNOWN_LOOK_MS)));
        }
        let mut commands = Vec::new();
        for record in requests::records_by_id(batch.tx, &ids).await? {
            let grace = set.at.plus_ms(GRACE_MS);
            if record.stored_at < set.at && batch.now < grace {
                next = earlier(next, grace);
                continue;
            }
            let rank = ledger.peers.rank(&record.key, batch.now, |_| true);
            if let Turn::Later(at) = ledger.stop_turns.of(record.id, rank, batch.now) {
                next = earlier(next, at);
                continue;
            }
            if record.state == State::Holding {
                let actor = ledger.identity.auto_key().to_string();
                release_hold(batch, &record, &actor, "hold_dropped").await?;
            }
            let command = DecideCommand {
                message: Some(format!("{} stopped this agent", set.by)),
                authority: Authority::Console,
                origin: Origin::System,
                ..DecideCommand::by_operator(record.key, Verdict::Deny)
            };
            // Nobody waits for the answer: losing this race is no event.
            let (reply, _) = oneshot::channel();
            commands.push((Box::new(command), reply));
        }
        let settlements = ledger.settlements.clone();
        let full = ids.len() >= usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
        let some = !commands.is_empty();
        decide::apply(ledger, batch, &settlements, commands).await?;
        if full && some {
            next = earlier(next, batch.now);
        }
    }
    // The others were answered by another console.
    ledger.stop_turns.keep(|id| open.contains(&id));
    Ok(next)
}

fn earlier(known: Option<Timestamp>, at: Timestamp) -> Option<Timestamp> {
    Some(known.map_or(at, |known| known.min(at)))
}

impl App {
    /// Refuses a pause where a stop stands on the bus, whichever console set it: what comes would wait for
    /// people instead of being denied.
    pub(super) async fn keeps_the_stop(
        &self,
        writer: &PolicyWriter<'_>,
        said: &Said,
    ) -> Result<(), OpError> {
        let Said::Agent(agent, AgentBrake::Paused) = said else {
            return Ok(());
        };
        let key = said.key();
        let Some(stands) = writer.bus.policy_get(&key.to_string()).await? else {
            return Ok(());
        };
        let place = Place {
            revision: stands.revision,
            stored_at: stands.stamp.into(),
        };
        let value = (stands.value.as_ref(), place);
        let row = open(&self.inner.shared, &writer.realm, &key, value);
        match row.and_then(|row| Said::read(&key, &row.payload)) {
            Some((Said::Agent(_, AgentBrake::Stopped), _)) => {
                let why = format!("{agent} is stopped; resume it first");
                Err(OpError::InvalidArgs(why))
            }
            _ => Ok(()),
        }
    }
}
