//! What an operation can answer instead of a result: a stable code, and a sentence for a person.

use std::path::Path;

use countersign_wire::{ErrorCode, RequestKey};
use tokio::task::JoinError;

use crate::bus::BusError;
use crate::data_dir::DataDirError;
use crate::domain::{DecideRefusal, State};
use crate::identity::IdentityError;
use crate::ops::operators::ChangeError;
use crate::ops::waiting_calls::WaitingCall;
use crate::store::StoreError;

/// Why an operation was not done. Nothing was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// No such request here.
    #[error("{0} is not known here; see `countersign history`")]
    NotFound(String),
    /// No such agent, rule or setup key here.
    #[error("{what} is not known here; see `countersign {see}`")]
    Unknown {
        /// What was asked for, such as `rule test-invoices`.
        what: String,
        /// The command that lists what there is.
        see: &'static str,
    },
    /// A request id that several agents used.
    #[error("{id} is ambiguous; use one of {}", .candidates.join(", "))]
    Ambiguous {
        /// As asked.
        id: String,
        /// `WS/AGENT/ID` of each.
        candidates: Vec<String>,
    },
    /// No such key on the realm's list of operators.
    #[error("no operator has the key {0}; see `countersign operators list`")]
    NoSuchKey(String),
    /// No alarm of this number, or no longer.
    #[error("there is no alarm {0}; see `countersign alarms`")]
    NoSuchAlarm(i64),
    /// Somebody was first.
    #[error("{key} is already {state}: {who}")]
    AlreadyDecided {
        /// The request.
        key: RequestKey,
        /// Its state.
        state: State,
        /// Who, what and when.
        who: String,
    },
    /// This operator has voted, and others are waited for.
    #[error("{key}: {refusal}", refusal = DecideRefusal::AlreadyVoted)]
    AlreadyVoted {
        /// The request.
        key: RequestKey,
    },
    /// The deadline has passed.
    #[error("{0} has expired; the agent has gone on without an answer")]
    Expired(RequestKey),
    /// The agent cannot honour the verdict.
    #[error("{0}")]
    VerdictNotAllowed(String),
    /// A file turns on rules whose decisions people called wrong.
    #[error("people called wrong what these rules decided, and the file turns them on again: {0}")]
    Regretted(String),
    /// A change would approve calls that wait, and nobody has accepted that.
    #[error("this would approve {} still waiting: {}", calls(.0.len()), named(.0))]
    DecidesWaiting(Vec<WaitingCall>),
    /// What was seen is not what is stored.
    #[error("{0}")]
    DigestDiffers(String),
    /// Rejected, void, or of a stopped agent.
    #[error("{0}")]
    NotApprovable(String),
    /// The edited arguments or the answer do not fit.
    #[error("{0}")]
    InvalidArgs(String),
    /// The decision is in the outbox and goes out when the bus is back, unless it expires first.
    #[error(
        "the bus cannot be reached or has no room (`countersign doctor` says which); the decision on {0} is queued and goes out when it can, unless the deadline passes first"
    )]
    Queued(RequestKey),
    /// The bus cannot be reached; nothing was queued.
    #[error("{0}")]
    BusUnreachable(String),
    /// Nothing can be written now.
    #[error("this console is read-only: {0}")]
    ReadOnly(String),
    /// What was asked makes no sense here.
    #[error("{0}")]
    Usage(String),
    /// The surroundings are not fit.
    #[error("{0}")]
    Environment(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// Waiting calls that a message names; the others are counted.
const NAMED: usize = 5;

fn calls(count: usize) -> String {
    match count {
        1 => "1 call that is".to_owned(),
        more => format!("{more} calls that are"),
    }
}

fn named(calls: &[WaitingCall]) -> String {
    let first: Vec<String> = calls
        .iter()
        .take(NAMED)
        .map(|of| of.key.to_string())
        .collect();
    match calls.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

impl OpError {
    /// The stable code of the command line contract.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_)
            | Self::Unknown { .. }
            | Self::NoSuchKey(_)
            | Self::NoSuchAlarm(_) => ErrorCode::NotFound,
            Self::Ambiguous { .. } => ErrorCode::AmbiguousId,
            Self::AlreadyDecided { .. } | Self::AlreadyVoted { .. } => ErrorCode::AlreadyDecided,
            Self::Expired(_) => ErrorCode::Expired,
            Self::VerdictNotAllowed(_) | Self::Regretted(_) | Self::DecidesWaiting(_) => {
                ErrorCode::VerdictNotAllowed
            }
            Self::DigestDiffers(_) => ErrorCode::DigestDiffers,
            Self::NotApprovable(_) => ErrorCode::NotApprovable,
            Self::InvalidArgs(_) => ErrorCode::InvalidArgs,
            Self::Queued(_) | Self::BusUnreachable(_) => ErrorCode::BusUnreachable,
            Self::ReadOnly(_) => ErrorCode::ReadOnly,
            Self::Store(StoreError::Older(_)) => ErrorCode::Environment,
            Self::Store(error) if error.is_read_only() || error.is_damaged() => ErrorCode::ReadOnly,
            Self::Usage(_) => ErrorCode::Usage,
            Self::Environment(_) => ErrorCode::Environment,
            Self::Store(_) | Self::Failed(_) => ErrorCode::Failed,
        }
    }

    /// The pure refusal with the request's name and, where somebody was first, who that was.
    pub(crate) fn refused(key: &RequestKey, refusal: &DecideRefusal, who: String) -> Self {
        match refusal {
            DecideRefusal::AlreadyDecided(state) => Self::AlreadyDecided {
                key: key.clone(),
                state: *state,
                who,
            },
            DecideRefusal::AlreadyVoted => Self::AlreadyVoted { key: key.clone() },
            DecideRefusal::Expired => Self::Expired(key.clone()),
            DecideRefusal::NotApprovable(_)
            | DecideRefusal::VoidVote
            | DecideRefusal::AgentStopped { .. }
            | DecideRefusal::NeedsMoreOperators(_) => {
                Self::NotApprovable(format!("{key}: {refusal}"))
            }
            DecideRefusal::VerdictNotAllowed { .. }
            | DecideRefusal::AsksForAnswer
            | DecideRefusal::BeyondLimit { .. } => {
                Self::VerdictNotAllowed(format!("{key}: {refusal}"))
            }
            DecideRefusal::DigestDiffers { .. } => Self::DigestDiffers(format!("{key}: {refusal}")),
        }
    }

    /// The data folder holds no console's store.
    #[must_use]
    pub fn no_console(folder: &Path) -> Self {
        Self::Environment(format!(
            "{} holds no console's data yet; start one with `countersign serve` or open the window",
            folder.display()
        ))
    }

    pub(crate) fn stopped() -> Self {
        Self::Failed("the console is stopping; start it again and repeat the command".to_owned())
    }
}

impl From<JoinError> for OpError {
    fn from(error: JoinError) -> Self {
        if error.is_cancelled() {
            return Self::stopped();
        }
        tracing::error!(%error, "a fault of the program");
        Self::Failed(
            "a fault of the program; the log says more, please report it with the version"
                .to_owned(),
        )
    }
}

impl From<BusError> for OpError {
    fn from(error: BusError) -> Self {
        match error {
            BusError::Unreachable { .. }
            | BusError::Disconnected
            | BusError::ConnectionLost { .. }
            | BusError::NoLeader { .. }
            | BusError::TooManyConnections { .. }
            | BusError::TimedOut { .. } => Self::BusUnreachable(error.to_string()),
            _ => Self::Environment(error.to_string()),
        }
    }
}

impl From<ChangeError> for OpError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::NoSuchKey(key) => Self::NoSuchKey(key.to_string()),
            other => Self::InvalidArgs(other.to_string()),
        }
    }
}

impl From<IdentityError> for OpError {
    fn from(error: IdentityError) -> Self {
        Self::Environment(error.to_string())
    }
}

impl From<DataDirError> for OpError {
    fn from(error: DataDirError) -> Self {
        match error.takes_no_writes() {
            true => Self::ReadOnly(error.to_string()),
            false => Self::Environment(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_bus_that_is_full_for_a_moment_is_one_that_is_out_of_reach() {
        let url = "nats://127.0.0.1:4222".to_owned();
        let told = OpError::from(BusError::TooManyConnections { url });
        assert!(matches!(told, OpError::BusUnreachable(_)), "{told:?}");
    }

    #[tokio::test]
    async fn a_fault_of_the_program_is_no_console_that_stops() {
        let fault = tokio::task::spawn_blocking(|| panic!("a fault")).await;
        let told = OpError::from(fault.unwrap_err()).to_string();
        assert!(told.contains("a fault of the program"), "{told}");
        assert!(!told.contains("stopping"), "{told}");
    }
}
