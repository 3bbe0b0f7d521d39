//! A newcomer's ask: a value of `CS_POLICY` that changes nothing. An administrator's console answers it by an entry.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use uuid::Uuid;

use super::{
    entry::{is_text, object},
    record::SigningKey,
};
use crate::{Context, PublicKey, policy_subject};

/// An ask that its key signed, and whose key agreed to be the operator's.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The key, as a record would have it.
    pub key: SigningKey,
    /// The key itself for a new person, or the operator whose further key it wants to be.
    pub operator: PublicKey,
    /// The name, for display.
    pub name: String,
    /// The asking console's clock, for display.
    pub at: String,
}

impl Ask {
    /// The key of `CS_POLICY` under which a key asks.
    pub fn policy_key(key: &str) -> String {
        format!("ask.{key}")
    }

    /// Reads the value under a key of `CS_POLICY`; `None` where it is no ask of that key.
    pub fn read(realm: &Uuid, policy_key: &str, value: &[u8]) -> Option<Self> {
        let envelope = object(value)?;
        let text = |name: &str| envelope.get(name).and_then(Value::as_str);
        let payload = URL_SAFE_NO_PAD.decode(text("payload")?).ok()?;
        let fields = object(&payload)?;
        let key = SigningKey::read(fields.get("key")?)?;
        let operator: PublicKey = fields.get("operator")?.as_str()?.parse().ok()?;
        let named = fields.get("name").filter(|name| is_text(name, 1, 256))?;
        let at = fields.get("at").filter(|at| is_text(at, 1, 64))?;
        let own = text("key")? == key.key && Self::policy_key(&key.key) == policy_key;
        let subject = policy_subject(policy_key);
        let place = (Context::Policy, realm, subject.as_str());
        let fits = fields.get("v")?.as_u64() == Some(1)
            && own
            && key.agrees(realm, operator.as_str())
            && key.signed(operator.as_str(), place, &payload, text("sig")?);
        fits.then(|| Self {
            operator,
            name: named.as_str().unwrap_or_default().to_owned(),
            at: at.as_str().unwrap_or_default().to_owned(),
            key,
        })
    }
}
