//! What the streams show alone.

use std::collections::BTreeMap;

use countersign_wire::{
    DecisionCheck, DecisionFault, RequestFacts, RequestKey, decision_subject, parse_request, parse_tighten, request_subject, tighten_subject,
    verify_decision,
};
use time::{Duration, OffsetDateTime};

use super::Check;
use crate::facts::{Facts, Stored};

/// A stored decision, judged by the rules of the protocol.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// As consoles are to read it: a verdict, `expired`, `withdrawn` or `void`.
    pub(crate) effective: String,
    pub(crate) decision_id: String,
    pub(crate) args_digest: Option<String>,
    pub(crate) fault: Option<DecisionFault>,
}

impl Judged {
    /// Whether the call may run.
    pub(crate) fn lets_run(&self) -> bool {
        self.effective == "approve" || self.effective == "modify"
    }
}

/// Stamps are cut to milliseconds (docs, "Time").
pub(crate) fn cut(stamp: OffsetDateTime) -> OffsetDateTime {
    let nanos = stamp.unix_timestamp_nanos() / 1_000_000 * 1_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(stamp)
}

/// The deadline of a request by the server's stamps, a tighten included.
pub(crate) fn deadline(
    key: &RequestKey,
    request: &Stored,
    tighten: Option<&Stored>,
) -> Option<OffsetDateTime> {
    let parsed = parse_request(&request_subject(key), &request.payload).ok()?;
    let stored = cut(request.stamp);
    let deadline = parsed.request.deadline(stored);
    let earlier = tighten.and_then(|tighten| {
        let body = parse_tighten(&tighten_subject(key), &tighten.payload).ok()?;
        let lasts = body.expires_at.get() - parsed.request.requested_at.get();
        Some(stored.saturating_add(lasts.max(Duration::ZERO)))
    });
    Some(earlier.map_or(deadline, |earlier| earlier.min(deadline)))
}

/// Every decision on a request that is on the bus.
pub(crate) fn judge_all(facts: &Facts) -> BTreeMap<String, Judged> {
    let streams = &facts.streams;
    let judged = streams.decisions.iter().filter_map(|(name, decision)| {
        let key: RequestKey = name.parse().ok()?;
        let request = streams.requests.get(name)?;
        let judged = judge(facts, &key, request, decision)?;
        Some((name.clone(), judged))
    });
    judged.collect()
}

fn judge(facts: &Facts, key: &RequestKey, request: &Stored, decision: &Stored) -> Option<Judged> {
    let name = key.to_string();
    let parsed = parse_request(&request_subject(key), &request.payload).ok()?;
    let stored_at = cut(decision.stamp);
    // What the agent says after the decision does not reach back.
    let tighten = facts.streams.tightens.get(&name);
    let tighten = tighten.filter(|tighten| cut(tighten.stamp) <= stored_at);
    let facts_of_request = RequestFacts::of(&parsed, deadline(key, request, tighten)?);
    let outcome = verify_decision(&DecisionCheck {
        subject: &decision_subject(key),
        payload: &decision.payload,
        key_header: decision.key.as_deref(),
        sig_header: decision.sig.as_deref(),
        stored_at,
        standing: facts.log.at(Some(decision.seq)),
        request: &facts_of_request,
    });
    let body: serde_json::Value = serde_json::from_slice(&decision.payload).unwrap_or_default();
    let text = |field: &str| body[field].as_str().map(str::to_owned);
    // Of two stamps of one millisecond the withdrawal counts: in doubt nothing runs.
    let withdrawn = facts.streams.withdraws.get(&name);
    let withdrawn = withdrawn.is_some_and(|withdraw| cut(withdraw.stamp) <= stored_at);
    let effective = match &outcome {
        Ok(_) if withdrawn => "withdrawn".to_owned(),
        Ok(verified) => verified.decision.verdict.to_string(),
        Err(DecisionFault::Late) if withdrawn => "withdrawn".to_owned(),
        Err(DecisionFault::Late) => "expired".to_owned(),
        Err(_) => "void".to_owned(),
    };
    Some(Judged {
        effective,
        decision_id: text("decision_id").unwrap_or_default(),
        args_digest: text("args_digest"),
        fault: outcome.err().filter(|fault| *fault != DecisionFault::Late),
    })
}

/// A request that is on the bus has its answer there: an operator's, or `expired` at the latest.
pub(crate) fn every_request_is_answered(facts: &Facts) -> Check {
    let mut check = Check::new("every request on the bus has its answer on the bus");
    for name in facts.streams.requests.keys() {
        check.look(facts.streams.decisions.contains_key(name), || {
            format!("{name} has no decision")
        });
    }
    for strange in &facts.streams.strange {
        check.breaches.push(strange.clone());
    }
    check
}

/// Whatever consoles stored verifies.
pub(crate) fn decisions_verify(facts: &Facts, judged: &BTreeMap<String, Judged>) -> Check {
    let mut check = Check::new("every decision on the bus verifies");
    for name in facts.streams.decisions.keys() {
        let fault = judged.get(name).map(|judged| judged.fault);
        check.look(fault == Some(None), || match fault {
            Some(Some(fault)) => format!("{name}: {fault}"),
            _ => format!("{name} is decided but not on the bus"),
        });
    }
    check
}
