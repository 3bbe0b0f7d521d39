//! The delivery ladder: how far a request and its answer have come.

use serde::{Deserialize, Serialize};

/// The rungs of the ladder (protocol, section 6). `Failed` and `Refused` end it instead of `Executed`, and rank below
/// it: where several copies of an agent report and one ran the call, the call ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The request is stored on the bus and here.
    Stored,
    /// A console has decided; nothing is known of the bus.
    Decided,
    /// The decision is stored on the bus.
    OnBus,
    /// The agent has verified the decision.
    Received,
    /// The agent refused the decision.
    Refused,
    /// The tool ran and failed.
    Failed,
    /// The tool ran and succeeded.
    Executed,
}

countersign_wire::words!(Delivery {
    Stored => "stored", Decided => "decided", OnBus => "on_bus", Received => "received",
    Refused => "refused", Failed => "failed", Executed => "executed",
});

impl Delivery {
    /// The rung after news of `news`: receipts come in any order, the ladder never goes down.
    #[must_use]
    pub fn raised_to(self, news: Self) -> Self {
        self.max(news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_never_goes_down() {
        for from in Delivery::ALL {
            for news in Delivery::ALL {
                assert!(from.raised_to(news) >= from);
            }
            assert_eq!(Delivery::from_word(from.as_str()), Some(from));
        }
    }

    #[test]
    fn an_execution_stands_whatever_another_copy_of_the_agent_reports() {
        for other in [Delivery::Received, Delivery::Refused, Delivery::Failed] {
            assert_eq!(Delivery::Executed.raised_to(other), Delivery::Executed);
            assert_eq!(other.raised_to(Delivery::Executed), Delivery::Executed);
        }
    }
}
