//! Waits for an answer, and says that it waits.

use std::time::Duration;

use bytes::Bytes;
use countersign_sdk::{Ask, Decision, Gate, GateError};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::answer;

/// How often a client hears that its call still waits.
const PROGRESS: Duration = Duration::from_secs(10);

pub(crate) enum Outcome {
    Answered(Box<Result<Decision, GateError>>),
    /// The client was held up as long as it may be.
    Held,
    /// Nobody waits any more.
    Gone,
}

impl Outcome {
    pub(crate) fn error(error: GateError) -> Self {
        Self::Answered(Box::new(Err(error)))
    }
}

/// Asks until there is an answer, `held` is over or `gone` cancelled; where the client gave a progress token it is reported
/// meanwhile that the call waits.
pub(crate) async fn answer(
    gate: &Gate,
    ask: Ask,
    token: Option<&Value>,
    held: impl Future<Output = ()>,
    gone: &CancellationToken,
    to_client: &mpsc::Sender<Bytes>,
) -> Outcome {
    let mut asking = gate.ask(ask);
    tokio::pin!(held);
    let mut ticks = interval(PROGRESS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    let mut reported = 0;
    loop {
        tokio::select! {
            biased;
            () = gone.cancelled() => return Outcome::Gone,
            answer = &mut asking => return Outcome::Answered(Box::new(answer)),
            () = &mut held => return Outcome::Held,
            _ = ticks.tick() => {
                reported += 1;
                if let Some(token) = token {
                    // Fails only where nobody reads any more; a client that reads slowly misses one.
                    let _ = to_client.try_send(answer::progress(token, reported));
                }
            }
        }
    }
}
