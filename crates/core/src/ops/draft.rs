//! The bytes of a decision, and what signs it and votes.

use countersign_wire::{
    ApprovalDecision, Context, DecidedBy, DecisionVerdict, Origin, PublicKey, RequestKey, Response,
    Scope, Sha256Digest, VoteAttachment, decision_subject, sign, vote_subject,
};
use nkeys::KeyPair;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::job::Automatic;
use crate::domain::{Authority, RequestRecord, State, Timestamp};
use crate::identity::Identity;
use crate::store::outbox::{Kind, OutboxRow};

/// What a decision says, before it is bytes.
pub(crate) struct Draft {
    pub(crate) verdict: DecisionVerdict,
    pub(crate) origin: Origin,
    pub(crate) authority: Authority,
    pub(crate) message: Option<String>,
    pub(crate) scope: Scope,
    /// Digest of what may run, and the edited arguments where they differ from the request's.
    pub(crate) runs: Option<(Sha256Digest, Option<Value>)>,
    pub(crate) response: Option<Response>,
    /// The votes that led here, when several approvals were needed.
    pub(crate) votes: Option<Vec<VoteAttachment>>,
    /// What decided automatically.
    pub(crate) automatic: Option<Automatic>,
}

impl Draft {
    /// An answer that needs no person.
    pub(crate) fn by_console(verdict: DecisionVerdict, origin: Origin) -> Self {
        Self {
            verdict,
            origin,
            authority: Authority::Console,
            message: None,
            scope: Scope::Once,
            runs: None,
            response: None,
            votes: None,
            automatic: None,
        }
    }
}

/// Why a decision could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DraftError {
    /// The stored digest cannot be read.
    #[error(
        "the stored digest of the request cannot be read; let it expire and have its agent ask again"
    )]
    Digest,
    /// Too many bytes, or no JSON.
    #[error(
        "the decision would be {0} bytes and at most 921600 can be sent; shorten the message or the arguments"
    )]
    TooLarge(usize),
    /// More than the bus takes.
    #[error(
        "the decision would be {bytes} bytes and the bus takes at most {most} (max_payload of the server, or the limit of the consoles' account); shorten the message or the arguments, or decide without them"
    )]
    BusTakesLess {
        /// What it would be.
        bytes: usize,
        /// What the bus takes.
        most: usize,
    },
    /// The signing key failed.
    #[error("the signing key failed; check this console's keys with `countersign doctor`")]
    Key,
}

/// Of the headers of a decision or a vote, which count, too.
const HEADERS: usize = 512;

/// Whether the bus takes a decision of so many bytes.
pub(crate) fn fits(bytes: usize, most: usize) -> Result<(), DraftError> {
    match bytes.saturating_add(HEADERS) <= most {
        true => Ok(()),
        false => Err(DraftError::BusTakesLess { bytes, most }),
    }
}

/// A message for the outbox that is not signed yet.
pub(super) fn unsigned(
    (kind, id): (Kind, Uuid),
    record: &RequestRecord,
    key: &PublicKey,
    payload: Vec<u8>,
    now: Timestamp,
) -> OutboxRow {
    OutboxRow {
        id: id.to_string(),
        kind,
        request: record.id,
        subject: match kind {
            Kind::Decision => decision_subject(&record.key),
            Kind::Vote => vote_subject(&record.key, &key.clone().into()),
        },
        payload,
        signer: key.to_string(),
        sig: None,
        release_at: now.0,
        attempts: 0,
        last_error: None,
        state: State::Holding.as_str().to_owned(),
    }
}

/// A decision that is not signed yet.
pub(crate) fn write(
    identity: &Identity,
    record: &RequestRecord,
    draft: Draft,
    now: Timestamp,
) -> Result<OutboxRow, DraftError> {
    let (name, key) = match draft.authority {
        Authority::Operator => (identity.operator.clone(), identity.human_key()),
        Authority::Console => (identity.console_name(), identity.auto_key()),
    };
    let decision_id = Uuid::now_v7();
    let (rule, policy_digest) = draft
        .automatic
        .map(|by| (by.rule, by.policy_digest))
        .unzip();
    let (args_digest, edited_args) = match draft.runs {
        Some((digest, edited)) => (Some(digest), edited),
        None => (None, None),
    };
    let decision = ApprovalDecision {
        v: 1,
        decision_id,
        request_id: record.key.request_id.clone(),
        request_digest: record
            .request_digest
            .parse()
            .map_err(|_| DraftError::Digest)?,
        verdict: draft.verdict,
        message: draft.message,
        args_digest,
        edited_args,
        response: draft.response,
        scope: Some(draft.scope),
        origin: draft.origin,
        rule,
        policy_digest,
        decided_by: DecidedBy {
            name,
            key: key.clone().into(),
        },
        decided_at: countersign_wire::Timestamp::new(now.into()),
        votes: draft.votes,
        extra: Map::new(),
    };
    let payload = serde_json::to_vec(&decision).map_err(|_| DraftError::TooLarge(0))?;
    if payload.len() > countersign_wire::DECISION_MAX_BYTES {
        return Err(DraftError::TooLarge(payload.len()));
    }
    let of = (Kind::Decision, decision_id);
    Ok(unsigned(of, record, &key, payload, now))
}

/// Signs with the key that the payload names.
pub(crate) fn seal(
    identity: &Identity,
    realm: &Uuid,
    row: &OutboxRow,
) -> Result<String, DraftError> {
    let keys = identity.signing();
    let pair: &KeyPair = match row.signer.as_str() {
        key if key == keys.human_key.as_str() => &keys.human,
        key if key == keys.auto_key.as_str() => &keys.auto,
        _ => return Err(DraftError::Key),
    };
    let context = match row.kind {
        Kind::Decision => Context::Decision,
        Kind::Vote => Context::Vote,
    };
    sign(pair, context, realm, &row.subject, &row.payload)
        .map(|sig| sig.to_string())
        .map_err(|_| DraftError::Key)
}

/// The subject's request.
pub(crate) fn request_of(subject: &str) -> Option<RequestKey> {
    match countersign_wire::Subject::parse(subject) {
        Some(countersign_wire::Subject::Decision(key)) => Some(key),
        _ => None,
    }
}
