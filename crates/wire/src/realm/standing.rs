//! Whether a key counts for a decision or a vote (protocol, section 5, steps 3, 10 and 16).

use std::collections::BTreeSet;

use super::{
    device::device_may,
    passkey::until,
    record::Role,
    state::{Realm, Term},
};
use crate::{
    DecisionFault, DecisionVerdict, Effects, Origin, Risk, Timestamp, decision::fits_origin,
    is_bound_by_limits,
};

/// What a decision or a vote says, and of which request.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Its verdict.
    pub verdict: &'a DecisionVerdict,
    /// Its origin; of a vote `operator`.
    pub origin: Origin,
    /// The request's workspace.
    pub workspace: &'a str,
    /// The request's effective risk.
    pub risk: Risk,
    /// The request's effective effects.
    pub effects: Effects,
    /// Whether the request's agent verifies signatures of devices.
    pub webauthn: bool,
    /// The server's stamp.
    pub at: Timestamp,
}

impl Realm {
    /// Why a key does not count for what is stored at this sequence, or at the head; `None` where it does.
    pub fn fault(
        &self,
        key: &str,
        sequence: Option<u64>,
        facts: &Facts<'_>,
    ) -> Option<DecisionFault> {
        match self.term(key, sequence) {
            None => Some(DecisionFault::UnknownKey),
            Some(term) => term.fault(facts),
        }
    }

    /// The same for an agent: what is more than no has to count at the head, too.
    pub fn agent_fault(
        &self,
        key: &str,
        sequence: u64,
        facts: &Facts<'_>,
    ) -> Option<DecisionFault> {
        let there = self.fault(key, Some(sequence), facts);
        there.or_else(|| {
            is_bound(facts.verdict)
                .then(|| self.fault(key, None, facts))
                .flatten()
        })
    }

    /// The operators whose votes count, each once.
    pub fn voters<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k str>,
        sequence: Option<u64>,
        facts: &Facts<'_>,
    ) -> BTreeSet<&str> {
        let terms = keys.into_iter().filter_map(|key| self.term(key, sequence));
        let counts = terms.filter(|term| term.fault(facts).is_none());
        counts.map(|term| term.operator.as_str()).collect()
    }
}

impl Term {
    /// Why a key with this term does not count.
    pub fn fault(&self, facts: &Facts<'_>) -> Option<DecisionFault> {
        let (key, own) = (&self.key, self.key.limits.as_ref());
        let device = key.role == Role::Device;
        // Compared as texts: a date that does not exist counts as it is written.
        if device && until(key).is_none_or(|until| until <= facts.at.to_string().as_str()) {
            return Some(DecisionFault::UnknownKey);
        }
        if device && !facts.webauthn {
            return Some(DecisionFault::DeviceUnsupported);
        }
        let person = matches!(key.role, Role::Human | Role::Device);
        if person != (facts.origin == Origin::Operator) || !fits_origin(facts.verdict, facts.origin)
        {
            return Some(DecisionFault::WrongRole);
        }
        if device && !device_may(own, facts) {
            return Some(DecisionFault::DeviceLimit);
        }
        let mut binding = self
            .limits
            .iter()
            .chain(own.filter(|_| key.role == Role::Auto));
        let within = binding.all(|limits| limits.allow(facts.workspace, facts.risk));
        (is_bound(facts.verdict) && !within).then_some(DecisionFault::BeyondLimit)
    }
}

/// Whether limits bind it; what the system says, and every unknown word, needs a key in force alone.
fn is_bound(verdict: &DecisionVerdict) -> bool {
    verdict.operator().is_some_and(is_bound_by_limits)
}
