//! Answers that come when nobody awaits them any more: after the agent's own timer, or
//! after the question was taken back.
//!
//! It never runs anything for them. The console learns what became of them, because it takes an agent that is silent
//! about an approval for one that hangs.

use std::iter;
use std::sync::{Arc, Weak};
use std::time::Duration;

use countersign_wire::{DecisionVerdict, Stage, decision_subject};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::clock::Timer;
use crate::inner::Inner;
use crate::judge::{Asked, StoredMessage, claimed_id, judge};
use crate::outbox::Slot;
use crate::receipts::Report;

/// How long to look on beyond the server's deadline.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait until the bus has a withdrawal.
const REPORTED: Duration = Duration::from_secs(2);

/// A question that may be on the bus and was not answered while somebody waited.
pub(crate) struct Afterwards {
    pub(crate) owner: Weak<Inner>,
    pub(crate) asked: Arc<Asked>,
    /// Room for the receipt.
    pub(crate) slot: Slot,
    pub(crate) why: Why,
}

/// Why nobody waits.
pub(crate) enum Why {
    /// The agent's timer has run out; the server's runs out later by the request's way at most.
    Late { travelled: Duration },
    /// It was taken back while the timer ran. The receiver resolves when the bus knows.
    Withdrawn {
        timer: Timer,
        reported: oneshot::Receiver<()>,
    },
}

impl Afterwards {
    /// Looks until an answer is valid or none can come; once more when the gate closes.
    pub(crate) async fn watch(self, closing: CancellationToken) {
        let Self {
            owner,
            asked,
            slot,
            why,
        } = self;
        let (travelled, timer) = match why {
            Why::Late { travelled } => (travelled, None),
            Why::Withdrawn { timer, reported } => {
                let _ = timeout(REPORTED, reported).await;
                (Duration::ZERO, Some(timer))
            }
        };
        let subject = decision_subject(&asked.key);
        for pause in pauses(travelled) {
            let open = closing.run_until_cancelled(sleep(pause)).await.is_some();
            let Some(inner) = owner.upgrade() else { return };
            let look = inner.looks.decision(&inner.bus, &subject);
            if let Ok(Ok(Some(stored))) = timeout(2 * inner.timing.exchange, look).await {
                let (id, report) = response(&inner, &asked, &stored, timer);
                inner.receipts(&asked.key).begin(slot, id, report);
                return;
            }
            if !open {
                return;
            }
        }
    }
}

/// The receipt for an answer that nobody awaits; `timer` where the question was taken back.
fn response(
    inner: &Inner,
    asked: &Asked,
    stored: &StoredMessage,
    timer: Option<Timer>,
) -> (String, Report) {
    let left = timer.map_or(Duration::ZERO, |timer| timer.remaining());
    let report = match judge(asked, stored, &inner.looks.trust(), left) {
        Ok(verified) => match verified.decision.verdict {
            DecisionVerdict::Approve | DecisionVerdict::Modify => {
                Report::saying(Stage::Refused, "withdrawn")
            }
            _ => Report::stage(Stage::Received),
        },
        Err(fault) => {
            tracing::warn!(request = %asked.key, "a stored decision does not count: {fault}");
            Report::saying(Stage::Refused, fault.as_str())
        }
    };
    (claimed_id(&stored.payload), report)
}

/// How long to wait before each look, until the server's deadline has passed and `PATIENCE` more.
fn pauses(travelled: Duration) -> impl Iterator<Item = Duration> {
    let first = [Duration::from_millis(300), Duration::from_millis(1_200)];
    let mut passed = Duration::ZERO;
    first
        .into_iter()
        .chain(iter::repeat(Duration::from_secs(2)))
        .take_while(move |pause| {
            let more = passed < travelled.saturating_add(PATIENCE);
            passed += *pause;
            more
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_until_the_servers_deadline_has_surely_passed_and_not_for_ever() {
        for (travelled, looks) in [(0, 3), (1_400, 3), (1_600, 4), (6_000, 6), (60_000, 33)] {
            let travelled = Duration::from_millis(travelled);
            let pauses: Vec<_> = pauses(travelled).collect();
            assert_eq!(pauses.len(), looks, "{travelled:?}");
            let whole: Duration = pauses.iter().sum();
            assert!(whole >= travelled + PATIENCE && whole < travelled + PATIENCE * 2);
        }
    }
}
