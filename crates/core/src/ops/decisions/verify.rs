//! Verifies a stored decision.
//!
//! This process's own decisions are verified too: keys, limits and stamps.

use countersign_wire::{
    DecisionCheck, DecisionFault, DecisionVerdict, KeyRole, RequestFacts, Verdict,
    decision_subject, read_json, verify_decision,
};

use crate::domain::{RequestRecord, Timestamp};
use crate::ops::decision_reading::{Reading, judge};
use crate::ops::writer_state::WriterState;

/// A decision as it is stored.
pub(super) struct Stored<'a> {
    pub(super) payload: &'a [u8],
    pub(super) signer: Option<&'a str>,
    pub(super) sig: Option<&'a str>,
    pub(super) stored_at: Timestamp,
}

/// What a stored decision means for its request: what it says where it verifies, void where it does not.
pub(super) fn verify(writer: &WriterState, record: &RequestRecord, stored: Stored<'_>) -> Reading {
    let (Some(bus), Ok(request_digest)) = (&writer.bus, record.request_digest.parse()) else {
        return judge(Err(DecisionFault::WrongRequestDigest), false);
    };
    let facts = RequestFacts {
        key: record.key.clone(),
        request_digest,
        args_digest: record
            .args_digest
            .as_deref()
            .and_then(|digest| digest.parse().ok()),
        deadline: record.deadline_for(stored.stored_at).into(),
        allowed: record.allowed,
        approvals_required: record.approvals_required,
    };
    if let Some(reading) = read_own(writer, record, &stored) {
        return reading;
    }
    let at = stored.stored_at;
    let trusted = |key: &str| -> Option<KeyRole> { writer.trusted.role(key, at) };
    let may_allow = |key: &str| writer.may_allow(key, Verdict::Approve, record, at);
    let voter = |key: &str| writer.trusted.voter(&bus.realm, key, at);
    let verified = verify_decision(&DecisionCheck {
        subject: &decision_subject(&record.key),
        payload: stored.payload,
        key_header: stored.signer,
        sig_header: stored.sig,
        stored_at: stored.stored_at.into(),
        realm: &bus.realm,
        trusted: &trusted,
        may_allow: &may_allow,
        voter: &voter,
        request: &facts,
    });
    let verdict = verified.map(|verified| verified.decision.verdict);
    let withdrawn = record.was_withdrawn_at(at);
    judge(verdict.as_ref().map_err(|fault| *fault), withdrawn)
}

/// A decision that this process signed a moment ago and that came back with the same bytes: only the
/// stamps are left to be looked at.
fn read_own(writer: &WriterState, record: &RequestRecord, stored: &Stored<'_>) -> Option<Reading> {
    let payload = writer.own.get(stored.sig?)?;
    if payload != stored.payload {
        return None;
    }
    // A key that ended, or whose limits changed, while the decision was on its way is not worth its own word.
    let (signer, at) = (stored.signer?, stored.stored_at);
    writer.trusted.role(signer, at)?;
    let verdict: OwnVerdict = read_json(payload).ok()?;
    // Neither are the voters'.
    if !verdict.votes.is_empty() {
        return None;
    }
    if let Some(given) = verdict.verdict.operator()
        && !writer.may_allow(signer, given, record, at)
    {
        return None;
    }
    let late = stored.stored_at >= record.deadline_for(stored.stored_at)
        && verdict.verdict.operator().is_some();
    let verdict = if late {
        Err(DecisionFault::Late)
    } else {
        Ok(&verdict.verdict)
    };
    Some(judge(verdict, record.was_withdrawn_at(stored.stored_at)))
}

#[derive(serde::Deserialize)]
struct OwnVerdict {
    verdict: DecisionVerdict,
    #[serde(default)]
    votes: Vec<serde::de::IgnoredAny>,
}
