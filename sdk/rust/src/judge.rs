//! Whether a stored decision lets the call run. Pure: no I/O, no clock.
//!
//! What cannot be proven is denied. The proof that a decision was stored in time is the agent's own timer: it starts
//! before the request is sent, so the server stored the request later, and the server's deadline lies later too. A
//! decision that is read while the timer runs was stored before the deadline; one that is read afterwards is refused,
//! even if its stamp might be early enough, because the agent never learns the stamp of its request.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{
    DecisionCheck, DecisionFault, Effects, Origin, RequestFacts, RequestKey, Risk, Sha256Digest,
    Timestamp, VerdictSet, VerifiedDecision, VoteAttachment, parse_request, read_json,
    realm::{Realm, SigningKey},
    request_subject, verify_decision,
};
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::GateError;

/// A request as it was sent: the bytes never change afterwards.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) key: RequestKey,
    pub(crate) payload: Bytes,
    pub(crate) request_digest: Sha256Digest,
    pub(crate) args: Option<Value>,
    pub(crate) args_digest: Option<Sha256Digest>,
    pub(crate) allowed: VerdictSet,
    pub(crate) approvals_required: u8,
    pub(crate) risk: Risk,
    pub(crate) effects: Effects,
    /// Whether it says that its agent checks signatures of devices.
    pub(crate) webauthn: bool,
    pub(crate) requested_at: Timestamp,
    pub(crate) lifetime: Duration,
    pub(crate) first_sent: FirstSent,
}

/// When the bytes of a request may have left for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstSent {
    /// The gate makes them at this moment.
    Now,
    /// They are from the journal, with the timer that began then.
    Journal,
    /// They are the caller's own: an earlier life of the agent may have sent them at any time.
    Unknown,
}

impl Asked {
    /// Reads bytes that leave, or left, as this request. Error: `invalid_request` where a console would reject them.
    pub(crate) fn read(
        key: RequestKey,
        payload: Bytes,
        first_sent: FirstSent,
    ) -> Result<Self, GateError> {
        let parsed = parse_request(&request_subject(&key), &payload).map_err(|rejection| {
            GateError::InvalidRequest {
                code: rejection.code.as_str(),
                detail: rejection.detail,
            }
        })?;
        Ok(Self {
            key,
            payload,
            request_digest: parsed.request_digest,
            args_digest: parsed.args_digest,
            allowed: parsed.request.allowed(),
            approvals_required: parsed.request.approvals_required(),
            risk: parsed.request.effective_risk(),
            effects: parsed.request.effects(),
            webauthn: parsed.request.verifies_devices(),
            requested_at: parsed.request.requested_at,
            lifetime: parsed.request.lifetime().unsigned_abs(),
            args: parsed.request.args,
            first_sent,
        })
    }
}

/// A message as the server holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredMessage {
    pub(crate) subject: String,
    pub(crate) payload: Bytes,
    pub(crate) key_header: Option<String>,
    pub(crate) sig_header: Option<String>,
    pub(crate) stored_at: OffsetDateTime,
    pub(crate) sequence: u64,
}

/// By what it is judged who signed.
pub(crate) enum Trust {
    /// The realm log.
    Log(Arc<Realm>),
    /// The agent was told to believe anybody in this realm.
    Anyone(Uuid),
}

/// The decision, or why it does not count. `remaining` is what the agent's own
/// timer still has, zero once it has run out.
pub(crate) fn judge(
    asked: &Asked,
    stored: &StoredMessage,
    trust: &Trust,
    remaining: Duration,
) -> Result<VerifiedDecision, DecisionFault> {
    let state = match trust {
        Trust::Log(state) => Arc::clone(state),
        Trust::Anyone(realm) => Arc::new(believing(*realm, stored)),
    };
    let facts = RequestFacts {
        key: asked.key.clone(),
        request_digest: asked.request_digest,
        args_digest: asked.args_digest,
        // The earliest moment at which the server's deadline can be.
        deadline: stored.stored_at.saturating_add(
            remaining
                .try_into()
                .unwrap_or(countersign_wire::MAX_LIFETIME),
        ),
        allowed: asked.allowed,
        approvals_required: asked.approvals_required,
        risk: asked.risk,
        effects: asked.effects,
        webauthn: asked.webauthn,
    };
    verify_decision(&DecisionCheck {
        subject: &stored.subject,
        payload: &stored.payload,
        key_header: stored.key_header.as_deref(),
        sig_header: stored.sig_header.as_deref(),
        stored_at: stored.stored_at,
        standing: state.for_agent(stored.sequence),
        request: &facts,
    })
}

/// The id that the payload claims, for a receipt that refuses it.
pub(crate) fn claimed_id(payload: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Claim {
        decision_id: String,
    }
    read_json(payload)
        .ok()
        .map(|Claim { decision_id }| decision_id)
        .filter(|id| id.len() <= 64)
        .unwrap_or_else(|| "unreadable".to_owned())
}

/// A state in which every key that the message names counts, in the role that it claims.
fn believing(realm: Uuid, stored: &StoredMessage) -> Realm {
    #[derive(serde::Deserialize)]
    struct Claim {
        origin: Origin,
        #[serde(default)]
        votes: Option<Vec<VoteAttachment>>,
    }
    let claim: Option<Claim> = read_json(&stored.payload).ok();
    let role = match claim.as_ref().map(|claim| claim.origin) {
        Some(Origin::Operator) => "human",
        _ => "auto",
    };
    let voters = claim.iter().flat_map(|claim| claim.votes.iter().flatten());
    let voters = voters.map(|vote| (vote.key.as_str(), "human"));
    let signer = stored.key_header.iter().map(|key| (key.as_str(), role));
    let keys = signer.chain(voters).filter_map(|(key, role)| {
        SigningKey::read(&json!({ "key": key, "role": role, "proof": "" }))
    });
    Realm::of_anybody(realm, keys)
}
