//! Whether a stored decision is valid; the same for agents and consoles.
//!
//! The first doubt ends the check. Bytes are authenticated before they are read, and every error but `late` makes the
//! decision void (protocol, section 5).

use std::collections::BTreeSet;

use time::OffsetDateTime;
use uuid::Uuid;

use super::{
    ApprovalDecision, DECISION_MAX_BYTES, DecisionVerdict, Origin, VoteCheck, read, verify_vote,
};
use crate::{
    Context, KeyRole, PublicKey, RequestKey, Sha256Digest, Verdict, VerdictSet, decision_subject,
    digest::args_digest, is_bound_by_limits, verify,
};

/// What the request says that a decision is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFacts {
    /// The request.
    pub key: RequestKey,
    /// The digest of its payload as stored.
    pub request_digest: Sha256Digest,
    /// The digest of its arguments, if it has any.
    pub args_digest: Option<Sha256Digest>,
    /// Its deadline, by the server's time stamps.
    pub deadline: OffsetDateTime,
    /// The verdicts that its agent can honour.
    pub allowed: VerdictSet,
    /// How many distinct operators must agree to approve or modify.
    pub approvals_required: u8,
}

/// A stored decision and what it is checked against.
#[derive(Clone, Copy)]
pub struct DecisionCheck<'a> {
    /// The `decision.` subject, also when the message came from `decided.`.
    pub subject: &'a str,
    /// The payload as stored.
    pub payload: &'a [u8],
    /// The header `CS-Key`.
    pub key_header: Option<&'a str>,
    /// The header `CS-Sig`.
    pub sig_header: Option<&'a str>,
    /// The server's time stamp of the stored decision.
    pub stored_at: OffsetDateTime,
    /// The realm.
    pub realm: &'a Uuid,
    /// The role of a key that was trusted when the decision was stored.
    pub trusted: &'a dyn Fn(&str) -> Option<KeyRole>,
    /// Whether the limits of a key, at the time when the decision was stored, let it say more than no to this request.
    pub may_allow: &'a dyn Fn(&str) -> bool,
    /// The key under which the votes of the person who has a key count: see [`crate::voter()`].
    pub voter: &'a dyn Fn(&str) -> String,
    /// The request.
    pub request: &'a RequestFacts,
}

/// A valid decision.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedDecision {
    /// The decision.
    pub decision: ApprovalDecision,
    /// The key that signed it.
    pub key: PublicKey,
    /// That key's role.
    pub role: KeyRole,
}

/// Why a decision is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum DecisionFault {
    /// `CS-Key` or `CS-Sig` is missing.
    #[error("the decision is not signed")]
    Unsigned,
    /// The subject is not that of the request's decision.
    #[error("the decision is on another subject")]
    WrongSubject,
    /// The key was not trusted when the decision was stored.
    #[error("the decision is signed with a key that is not trusted")]
    UnknownKey,
    /// A device signed, and the agent did not say that it verifies devices.
    #[error("the agent cannot verify the device that signed the decision")]
    DeviceUnsupported,
    /// The signature is not that of the key, or `decided_by` names another key.
    #[error("the signature does not belong to this decision")]
    BadSignature,
    /// Too large, or not what section 5 describes.
    #[error("the decision cannot be read")]
    Malformed,
    /// The payload names another request.
    #[error("the decision answers another request")]
    WrongRequest,
    /// The payload names other bytes of the request.
    #[error("the decision answers other bytes of the request")]
    WrongRequestDigest,
    /// The key's role does not fit the origin, or the origin the verdict.
    #[error("the key may not sign this kind of decision")]
    WrongRole,
    /// The agent cannot honour this verdict.
    #[error("the verdict is not allowed for this request")]
    NotAllowed,
    /// The digest of the arguments that may run is missing or differs.
    #[error("the decision names other arguments")]
    WrongArgsDigest,
    /// Fewer distinct operators agreed than the request asks for.
    #[error("too few operators agreed")]
    TooFewVotes,
    /// More than a device may decide.
    #[error("the device that signed the decision may not decide this")]
    DeviceLimit,
    /// The limits of the operator, or of the operator's console, do not reach so far.
    #[error("who signed the decision may not allow this request")]
    BeyondLimit,
    /// Stored at or after the deadline: reads as expired.
    #[error("the decision came after the deadline")]
    Late,
}

crate::words::words!(@read DecisionFault {
    Unsigned => "unsigned", WrongSubject => "wrong_subject", UnknownKey => "unknown_key",
    DeviceUnsupported => "device_unsupported", BadSignature => "bad_signature", Malformed => "malformed", WrongRequest => "wrong_request",
    WrongRequestDigest => "wrong_request_digest", WrongRole => "wrong_role",
    NotAllowed => "not_allowed", WrongArgsDigest => "wrong_args_digest",
    TooFewVotes => "too_few_votes", DeviceLimit => "device_limit", BeyondLimit => "beyond_limit", Late => "late",
});

/// Judges a stored decision. The checks run in the order of [`DecisionFault`];
/// `late` comes last, so a late decision is otherwise sound.
pub fn verify_decision(check: &DecisionCheck<'_>) -> Result<VerifiedDecision, DecisionFault> {
    let (Some(key), Some(sig)) = (check.key_header, check.sig_header) else {
        return Err(DecisionFault::Unsigned);
    };
    let request = check.request;
    if check.subject != decision_subject(&request.key) {
        return Err(DecisionFault::WrongSubject);
    }
    let role = (check.trusted)(key).ok_or(DecisionFault::UnknownKey)?;
    let key: PublicKey = key.parse().map_err(|_| DecisionFault::UnknownKey)?;
    if check.payload.len() > DECISION_MAX_BYTES {
        return Err(DecisionFault::Malformed);
    }
    verify(
        key.as_str(),
        Context::Decision,
        check.realm,
        check.subject,
        check.payload,
        sig,
    )
    .map_err(|_| DecisionFault::BadSignature)?;

    let decision = read(check.payload).map_err(|_| DecisionFault::Malformed)?;
    if decision.decided_by.key != key {
        return Err(DecisionFault::BadSignature);
    }
    if decision.request_id != request.key.request_id {
        return Err(DecisionFault::WrongRequest);
    }
    if decision.request_digest != request.request_digest {
        return Err(DecisionFault::WrongRequestDigest);
    }
    check_role(&decision, role)?;
    if matches!(decision.origin, Origin::Rule | Origin::SetupKey) && decision.rule.is_none() {
        return Err(DecisionFault::Malformed);
    }
    check_verdict(check, &decision)?;
    let operator = decision.verdict.operator();
    if operator.is_some_and(is_bound_by_limits) && !(check.may_allow)(key.as_str()) {
        return Err(DecisionFault::BeyondLimit);
    }
    if operator.is_some() && check.stored_at >= request.deadline {
        return Err(DecisionFault::Late);
    }
    Ok(VerifiedDecision {
        decision,
        key,
        role,
    })
}

fn check_role(decision: &ApprovalDecision, role: KeyRole) -> Result<(), DecisionFault> {
    let needed = match decision.origin {
        Origin::Operator => KeyRole::Human,
        _ => KeyRole::Auto,
    };
    if fits_origin(&decision.verdict, decision.origin) && role == needed {
        Ok(())
    } else {
        Err(DecisionFault::WrongRole)
    }
}

/// Whether an origin may give this verdict.
pub(crate) fn fits_origin(verdict: &DecisionVerdict, origin: Origin) -> bool {
    match verdict {
        DecisionVerdict::Expired => origin == Origin::Timeout,
        DecisionVerdict::Withdrawn => origin == Origin::Agent,
        DecisionVerdict::Rejected => origin == Origin::System,
        DecisionVerdict::Deny | DecisionVerdict::Other(_) => true,
        // Silence never approves: only a person, a rule or a setup key says more than no.
        _ => matches!(origin, Origin::Operator | Origin::Rule | Origin::SetupKey),
    }
}

fn check_verdict(
    check: &DecisionCheck<'_>,
    decision: &ApprovalDecision,
) -> Result<(), DecisionFault> {
    let request = check.request;
    let Some(verdict) = decision.verdict.operator() else {
        return Ok(());
    };
    if !request.allowed.contains(verdict) {
        return Err(DecisionFault::NotAllowed);
    }
    match verdict {
        Verdict::Approve if decision.edited_args.is_some() => Err(DecisionFault::Malformed),
        Verdict::Approve if decision.args_digest != request.args_digest => {
            Err(DecisionFault::WrongArgsDigest)
        }
        Verdict::Modify => {
            let edited = decision
                .edited_args
                .as_ref()
                .ok_or(DecisionFault::Malformed)?;
            let digest = args_digest(edited).map_err(|_| DecisionFault::Malformed)?;
            if request.args_digest.is_none() || decision.args_digest != Some(digest) {
                return Err(DecisionFault::WrongArgsDigest);
            }
            check_votes(check, decision, verdict)
        }
        Verdict::Approve => check_votes(check, decision, verdict),
        Verdict::Respond if decision.response.is_none() => Err(DecisionFault::Malformed),
        _ => Ok(()),
    }
}

fn check_votes(
    check: &DecisionCheck<'_>,
    decision: &ApprovalDecision,
    verdict: Verdict,
) -> Result<(), DecisionFault> {
    let request = check.request;
    if request.approvals_required <= 1 {
        return Ok(());
    }
    // An operator beyond the limits has no vote.
    let trusted = |key: &str| (check.trusted)(key).filter(|_| (check.may_allow)(key));
    let vote_check = VoteCheck {
        request: &request.key,
        request_digest: &request.request_digest,
        args_digest: request.args_digest.as_ref(),
        realm: check.realm,
        trusted: &trusted,
    };
    let agreed: BTreeSet<String> = decision
        .votes
        .iter()
        .flatten()
        .filter(|attached| {
            attached.payload_bytes().is_some_and(|payload| {
                let (key, sig) = (attached.key.as_str(), attached.sig.as_str());
                verify_vote(vote_check, key, &attached.subject, &payload, sig).is_some_and(|vote| {
                    vote.verdict == verdict && vote.args_digest == decision.args_digest
                })
            })
        })
        .map(|attached| (check.voter)(attached.key.as_str()))
        .collect();
    if agreed.len() >= usize::from(request.approvals_required) {
        Ok(())
    } else {
        Err(DecisionFault::TooFewVotes)
    }
}
