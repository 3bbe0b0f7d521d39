//! Whether a stored decision is valid; the same for agents and consoles.
//!
//! The first doubt ends the check. Bytes are authenticated before they are read, and every error but `late` makes the
//! decision void (protocol, section 5).

use std::collections::BTreeSet;

use time::OffsetDateTime;

use super::{
    ApprovalDecision, DECISION_MAX_BYTES, DecisionVerdict, Origin, VoteCheck, read, verify_vote,
};
use crate::{
    Context, Effects, ParsedRequest, RequestKey, Risk, Sha256Digest, Signer, Verdict, VerdictSet,
    decision_subject,
    digest::args_digest,
    realm::{Facts, Standing},
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
    /// Its effective risk.
    pub risk: Risk,
    /// Its effective effects.
    pub effects: Effects,
    /// Whether its agent checks signatures of devices.
    pub webauthn: bool,
}

impl RequestFacts {
    /// Of a request as its agent sent it, with the deadline that counts.
    pub fn of(parsed: &ParsedRequest, deadline: OffsetDateTime) -> Self {
        let request = &parsed.request;
        Self {
            key: parsed.key.clone(),
            request_digest: parsed.request_digest,
            args_digest: parsed.args_digest,
            deadline,
            allowed: request.allowed(),
            approvals_required: request.approvals_required(),
            risk: request.effective_risk(),
            effects: request.effects(),
            webauthn: request.verifies_devices(),
        }
    }

    /// What a key that says so about it, at this stamp of the server, is judged by.
    pub fn facts<'a>(
        &'a self,
        verdict: &'a DecisionVerdict,
        origin: Origin,
        stored_at: OffsetDateTime,
    ) -> Facts<'a> {
        Facts {
            verdict,
            origin,
            workspace: self.key.workspace.as_str(),
            risk: self.risk,
            effects: self.effects,
            webauthn: self.webauthn,
            at: stored_at.into(),
        }
    }
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
    /// The state of the realm log by which its keys are judged.
    pub standing: Standing<'a>,
    /// The request.
    pub request: &'a RequestFacts,
}

/// A valid decision.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedDecision {
    /// The decision.
    pub decision: ApprovalDecision,
    /// The key that signed it.
    pub key: Signer,
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
    /// The key was not in force when the decision was stored; for an agent also: when it looked.
    #[error("the decision is signed with a key that is not in force")]
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
    let term = check.standing.term(key).ok_or(DecisionFault::UnknownKey)?;
    let signer: Signer = key.parse().map_err(|_| DecisionFault::UnknownKey)?;
    term.begins(check.stored_at.into(), request.webauthn)?;
    if check.payload.len() > DECISION_MAX_BYTES {
        return Err(DecisionFault::Malformed);
    }
    let place = (Context::Decision, check.standing.realm(), check.subject);
    if !term.signed(place, check.payload, sig) {
        return Err(DecisionFault::BadSignature);
    }

    let decision = read(check.payload).map_err(|_| DecisionFault::Malformed)?;
    if decision.decided_by.key != signer {
        return Err(DecisionFault::BadSignature);
    }
    if decision.request_id != request.key.request_id {
        return Err(DecisionFault::WrongRequest);
    }
    if decision.request_digest != request.request_digest {
        return Err(DecisionFault::WrongRequestDigest);
    }
    let facts = request.facts(&decision.verdict, decision.origin, check.stored_at);
    term.fits(&facts)?;
    if matches!(decision.origin, Origin::Rule | Origin::SetupKey) && decision.rule.is_none() {
        return Err(DecisionFault::Malformed);
    }
    check_verdict(check, &decision)?;
    if let Some(fault) = check.standing.fault(key, &facts) {
        return Err(fault);
    }
    if decision.verdict.operator().is_some() && check.stored_at >= request.deadline {
        return Err(DecisionFault::Late);
    }
    Ok(VerifiedDecision {
        decision,
        key: signer,
    })
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
    let vote_check = VoteCheck {
        request,
        stored_at: check.stored_at,
        standing: check.standing,
    };
    let agreed: BTreeSet<&str> = decision
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
        .filter_map(|attached| check.standing.term(attached.key.as_str()))
        .map(|term| term.operator.as_str())
        .collect();
    if agreed.len() >= usize::from(request.approvals_required) {
        Ok(())
    } else {
        Err(DecisionFault::TooFewVotes)
    }
}
