//! What the core remembers of a request in order to decide on it.

use super::{Delivery, State, Timestamp};
use countersign_wire::{Effects, RequestKey, Risk, VerdictSet};

/// A request as the life cycle sees it. The payload itself stays in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// Row number: the order of arrival in this console.
    pub id: i64,
    /// Who asks, and under which name.
    pub key: RequestKey,
    /// Its state.
    pub state: State,
    /// How far it and its answer have come.
    pub delivery: Delivery,
    /// Effective risk: an unknown word reads critical.
    pub risk: Risk,
    /// Effective effects of the call, where its agent checks signatures of devices; none where it does not.
    pub device_effects: Option<Effects>,
    /// Digest of the arguments at the gate; none for questions and forms.
    pub args_digest: Option<String>,
    /// Digest of the payload as stored.
    pub request_digest: String,
    /// Verdicts that the agent can honour.
    pub allowed: VerdictSet,
    /// How many operators must agree as the request says, 1 to 5: a decision with fewer is void everywhere.
    pub approvals_required: u8,
    /// The same, or more where a rule asks for more: this console's operators have not decided before.
    pub approvals_needed: u8,
    /// The server's stamp of the stored request.
    pub stored_at: Timestamp,
    /// From here on no approval takes effect.
    pub deadline_at: Timestamp,
    /// The deadline before it was tightened.
    pub first_deadline_at: Timestamp,
    /// When a tighten was stored.
    pub tightened_at: Option<Timestamp>,
    /// When a withdraw was stored.
    pub withdrawn_at: Option<Timestamp>,
    /// The agent's arguments are shown and can be edited.
    pub has_args: bool,
    /// It is a request of the protocol for which this console had no room: another one may have.
    pub refused_here: bool,
    /// It is not a request of the protocol: every console rejects it, whatever else is stored.
    pub no_request: bool,
}

impl RequestRecord {
    /// The state from which what is stored on the bus leads on. A console without room for a request rejects it; where
    /// another one had room and was first, or the agent had withdrawn, that is here too.
    #[must_use]
    pub fn state_on_the_bus(&self) -> State {
        match self.state {
            State::Rejected if !self.no_request => State::Pending,
            state => state,
        }
    }

    /// The deadline of a decision stored at `stored_at`: a tighten that was stored later does not reach
    /// back.
    #[must_use]
    pub fn deadline_for(&self, stored_at: Timestamp) -> Timestamp {
        match self.tightened_at {
            Some(tightened) if stored_at < tightened => self.first_deadline_at,
            _ => self.deadline_at,
        }
    }

    /// Whether the agent had withdrawn when a decision was stored: the first stored wins (protocol, section 6). An
    /// invalid request cannot be withdrawn.
    #[must_use]
    pub fn was_withdrawn_at(&self, stored_at: Timestamp) -> bool {
        let withdrawn = self.withdrawn_at.filter(|_| !self.no_request);
        withdrawn.is_some_and(|withdrawn| withdrawn <= stored_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agent_says_later_does_not_reach_back() {
        let record = RequestRecord {
            id: 1,
            key: "acme/bot/r1".parse().unwrap(),
            state: State::Pending,
            delivery: Delivery::Stored,
            risk: Risk::Low,
            device_effects: None,
            args_digest: None,
            request_digest: "sha256:bb".into(),
            allowed: VerdictSet::DENY_ONLY,
            approvals_required: 1,
            approvals_needed: 1,
            stored_at: Timestamp(0),
            deadline_at: Timestamp(50),
            first_deadline_at: Timestamp(100),
            tightened_at: Some(Timestamp(30)),
            withdrawn_at: Some(Timestamp(40)),
            has_args: true,
            refused_here: false,
            no_request: false,
        };
        assert_eq!(record.deadline_for(Timestamp(29)), Timestamp(100));
        assert_eq!(record.deadline_for(Timestamp(30)), Timestamp(50));
        assert!(!record.was_withdrawn_at(Timestamp(39)));
        assert!(record.was_withdrawn_at(Timestamp(40)));
        let none = RequestRecord {
            no_request: true,
            ..record
        };
        assert!(!none.was_withdrawn_at(Timestamp(40)));
    }
}
