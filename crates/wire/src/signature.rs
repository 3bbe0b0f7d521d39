//! Signatures over stored messages (protocol, section 5, "Headers").
//!
//! Only the framed text of the protocol is signed, so that a signature is bound to its context, realm and subject.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ed25519_dalek::VerifyingKey;
use nkeys::KeyPair;
use uuid::Uuid;

use crate::{digest::Sha256Digest, keys::PublicKey, text_newtype::text_newtype};

/// Why a signature is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Neither 64 bytes in base64url without padding nor an assertion.
    #[error("a signature is 64 bytes in base64url without padding, or a device's assertion")]
    Malformed,
    /// Not a public key.
    #[error("not a public nkey of a user")]
    BadKey,
    /// The key did not sign this text.
    #[error("the signature does not belong to this key, realm, subject and payload")]
    Mismatch,
    /// The key pair has no private part.
    #[error("this key cannot sign: it has no private part")]
    CannotSign,
}

/// What kind of message a signature is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// A decision.
    Decision,
    /// A vote.
    Vote,
    /// A value of the shared policy.
    Policy,
    /// A head of an audit chain.
    Audit,
    /// When a message was stored first, on a bus that has it anew.
    Stored,
    /// An entry of the realm log.
    Realm,
    /// A key's consent to be an operator's.
    Key,
}

crate::words::words!(Context {
    Decision => "decision", Vote => "vote", Policy => "policy", Audit => "audit", Stored => "stored",
    Realm => "realm", Key => "key",
});

/// The most characters of a device's assertion.
pub(crate) const ASSERTION_MAX: usize = 4096;

/// An ed25519 signature in base64url without padding (86 characters), or a device's assertion: three parts of
/// base64url with dots between them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature(Arc<str>);

impl Signature {
    fn check(text: &str) -> Result<(), SignatureError> {
        if !text.contains('.') {
            return Self::bytes(text).map(|_| ());
        }
        let decodes = |part: &str| URL_SAFE_NO_PAD.decode(part).is_ok();
        let assertion = text.len() <= ASSERTION_MAX
            && text.split('.').count() == 3
            && text.split('.').all(decodes);
        assertion.then_some(()).ok_or(SignatureError::Malformed)
    }

    /// Whether it is one of a key, and no assertion.
    pub(crate) fn is_plain(&self) -> bool {
        Self::bytes(&self.0).is_ok()
    }

    fn bytes(text: &str) -> Result<[u8; 64], SignatureError> {
        let mut bytes = [0; 66];
        let length = URL_SAFE_NO_PAD
            .decode_slice(text, &mut bytes)
            .map_err(|_| SignatureError::Malformed)?;
        bytes[..length]
            .try_into()
            .map_err(|_| SignatureError::Malformed)
    }
}

text_newtype!(
    Signature,
    SignatureError,
    "^([A-Za-z0-9_-]{86}|[A-Za-z0-9_-]*[.][A-Za-z0-9_-]*[.][A-Za-z0-9_-]*)$",
    "An ed25519 signature in base64url without padding, or a device's assertion"
);

/// The bytes that are signed.
pub fn signing_input(context: Context, realm: &Uuid, subject: &str, payload: &[u8]) -> Vec<u8> {
    let digest = Sha256Digest::of_bytes(payload).hex();
    let context = context.as_str();
    format!(
        "countersign-v1\n{context}\n{}\n{subject}\n{digest}",
        realm.hyphenated()
    )
    .into_bytes()
}

/// Signs a message. `subject` is the subject on which it will be stored.
pub fn sign(
    pair: &KeyPair,
    context: Context,
    realm: &Uuid,
    subject: &str,
    payload: &[u8],
) -> Result<Signature, SignatureError> {
    let bytes = pair
        .sign(&signing_input(context, realm, subject, payload))
        .map_err(|_| SignatureError::CannotSign)?;
    Ok(Signature(Arc::from(URL_SAFE_NO_PAD.encode(bytes))))
}

/// Checks a signature against the public nkey that is said to have made it: by the strict rules, which no key or R of
/// small order passes. Libraries that are laxer would see other signatures hold than agents in other languages.
pub fn verify(
    public_nkey: &str,
    context: Context,
    realm: &Uuid,
    subject: &str,
    payload: &[u8],
    sig: &str,
) -> Result<(), SignatureError> {
    let bytes = Signature::bytes(sig)?;
    let key = PublicKey::bytes(public_nkey).map_err(|_| SignatureError::BadKey)?;
    let key = VerifyingKey::from_bytes(&key).map_err(|_| SignatureError::BadKey)?;
    let sig = ed25519_dalek::Signature::from_bytes(&bytes);
    key.verify_strict(&signing_input(context, realm, subject, payload), &sig)
        .map_err(|_| SignatureError::Mismatch)
}
