//! Check for a hello in `CS_AGENTS` that lies before the position and was never read.
//!
//! The stream keeps one hello of each agent, so its last message proves too little: after a rollback in which all
//! agents said hello again, only such a hello shows it.

use countersign_wire::{AgentKey, Stream, hello_subject};
use futures::StreamExt;

use crate::Fault;
use crate::bus::{Bus, BusError};
use crate::domain::Timestamp;
use crate::store::agents::{self, HelloKnown};
use crate::store::{Reader, bus_stream::Position};

/// Agents that are looked at at once.
const AT_ONCE: usize = 64;

/// Compares the last hello of each agent that is known with what the store has of it.
pub(super) async fn is_one_unread(
    reader: &Reader,
    bus: &Bus,
    positions: &[Position],
) -> Result<bool, Fault> {
    let name = Stream::Agents.name();
    let Some(position) = positions.iter().find(|at| at.stream == name) else {
        return Ok(false);
    };
    let next = u64::try_from(position.next_seq).unwrap_or(1);
    if next <= 1 {
        return Ok(false);
    }
    let known = agents::hellos_known(reader).await?;
    let mut looks = futures::stream::iter(known)
        .map(|(agent, known)| {
            let bus = bus.clone();
            async move { is_unread(&bus, &agent, known, next).await }
        })
        .buffer_unordered(AT_ONCE);
    while let Some(unread) = looks.next().await {
        if unread? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn is_unread(
    bus: &Bus,
    agent: &AgentKey,
    known: HelloKnown,
    next: u64,
) -> Result<bool, BusError> {
    let last = bus
        .read_last(Stream::Agents.name(), &hello_subject(agent))
        .await?;
    Ok(last.is_some_and(|last| last.seq < next && !known.is_of(Timestamp::from(last.stamp))))
}
