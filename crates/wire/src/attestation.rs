//! A console's word on when the server stored a message that a recovered bus has anew
//! (`docs/recover.md`, "Stamps").
//!
//! It speaks only of the bytes, the subject and the realm that it was signed for. Agents never read it: for them only
//! the server's stamp of what is stored now counts.

use nkeys::KeyPair;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    Context, EnvelopeError, Sha256Digest, SignedEnvelope, Signer, Timestamp, read_json,
    uuid_text::hyphenated,
};

/// The header that carries it: a [`SignedEnvelope`] as JSON, beside `CS-Key` and `CS-Sig`.
pub const ATTESTATION_HEADER: &str = "CS-Stored";

/// The longest that is looked into; a usual one has under 600 bytes.
const MAX_BYTES: usize = 2_048;

/// What the console signs: context `stored`, subject the message's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attestation {
    /// The protocol's version, 1.
    pub v: u8,
    /// The digest of the message's payload.
    pub payload_digest: Sha256Digest,
    /// The server's stamp at which it was stored first.
    pub stored_at: Timestamp,
    /// The epoch of the stream in which it was before.
    #[serde(deserialize_with = "hyphenated")]
    pub epoch: Uuid,
    /// Its sequence there.
    pub seq: u64,
    /// The number of the realm log's head when it was stored first.
    pub n: u64,
    /// The digest of that entry.
    pub digest: Sha256Digest,
}

impl Attestation {
    /// The header's value, signed for the subject on which the message is stored.
    pub fn seal(
        &self,
        signer: &KeyPair,
        realm: &Uuid,
        subject: &str,
    ) -> Result<String, EnvelopeError> {
        let payload = serde_json::to_vec(self).map_err(|_| EnvelopeError::Malformed)?;
        let envelope = SignedEnvelope::seal(signer, Context::Stored, realm, subject, &payload)?;
        serde_json::to_string(&envelope).map_err(|_| EnvelopeError::Malformed)
    }

    /// The word in a header's value and the key that gave it, if that key signed it for this subject and
    /// these bytes. Whether the key is trusted is the reader's question.
    pub fn open(
        header: &str,
        realm: &Uuid,
        subject: &str,
        stored: &[u8],
    ) -> Result<(Signer, Self), EnvelopeError> {
        if header.len() > MAX_BYTES {
            return Err(EnvelopeError::Malformed);
        }
        let envelope = SignedEnvelope::from_bytes(header.as_bytes())?;
        let payload = envelope.open(Context::Stored, realm, subject)?;
        let said: Self = read_json(&payload).map_err(|_| EnvelopeError::Malformed)?;
        let of_these = said.payload_digest == Sha256Digest::of_bytes(stored);
        if said.v != 1 || !of_these {
            return Err(EnvelopeError::Malformed);
        }
        Ok((envelope.key, said))
    }
}
