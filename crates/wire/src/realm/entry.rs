//! An entry of the realm log by its form: the envelope and the payload in it.
//!
//! Nothing that two readers could read differently is an entry. Of `operators` and `realm` only that they are there is
//! looked at here.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nkeys::KeyPair;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    Context, EnvelopeError, PublicKey, SUBJECT_PREFIX, Sha256Digest, Signature, SignedEnvelope,
    json::{json_value, scan},
    verify,
};

/// The most bytes of an entry.
pub const ENTRY_MAX_BYTES: usize = 32_768;

/// The subject for which every entry and proof is signed, whatever slot it is in.
pub const REALM_SUBJECT: &str = "countersign.v1.realm";

/// How much of the shared policy a signer's console had read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyMark {
    /// The epoch of the bucket's stream.
    pub epoch: String,
    /// The last sequence.
    pub seq: u64,
}

/// A message in the form of an entry. Its signature may be anybody's.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key of the envelope.
    pub key: PublicKey,
    /// The digest of the payload.
    pub digest: Sha256Digest,
    /// The number in the chain that it claims.
    pub n: u64,
    /// The digest of the entry before it.
    pub prev: Option<Sha256Digest>,
    /// Who signs, as the payload says.
    pub by: PublicKey,
    /// What the signer's console had read of `CS_POLICY`.
    pub policy: Option<PolicyMark>,
    /// Every field of the payload.
    pub fields: Map<String, Value>,
    payload: Vec<u8>,
    sig: Signature,
}

/// The slot that a subject names, from 1; `None` for every other subject.
pub fn slot_of(subject: &str) -> Option<u64> {
    let slot = subject
        .strip_prefix(SUBJECT_PREFIX)?
        .strip_prefix("realm.")?;
    let digits = slot.bytes().all(|byte| byte.is_ascii_digit());
    (digits && slot.len() <= 15 && !slot.starts_with('0'))
        .then(|| slot.parse().ok())
        .flatten()
}

impl Entry {
    /// Reads a message of a slot; `None` where it has another form.
    pub fn read(message: &[u8]) -> Option<Self> {
        let envelope = object(message)?;
        let payload = URL_SAFE_NO_PAD
            .decode(envelope.get("payload")?.as_str()?)
            .ok()?;
        let fields = object(&payload)?;
        let entry = Self {
            key: text(&envelope, "key")?.parse().ok()?,
            sig: text(&envelope, "sig")?
                .parse()
                .ok()
                .filter(Signature::is_plain)?,
            digest: Sha256Digest::of_bytes(&payload),
            n: fields.get("n")?.as_u64().filter(|n| *n > 0)?,
            prev: nullable(&fields, "prev", |prev| prev.as_str()?.parse().ok())?,
            by: text(&fields, "by")?.parse().ok()?,
            policy: nullable(&fields, "policy", policy)?,
            payload,
            fields,
        };
        let fields = &entry.fields;
        let fits = fields.get("v")?.as_u64() == Some(1) && is_text(fields.get("at")?, 1, 64);
        fits.then_some(entry)
    }

    /// Whether the key of the envelope signed it, and it says so.
    pub fn is_signed(&self, realm: &Uuid) -> bool {
        let (key, sig) = (self.key.as_str(), self.sig.as_str());
        self.by == self.key
            && verify(
                key,
                Context::Realm,
                realm,
                REALM_SUBJECT,
                &self.payload,
                sig,
            )
            .is_ok()
    }

    /// Signs a payload for whatever slot is free.
    pub fn seal(pair: &KeyPair, realm: &Uuid, payload: &Value) -> Result<Vec<u8>, EnvelopeError> {
        let payload = serde_json::to_vec(payload).map_err(|_| EnvelopeError::Malformed)?;
        SignedEnvelope::seal(pair, Context::Realm, realm, REALM_SUBJECT, &payload)?.to_bytes()
    }

    /// The frame of a payload, to which what changes is added.
    pub fn frame(n: u64, prev: Option<Sha256Digest>, at: &str, by: &PublicKey) -> Value {
        json!({"v": 1, "n": n, "prev": prev, "at": at, "by": by, "policy": null})
    }
}

/// The object of a text that every reader reads alike.
pub(super) fn object(text: &[u8]) -> Option<Map<String, Value>> {
    scan(text, ENTRY_MAX_BYTES, &[]).ok()?;
    match json_value(text)? {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

/// A field that has to be there, and may be null.
fn nullable<T>(
    fields: &Map<String, Value>,
    name: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Option<Option<T>> {
    match fields.get(name)? {
        Value::Null => Some(None),
        value => read(value).map(Some),
    }
}

fn policy(mark: &Value) -> Option<PolicyMark> {
    let epoch = mark.get("epoch").filter(|epoch| is_text(epoch, 1, 64))?;
    Some(PolicyMark {
        epoch: epoch.as_str()?.to_owned(),
        seq: mark.get("seq")?.as_u64()?,
    })
}

/// Whether it is a text of so many bytes.
pub(super) fn is_text(value: &Value, least: usize, most: usize) -> bool {
    value
        .as_str()
        .is_some_and(|text| (least..=most).contains(&text.len()))
}
