//! The states of a request and the steps between them.
//!
//! Only the protocol's steps are possible: a terminal state never changes, and only a stored decision is terminal.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The state of a request. The words are those of the command line contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "CardState"))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits for an operator.
    Pending,
    /// An approval is held back and can be undone; nothing has been signed.
    Holding,
    /// A decision is signed and on its way to the stream.
    Queued,
    /// A decision is stored, verifies and is in force.
    Decided,
    /// The deadline passed first.
    Expired,
    /// The agent no longer wants the answer.
    Withdrawn,
    /// The message was not a request of the protocol.
    Rejected,
    /// Something is stored on the decision's subject that does not verify.
    Void,
}

countersign_wire::words!(State {
    Pending => "pending", Holding => "holding", Queued => "queued", Decided => "decided",
    Expired => "expired", Withdrawn => "withdrawn", Rejected => "rejected", Void => "void",
});

impl State {
    /// Whether an answer may still be given or taken back here.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Holding | Self::Queued)
    }
}

impl FromStr for State {
    type Err = UnknownState;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::from_word(word).ok_or_else(|| UnknownState(word.to_owned()))
    }
}

/// A word that names no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown state {0:?}; use one of pending, holding, queued, decided, expired, withdrawn, rejected, void"
)]
pub struct UnknownState(pub String);

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// An operator approved and the approval is held.
    Hold,
    /// The operator took the held approval back, or the console stopped while it was held.
    Undo,
    /// A held vote was signed: the request waits for the others.
    Vote,
    /// A decision was signed and put into the outbox.
    Queue,
    /// The deadline passed by the server's time.
    Expire,
    /// The agent withdrew.
    Withdraw,
    /// A decision is stored on the stream, verifies, and reads as this.
    Stored(StoredAs),
    /// Panic, a pause or a stop holds an automatic decision back, and nothing is stored: it is taken out of the outbox.
    TakeBack,
    /// The console's decision was refused and nothing is stored: the deadline passed meanwhile.
    Late,
}

/// How a stored decision reads everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoredAs {
    /// An operator's, rule's or key's verdict in force.
    Decided,
    /// Verdict `expired`, or any verdict stored at or after the deadline.
    Expired,
    /// Verdict `withdrawn`.
    Withdrawn,
    /// Verdict `rejected`.
    Rejected,
    /// It does not verify.
    Void,
}

/// A step that the state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a request that is {from} cannot take this step")]
pub struct StepRefused {
    /// The state in which the request stays.
    pub from: State,
}

/// The state after `step`, or a refusal that leaves the request as it is.
///
/// What is *stored* on the bus always wins over what this console believed: a `Stored` step is taken
/// from every state, except that the answer to a rejected request changes nothing.
///
/// # Errors
/// [`StepRefused`] when the protocol has no such step.
pub fn next(from: State, step: Step) -> Result<State, StepRefused> {
    use State::{Decided, Expired, Holding, Pending, Queued, Rejected, Void, Withdrawn};
    match (from, step) {
        (Pending, Step::Hold) => Ok(Holding),
        (Holding, Step::Undo | Step::Vote) | (Queued, Step::TakeBack) => Ok(Pending),
        (Pending | Holding, Step::Queue) => Ok(Queued),
        (Pending | Holding, Step::Expire) | (Queued, Step::Late) => Ok(Expired),
        // A queued decision may already be stored: only the stream shows which was first.
        (Pending | Holding, Step::Withdraw) => Ok(Withdrawn),
        (Rejected, Step::Stored(_)) => Ok(Rejected),
        (_, Step::Stored(stored)) => Ok(match stored {
            StoredAs::Decided => Decided,
            StoredAs::Expired => Expired,
            StoredAs::Withdrawn => Withdrawn,
            StoredAs::Rejected => Rejected,
            StoredAs::Void => Void,
        }),
        _ => Err(StepRefused { from }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: [Step; 8] = [
        Step::Hold,
        Step::Undo,
        Step::Vote,
        Step::Queue,
        Step::Expire,
        Step::Withdraw,
        Step::Late,
        Step::TakeBack,
    ];

    #[test]
    fn nothing_but_a_stored_decision_leaves_a_terminal_state() {
        for from in State::ALL.into_iter().filter(|state| !state.is_open()) {
            for step in LOCAL {
                assert_eq!(
                    next(from, step),
                    Err(StepRefused { from }),
                    "{from} {step:?}"
                );
            }
        }
    }

    #[test]
    fn no_local_step_ever_leads_to_decided() {
        for from in State::ALL {
            for step in LOCAL {
                assert_ne!(next(from, step), Ok(State::Decided), "{from} {step:?}");
            }
        }
    }

    #[test]
    fn only_what_is_held_can_be_undone_or_become_a_vote() {
        for from in State::ALL {
            for step in [Step::Undo, Step::Vote] {
                assert_eq!(
                    next(from, step).is_ok(),
                    from == State::Holding,
                    "{from} {step:?}"
                );
            }
        }
    }

    #[test]
    fn a_rejected_request_stays_rejected_whatever_is_stored() {
        for stored in [StoredAs::Decided, StoredAs::Expired, StoredAs::Void] {
            assert_eq!(
                next(State::Rejected, Step::Stored(stored)),
                Ok(State::Rejected)
            );
        }
    }

    #[test]
    fn every_state_reads_back_from_its_word() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("approved".parse::<State>().is_err());
    }
}
