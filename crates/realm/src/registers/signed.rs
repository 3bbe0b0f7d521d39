//! A value of the bucket: its signature, and the bytes of one.

use bytes::Bytes;
use countersign_keys::identity::Identity;
use countersign_wire::realm::{Term, device_may_set};
use countersign_wire::{Context, EnvelopeError, KeyRole, PolicyKey, SignedEnvelope, json_value};
use uuid::Uuid;

use crate::bus::PolicyChange;
use crate::domain::{Fault, Timestamp};
use crate::signers::Signers;
use crate::store::policy::PolicyRow;

/// Where a value is in the bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) revision: u64,
    /// When the server stored it.
    pub(super) stored_at: Timestamp,
}

impl Place {
    pub(super) fn of(change: &PolicyChange) -> Self {
        Self {
            revision: change.revision,
            stored_at: change.stamp.into(),
        }
    }
}

/// What the bucket holds under a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    /// Somebody signed it who is in force and may sign such a value.
    Signed(PolicyRow, Box<Term>),
    /// Nobody did.
    Unsigned,
    /// The key has no value any more.
    Deleted,
}

impl Found {
    pub(super) fn of(
        signers: &impl Signers,
        (realm, key): (&Uuid, &PolicyKey),
        (value, place): (Option<&[u8]>, Place),
    ) -> Self {
        let Some(value) = value else {
            return Self::Deleted;
        };
        match open(signers, (realm, key), (value, place)) {
            Some((row, term)) => Self::Signed(row, Box::new(term)),
            None => Self::Unsigned,
        }
    }

    pub(super) fn payload(&self) -> Option<&[u8]> {
        match self {
            Self::Signed(row, _) => Some(&row.payload),
            Self::Unsigned | Self::Deleted => None,
        }
    }
}

fn open(
    signers: &impl Signers,
    (realm, key): (&Uuid, &PolicyKey),
    (value, place): (&[u8], Place),
) -> Option<(PolicyRow, Term)> {
    let envelope = SignedEnvelope::from_bytes(value).ok()?;
    let signer = envelope.key.as_str();
    let term = signers.term(signer, place.revision)?;
    let subject = key.subject();
    let payload = term
        .open(&envelope, (Context::Policy, realm, &subject))
        .ok()?;
    let may = match term.key.role.known()? {
        KeyRole::Human => true,
        KeyRole::Auto => false,
        KeyRole::Device => device_may_set(signer, &key.to_string(), &json_value(&payload)?),
    };
    if !may {
        return None;
    }
    let row = PolicyRow {
        key: key.to_string(),
        revision: i64::try_from(place.revision).unwrap_or(i64::MAX),
        payload,
        signer: envelope.key.to_string(),
        sig: envelope.sig.to_string(),
    };
    Some((row, term))
}

/// The bytes of a value that this console's operator signs.
///
/// # Errors
/// `ErrorCode::Failed` where it cannot be signed.
pub fn sealed(
    identity: &Identity,
    realm: &Uuid,
    key: &PolicyKey,
    payload: &[u8],
) -> Result<Bytes, Fault> {
    let (keys, subject) = (identity.signing(), key.subject());
    let failed = |error: EnvelopeError| {
        Fault::failed(format!(
            "{key} of the shared policy cannot be signed: {error}"
        ))
    };
    let envelope = SignedEnvelope::seal(&keys.human, Context::Policy, realm, &subject, payload);
    let bytes = envelope.and_then(|envelope| envelope.to_bytes());
    Ok(bytes.map_err(failed)?.into())
}

/// The bytes of a value as they were signed.
///
/// # Errors
/// `ErrorCode::Failed` for a row without a signature.
pub fn bytes_of(row: &PolicyRow) -> Result<Bytes, Fault> {
    let unsigned = || Fault::failed(format!("{} was stored without its signature", row.key));
    let key = row.signer.parse().map_err(|_| unsigned())?;
    let sig = row.sig.parse().map_err(|_| unsigned())?;
    let envelope = SignedEnvelope::of_parts(&row.payload, key, sig);
    Ok(envelope.to_bytes().map_err(|_| unsigned())?.into())
}
