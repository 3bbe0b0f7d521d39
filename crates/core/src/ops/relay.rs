//! Puts events of agents that speak OTLP onto the bus for them.
//!
//! The sender sends again what the stream has not acknowledged: nothing is kept here. The projection reads these events
//! from the stream as it reads every other, on every console.

use bytes::Bytes;
use countersign_wire::AgentKey;
use futures::StreamExt as _;

use crate::Fault;
use crate::bus::PublishOutcome;
use crate::runtime::{App, Role};

/// Events of one call that wait for their acknowledgement at the same time.
const IN_FLIGHT: usize = 512;

impl App {
    /// Publishes events on the subjects of their agents; done when the stream has stored all of them.
    ///
    /// On an error some may be stored. To send all of them again is harmless: a span replaces itself.
    ///
    /// # Errors
    /// `ErrorCode::BusUnreachable` without an acknowledgement, `ErrorCode::ReadOnly` when the bus is not the
    /// remembered one, `ErrorCode::Failed` when the stream refuses.
    pub async fn relay_events(&self, events: Vec<(AgentKey, Bytes)>) -> Result<(), Fault> {
        if self.role() != Role::Console {
            return Err(Fault::usage(
                "only the console of a data folder takes events; send them to the one that runs, or start it with `countersign serve`",
            ));
        }
        if let Some(why) = self.health().borrow().read_only.clone() {
            return Err(Fault::read_only(why));
        }
        let Some(bus) = self.bus() else {
            return Err(unreachable());
        };
        let publish = |(agent, payload): (AgentKey, Bytes)| {
            let bus = bus.clone();
            async move { bus.publish_event(&agent, payload).await }
        };
        let mut outcomes = futures::stream::iter(events)
            .map(publish)
            .buffer_unordered(IN_FLIGHT);
        while let Some(outcome) = outcomes.next().await {
            match outcome {
                PublishOutcome::Stored { .. } => {}
                PublishOutcome::NoAnswer => return Err(unreachable()),
                PublishOutcome::Refused { description, .. } => {
                    return Err(Fault::failed(format!(
                        "the stream of events refused the message: {description}; check with `countersign doctor`"
                    )));
                }
            }
        }
        Ok(())
    }
}

fn unreachable() -> Fault {
    Fault::bus_unreachable("the bus has not acknowledged; send again later")
}
