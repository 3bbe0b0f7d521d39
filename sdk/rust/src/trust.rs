//! Whose signatures count.
//!
//! Refuses a list of operators that no human key already in force has signed, or one that took over
//! from it, and never goes back to an older one (protocol, section 8, "Operators").

use countersign_wire::{
    Context, Enrolment, KeyRole, OperatorList, Origin, PolicyKey, Risk, SignedEnvelope, TrustedKey,
    WorkspaceName, read_json,
};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::GateError;

/// The keys in force.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    pub(crate) realm: Uuid,
    keys: Keys,
}

#[derive(Debug, Clone)]
enum Keys {
    /// From `agent.json`: they count at any time.
    Enrolled(Vec<TrustedKey>),
    /// From the bus; `revision` is the list's stream sequence.
    Listed { list: OperatorList, revision: u64 },
    /// No key at all, and the agent said that this is all right.
    Anyone,
}

impl Trust {
    /// Error: `no_trusted_keys`, unless `insecure`.
    pub(crate) fn of(enrolment: &Enrolment, insecure: bool) -> Result<Self, GateError> {
        let keys = match (enrolment.trusted_keys.is_empty(), insecure) {
            (false, _) => Keys::Enrolled(enrolment.trusted_keys.clone()),
            (true, true) => Keys::Anyone,
            (true, false) => return Err(GateError::NoTrustedKeys),
        };
        Ok(Self {
            realm: enrolment.realm,
            keys,
        })
    }

    /// The role of a key for what was stored at that server time. `origin` is the
    /// decision's word; it only matters where no key is known.
    pub(crate) fn role_at(
        &self,
        key: &str,
        stored_at: OffsetDateTime,
        origin: Option<Origin>,
    ) -> Option<KeyRole> {
        match &self.keys {
            Keys::Enrolled(keys) => {
                let mut roles = keys
                    .iter()
                    .filter(|trusted| trusted.key.as_str() == key)
                    .map(|trusted| trusted.role);
                let first = roles.next()?;
                roles.all(|role| role == first).then_some(first)
            }
            Keys::Listed { list, .. } => list.role_at(key, stored_at),
            Keys::Anyone => Some(match origin {
                Some(Origin::Operator) => KeyRole::Human,
                _ => KeyRole::Auto,
            }),
        }
    }

    /// Whether the limits of a key, as they stood at that server time, let it say more than no. Keys of
    /// `agent.json` have none.
    pub(crate) fn may_allow(
        &self,
        key: &str,
        stored_at: OffsetDateTime,
        workspace: &WorkspaceName,
        risk: Risk,
    ) -> bool {
        match &self.keys {
            Keys::Listed { list, .. } => list.may_allow_at(key, stored_at, workspace, risk),
            Keys::Enrolled(_) | Keys::Anyone => true,
        }
    }

    /// The trust that follows from the stored value of `operators`; none when it
    /// is no newer or signed neither by a human key in force nor by one that took over from it.
    pub(crate) fn take_over(
        &self,
        value: &[u8],
        revision: u64,
        stored_at: OffsetDateTime,
    ) -> Option<Self> {
        let newer = match &self.keys {
            Keys::Enrolled(_) => true,
            Keys::Listed { revision: held, .. } => revision > *held,
            Keys::Anyone => false,
        };
        if !newer {
            return None;
        }
        let envelope = SignedEnvelope::from_bytes(value).ok()?;
        let subject = PolicyKey::Operators.subject();
        let payload = envelope.open(Context::Policy, &self.realm, &subject).ok()?;
        let list: OperatorList = read_json(&payload).ok()?;
        let signer = envelope.key.as_str();
        let known = |key: &str| self.role_at(key, stored_at, None) == Some(KeyRole::Human);
        // A signer that took over from a known key counts only as far as its own list lets it.
        let counts = known(signer) || list.role_at(signer, stored_at) == Some(KeyRole::Human);
        if !counts || !list.descends(&self.realm, signer, known) {
            return None;
        }
        (!list.operators.is_empty()).then_some(Self {
            realm: self.realm,
            keys: Keys::Listed { list, revision },
        })
    }
}
