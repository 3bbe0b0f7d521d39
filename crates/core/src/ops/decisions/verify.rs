//! Verifies a stored decision.
//!
//! This process's own decisions are verified too: keys, limits and stamps.

use countersign_wire::{
    DecisionCheck, DecisionFault, DecisionVerdict, Origin, RequestFacts, decision_subject,
    read_json, verify_decision,
};

use crate::domain::{RequestRecord, Timestamp};
use crate::ops::decision_reading::{Reading, facts_of, judge};
use crate::ops::writer_state::WriterState;

/// A decision as it is stored.
pub(super) struct Stored<'a> {
    pub(super) payload: &'a [u8],
    pub(super) signer: Option<&'a str>,
    pub(super) sig: Option<&'a str>,
    pub(super) stored_at: Timestamp,
    /// The sequence at which the keys are looked at.
    pub(super) sequence: u64,
}

/// What a stored decision means for its request: what it says where it verifies, void where it does not.
pub(super) fn verify(writer: &WriterState, record: &RequestRecord, stored: Stored<'_>) -> Reading {
    let at = stored.stored_at;
    let Some(facts) = facts_of(record, at) else {
        return judge(Err(DecisionFault::WrongRequestDigest), false);
    };
    if let Some(reading) = read_own(writer, record, &facts, &stored) {
        return reading;
    }
    let log = writer.trusted.log();
    let verified = verify_decision(&DecisionCheck {
        subject: &decision_subject(&record.key),
        payload: stored.payload,
        key_header: stored.signer,
        sig_header: stored.sig,
        stored_at: at.into(),
        standing: log.at(Some(stored.sequence)),
        request: &facts,
    });
    let verdict = verified.map(|verified| verified.decision.verdict);
    let withdrawn = record.was_withdrawn_at(at);
    judge(verdict.as_ref().map_err(|fault| *fault), withdrawn)
}

/// A decision that this process signed a moment ago and that came back with the same bytes: only stamps and keys are
/// left to be looked at.
fn read_own(
    writer: &WriterState,
    record: &RequestRecord,
    facts: &RequestFacts,
    stored: &Stored<'_>,
) -> Option<Reading> {
    let payload = writer.own.get(stored.sig?)?;
    if payload != stored.payload {
        return None;
    }
    let (signer, at) = (stored.signer?, stored.stored_at);
    let own: OwnVerdict = read_json(payload).ok()?;
    // Keys of voters that ended, or whose limits changed, are not worth its own word.
    if !own.votes.is_empty() {
        return None;
    }
    let said = facts.facts(&own.verdict, own.origin, at.into());
    let log = writer.trusted.log();
    if log.at(Some(stored.sequence)).fault(signer, &said).is_some() {
        return None;
    }
    let late = at >= record.deadline_for(at) && own.verdict.operator().is_some();
    let verdict = if late {
        Err(DecisionFault::Late)
    } else {
        Ok(&own.verdict)
    };
    Some(judge(verdict, record.was_withdrawn_at(at)))
}

#[derive(serde::Deserialize)]
struct OwnVerdict {
    verdict: DecisionVerdict,
    origin: Origin,
    #[serde(default)]
    votes: Vec<serde::de::IgnoredAny>,
}
