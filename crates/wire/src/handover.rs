//! A key hands over to the next one of the same operator or console (protocol, section 8, "Operators").
//!
//! The old key itself has to name the new one. With it an agent that knows only an older key can take over a list that
//! a newer one has signed, however many rotations it has missed.

use nkeys::KeyPair;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    Context, EnvelopeError, OperatorEntry, PublicKey, SignatureError, SignedEnvelope, Timestamp,
    policy_subject, read_json,
};

/// What the old key signs: context `policy`, subject `$KV.CS_POLICY.operators.{new}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Handover {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// The key that signs this.
    pub old: PublicKey,
    /// The key that takes over.
    pub new: PublicKey,
    /// When, by the console's estimate of the server's time; for display.
    pub at: Timestamp,
}

/// Where a key's word for another one is signed.
pub(crate) fn subject(new: &PublicKey) -> String {
    policy_subject(&format!("operators.{new}"))
}

impl Handover {
    /// The old key's signed statement for `new`, as `takes_over` of the new key's entry holds it.
    pub fn seal(
        old: &KeyPair,
        realm: &Uuid,
        new: &PublicKey,
        at: Timestamp,
    ) -> Result<SignedEnvelope, EnvelopeError> {
        let word = Self {
            v: 1,
            old: PublicKey::of(old).map_err(|_| SignatureError::BadKey)?,
            new: new.clone(),
            at,
        };
        let payload = serde_json::to_vec(&word).map_err(|_| EnvelopeError::Malformed)?;
        SignedEnvelope::seal(old, Context::Policy, realm, &subject(new), &payload)
    }
}

impl OperatorEntry {
    /// The key from which this one has taken over, if that key said so itself.
    pub fn predecessor(&self, realm: &Uuid) -> Option<PublicKey> {
        let word = self.takes_over.as_ref()?;
        let payload = word
            .open(Context::Policy, realm, &subject(&self.key))
            .ok()?;
        let said: Handover = read_json(&payload).ok()?;
        (said.v == 1 && said.old == word.key && said.new == self.key).then_some(said.old)
    }
}
