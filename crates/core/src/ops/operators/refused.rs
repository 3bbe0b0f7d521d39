//! A value of `operators` that does not count, and what is written in its place.
//!
//! A key that only the refused list names is kept: it arrives as a newcomer does.

use countersign_wire::{OperatorList, is_timely};

use super::lawful;
use crate::domain::Timestamp;

/// Why a value does not count.
pub(super) enum Refused {
    /// It does not verify, or was deleted.
    Unreadable,
    /// It does what its signer may not do.
    Unlawful(OperatorList),
    /// It was signed before the list in force, or not long enough after.
    Older(OperatorList),
}

impl Refused {
    /// With its time, unless that lies so far ahead that no agent believed it.
    pub(super) fn older(known: &OperatorList, list: OperatorList, stored_at: Timestamp) -> Self {
        let at = list.at;
        Self::Older(OperatorList {
            at: at.filter(|at| is_timely(known.at, *at, stored_at.into())),
            ..list
        })
    }

    /// Whether what is known must be written over it: agents, and consoles to come, would take it for the list.
    pub(super) fn harms(&self, known: &OperatorList) -> bool {
        match self {
            Self::Unreadable | Self::Older(_) => true,
            Self::Unlawful(list) => lawful::loses(known, list),
        }
    }

    /// What is written next: what is known, with the keys that the refused list would have added. It is signed
    /// later than both, for agents may have taken the refused one over.
    pub(super) fn repaired(&self, known: &OperatorList, now: Timestamp) -> OperatorList {
        match self {
            Self::Unreadable => known.clone(),
            Self::Unlawful(list) | Self::Older(list) => OperatorList {
                at: known.at.max(list.at),
                ..lawful::merged(known, list, now)
            },
        }
    }
}
