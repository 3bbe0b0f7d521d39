//! Whether a list of operators was in force before.
//!
//! Refuses to call one new where that cannot be read.

use countersign_wire::{PolicyKey, SignedEnvelope};

use crate::store::{Reader, policy_history};

/// Whether this console has never accepted these very bytes.
pub(super) async fn is_new(reader: &Reader, envelope: &SignedEnvelope) -> bool {
    let (key, sig) = (PolicyKey::Operators.to_string(), envelope.sig.as_str());
    let known = policy_history::has(reader, &key, sig).await;
    known.is_ok_and(|known| !known)
}
