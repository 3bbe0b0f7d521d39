//! An operator's key endorses a later one (protocol, section 8, "Operators").
//!
//! The endorsing key must have been an unrestricted operator's when it signed. With it an agent that was enrolled
//! before an operator arrived can take over the list that his console has signed.

use std::collections::{BTreeMap, BTreeSet};

use nkeys::KeyPair;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    Context, EnvelopeError, KeyRole, OperatorList, PublicKey, SignatureError, SignedEnvelope,
    Timestamp, handover::subject, read_json,
};

/// What the older key signs: context `policy`, subject `$KV.CS_POLICY.operators.{key}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vouch {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// The key that signs this.
    pub by: PublicKey,
    /// The endorsed key.
    pub key: PublicKey,
    /// When, by the console's estimate of the server's time.
    pub at: Timestamp,
}

impl Vouch {
    /// The signed endorsement of `key` by `by`, as the list's `vouched` holds it.
    pub fn seal(
        by: &KeyPair,
        realm: &Uuid,
        key: &PublicKey,
        at: Timestamp,
    ) -> Result<SignedEnvelope, EnvelopeError> {
        let word = Self {
            v: 1,
            by: PublicKey::of(by).map_err(|_| SignatureError::BadKey)?,
            key: key.clone(),
            at,
        };
        let payload = serde_json::to_vec(&word).map_err(|_| EnvelopeError::Malformed)?;
        SignedEnvelope::seal(by, Context::Policy, realm, &subject(key), &payload)
    }

    /// What a word says, without a look at the signature.
    pub fn said(word: &SignedEnvelope) -> Option<Self> {
        let said: Self = read_json(&word.payload_bytes().ok()?).ok()?;
        (said.v == 1 && said.by == word.key && said.key != said.by).then_some(said)
    }
}

impl OperatorList {
    /// What a word of this list says, if its signer said so and was then a person's key without limits.
    pub fn vouch(&self, realm: &Uuid, word: &SignedEnvelope) -> Option<Vouch> {
        let said = Vouch::said(word)?;
        word.open(Context::Policy, realm, &subject(&said.key))
            .ok()?;
        self.may_edit_at(said.by.as_str(), said.at.get())
            .then_some(said)
    }

    /// Whether a person's key counts for the reader, or has taken over from one that does or was endorsed by one,
    /// however many keys lie between. `known` says whether a key counts; `None` of one that the reader does not know.
    /// What is known not to count leads nowhere: a key that was taken away does not bring others in.
    pub fn descends(&self, realm: &Uuid, key: &str, known: impl Fn(&str) -> Option<bool>) -> bool {
        let mut words: BTreeMap<String, Vec<&SignedEnvelope>> = BTreeMap::new();
        for word in &self.vouched {
            if let Some(said) = Vouch::said(word) {
                words.entry(said.key.to_string()).or_default().push(word);
            }
        }
        let (mut seen, mut open) = (BTreeSet::new(), vec![key.to_owned()]);
        while let Some(at) = open.pop() {
            match known(&at) {
                Some(true) => return true,
                Some(false) => continue,
                None => {}
            }
            let terms = self
                .operators
                .iter()
                .filter(|entry| entry.key.as_str() == at && entry.role == KeyRole::Human);
            let mut terms = terms.peekable();
            if terms.peek().is_none() || !seen.insert(at.clone()) {
                continue;
            }
            open.extend(
                terms.filter_map(|entry| entry.predecessor(realm).map(|old| old.to_string())),
            );
            let vouched = words.get(&at).into_iter().flatten();
            open.extend(
                vouched.filter_map(|word| self.vouch(realm, word).map(|said| said.by.to_string())),
            );
        }
        false
    }
}
