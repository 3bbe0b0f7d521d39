//! What an operation answers instead of a result: a stable code, and a sentence for a person.

use std::fmt;

use countersign_wire::{ErrorCode, RequestKey};

/// Why an operation was not done. Nothing was changed unless the sentence says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// The code of the command line contract.
    pub code: ErrorCode,
    /// What happened, and what to do.
    pub message: String,
    /// The request that it is about. With [`ErrorCode::BusUnreachable`]: its decision is queued.
    pub about: Option<RequestKey>,
}

macro_rules! constructors {
    ($($name:ident => $code:ident),* $(,)?) => {
        impl Fault {
            $(
                #[doc = concat!("A fault with [`ErrorCode::", stringify!($code), "`].")]
                pub fn $name(message: impl Into<String>) -> Self {
                    Self { code: ErrorCode::$code, message: message.into(), about: None }
                }
            )*
        }
    };
}

constructors! {
    failed => Failed,
    usage => Usage,
    environment => Environment,
    ambiguous_id => AmbiguousId,
    not_found => NotFound,
    already_decided => AlreadyDecided,
    expired => Expired,
    verdict_not_allowed => VerdictNotAllowed,
    digest_differs => DigestDiffers,
    not_approvable => NotApprovable,
    invalid_args => InvalidArgs,
    bus_unreachable => BusUnreachable,
    read_only => ReadOnly,
}

impl Fault {
    /// Names the request that it is about.
    #[must_use]
    pub fn about(mut self, key: &RequestKey) -> Self {
        self.about = Some(key.clone());
        self
    }

    /// It does not exist here; `see` is the command that lists what there is.
    pub fn unknown(what: impl fmt::Display, see: &str) -> Self {
        Self::not_found(format!("{what} is not known here; see `countersign {see}`"))
    }

    /// The deadline of a request has passed.
    #[must_use]
    pub fn too_late(key: &RequestKey) -> Self {
        let message = format!("{key} has expired; the agent has gone on without an answer");
        Self::expired(message).about(key)
    }

    /// The decision is in the outbox and goes out when the bus is back, unless it expires first.
    #[must_use]
    pub fn queued(key: &RequestKey) -> Self {
        Self::bus_unreachable(format!(
            "the bus cannot be reached or has no room (`countersign doctor` says which); the decision on {key} is queued and goes out when it can, unless the deadline passes first"
        ))
        .about(key)
    }

    /// Whether it is only that a decision is [`Self::queued`].
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.code == ErrorCode::BusUnreachable && self.about.is_some()
    }
}
