//! The delivery ladder: how far a request and its answer have come.

use std::fmt;

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

const RUNGS: [Delivery; 7] = [
    Delivery::Stored,
    Delivery::Decided,
    Delivery::OnBus,
    Delivery::Received,
    Delivery::Refused,
    Delivery::Failed,
    Delivery::Executed,
];

impl Delivery {
    /// The word in the store and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Decided => "decided",
            Self::OnBus => "on_bus",
            Self::Received => "received",
            Self::Executed => "executed",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }

    /// The rung that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        RUNGS.into_iter().find(|rung| rung.as_str() == word)
    }

    /// The rung after news of `news`: receipts come in any order, the ladder never goes down.
    #[must_use]
    pub fn raised_to(self, news: Self) -> Self {
        self.max(news)
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_never_goes_down() {
        for from in RUNGS {
            for news in RUNGS {
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
