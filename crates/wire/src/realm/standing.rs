//! Whether a key counts for a decision or a vote (protocol, section 5, steps 3, 10 and 16).

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{
    Limits,
    device::device_may,
    passkey::until,
    record::Role,
    state::{Realm, Term},
};
use crate::{
    Context, DecisionFault, DecisionVerdict, Effects, EnvelopeError, Origin, Risk, SignatureError,
    SignedEnvelope, Timestamp, decision::fits_origin, is_bound_by_limits,
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

/// A state of the log by which a message is judged.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    log: &'a Realm,
    sequence: Option<u64>,
    agent: bool,
}

impl Realm {
    /// As a console judges what is stored at this sequence; `None` is the head.
    pub fn at(&self, sequence: Option<u64>) -> Standing<'_> {
        Standing {
            log: self,
            sequence,
            agent: false,
        }
    }

    /// As an agent judges: what is more than no has to count at the head, too.
    pub fn for_agent(&self, sequence: u64) -> Standing<'_> {
        Standing {
            agent: true,
            ..self.at(Some(sequence))
        }
    }
}

impl<'a> Standing<'a> {
    /// The realm.
    pub fn realm(&self) -> &'a Uuid {
        self.log.realm()
    }

    /// The term of a key there.
    pub fn term(&self, key: &str) -> Option<&'a Term> {
        self.log.term(key, self.sequence)
    }

    /// Why a key does not count; `None` where it does.
    pub fn fault(&self, key: &str, facts: &Facts<'_>) -> Option<DecisionFault> {
        let fault = |sequence| match self.log.term(key, sequence) {
            None => Some(DecisionFault::UnknownKey),
            Some(term) => term.fault(facts),
        };
        let there = fault(self.sequence);
        there.or_else(|| {
            (self.agent && is_bound(facts.verdict))
                .then(|| fault(None))
                .flatten()
        })
    }

    /// The operators whose votes count, each once.
    pub fn voters<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k str>,
        facts: &Facts<'_>,
    ) -> BTreeSet<&'a str> {
        let counts = keys
            .into_iter()
            .filter(|key| self.fault(key, facts).is_none());
        let terms = counts.filter_map(|key| self.term(key));
        terms.map(|term| term.operator.as_str()).collect()
    }
}

impl Term {
    /// Why a key with this term does not count.
    pub fn fault(&self, facts: &Facts<'_>) -> Option<DecisionFault> {
        let judged = self
            .begins(facts.at, facts.webauthn)
            .and_then(|()| self.fits(facts))
            .and_then(|()| self.reaches(facts));
        judged.err()
    }

    /// The limits that bind it: the operator's, and a console key's own.
    fn binding(&self) -> impl Iterator<Item = &Limits> {
        let own = self.key.limits.iter();
        let own = own.filter(|_| self.key.role == Role::Auto);
        self.limits.iter().chain(own)
    }

    /// Whether the limits let more than no be said to a request of this workspace and effective risk.
    pub fn allows(&self, workspace: &str, risk: Risk) -> bool {
        self.binding().all(|limits| limits.allow(workspace, risk))
    }

    /// Whether nothing limits it.
    pub fn is_free(&self) -> bool {
        self.binding().next().is_none()
    }

    /// Whether this key signed it.
    pub fn signed(&self, place: (Context, &Uuid, &str), payload: &[u8], sig: &str) -> bool {
        self.key.signed(&self.operator, place, payload, sig)
    }

    /// The payload of a value, if this key signed it for this subject.
    pub fn open(
        &self,
        value: &SignedEnvelope,
        place: (Context, &Uuid, &str),
    ) -> Result<Vec<u8>, EnvelopeError> {
        let payload = value.payload_bytes()?;
        if value.key.as_str() == self.key.key && self.signed(place, &payload, value.sig.as_str()) {
            return Ok(payload);
        }
        Err(EnvelopeError::Signature(SignatureError::Mismatch))
    }

    /// A device ends, and needs an agent that checks it.
    pub(crate) fn begins(&self, at: Timestamp, webauthn: bool) -> Result<(), DecisionFault> {
        if self.key.role != Role::Device {
            return Ok(());
        }
        // Compared as texts: a date that does not exist counts as it is written.
        if until(&self.key).is_none_or(|until| until <= at.to_string().as_str()) {
            return Err(DecisionFault::UnknownKey);
        }
        webauthn
            .then_some(())
            .ok_or(DecisionFault::DeviceUnsupported)
    }

    /// A person's key decides, a console's answers; and the origin fits the verdict.
    pub(crate) fn fits(&self, facts: &Facts<'_>) -> Result<(), DecisionFault> {
        let person = matches!(self.key.role, Role::Human | Role::Device);
        let fits = person == (facts.origin == Origin::Operator)
            && fits_origin(facts.verdict, facts.origin);
        fits.then_some(()).ok_or(DecisionFault::WrongRole)
    }

    /// What the key and its operator may decide.
    fn reaches(&self, facts: &Facts<'_>) -> Result<(), DecisionFault> {
        let (key, own) = (&self.key, self.key.limits.as_ref());
        if key.role == Role::Device && !device_may(own, facts) {
            return Err(DecisionFault::DeviceLimit);
        }
        (self.allows(facts.workspace, facts.risk) || !is_bound(facts.verdict))
            .then_some(())
            .ok_or(DecisionFault::BeyondLimit)
    }
}

/// Whether limits bind it; what the system says, and every unknown word, needs a key in force alone.
fn is_bound(verdict: &DecisionVerdict) -> bool {
    verdict.operator().is_some_and(is_bound_by_limits)
}
