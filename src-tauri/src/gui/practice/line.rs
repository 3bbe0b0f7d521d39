//! The line that a practice card is drawn as: that of the approved call, as if it had just arrived.

use countersign_core::domain::facts::{RequestDetails, RequestSummary};
use countersign_core::domain::{CallWarning, State, Timestamp};
use countersign_core::ops::practice::PracticeCard;
use countersign_wire::{args_digest, json_value};
use serde_json::{Value, json};

/// So long behind the last real card a practice card is due.
pub(super) const BEHIND_MS: i64 = 1_000;
/// And so long after it came, at least.
const SHORTEST_MS: i64 = 10 * 60_000;

/// Of a row number that no request has. None where the call has no payload any more.
pub(super) fn of(
    card: &PracticeCard,
    source: &RequestSummary,
    (id, now, last_due): (i64, i64, Option<i64>),
) -> Option<RequestSummary> {
    let (_, request_id) = card.key().rsplit_once('/')?;
    let lifetime = (source.deadline_at - source.stored_at).max(SHORTEST_MS);
    let behind = last_due.map_or(i64::MIN, |due| due + BEHIND_MS);
    let deadline_at = (now + lifetime).max(behind);
    let digest = args_digest(card.args()).ok()?.to_string();
    let raw = shown(card, source, (request_id, &digest, now, deadline_at))?;
    Some(RequestSummary {
        id,
        request_id: request_id.to_owned(),
        state: State::Pending.as_str().to_owned(),
        verdict: None,
        origin: None,
        decided_by: None,
        message: None,
        args_digest: Some(digest),
        requested_at: Some(now),
        stored_at: now,
        received_at: now,
        deadline_at,
        decided_at: None,
        delivery: "stored".to_owned(),
        stream_seq: None,
        rule_id: None,
        rule_version: None,
        trace_id: None,
        span_id: None,
        approvals_required: 1,
        votes: 0,
        apart: 0,
        voted: false,
        ballots: None,
        sent: None,
        raw,
        ..source.clone()
    })
}

/// The card of a call that nobody has decided on.
pub(crate) fn story(source: RequestDetails, line: RequestSummary) -> RequestDetails {
    let before = |caution: &CallWarning| {
        matches!(
            caution,
            CallWarning::ReAsk { .. } | CallWarning::DeniedBefore { .. }
        )
    };
    RequestDetails {
        line,
        decision: None,
        contradicting: None,
        outgoing: None,
        receipts: Vec::new(),
        alarms: Vec::new(),
        votes: Vec::new(),
        rule_name: None,
        repeats: None,
        cautions: source
            .cautions
            .into_iter()
            .filter(|of| !before(of))
            .collect(),
        removed: None,
        ..source
    }
}

/// What the window reads of the call: its words, and the arguments of the card.
fn shown(
    card: &PracticeCard,
    source: &RequestSummary,
    (request_id, digest, now, deadline_at): (&str, &str, i64, i64),
) -> Option<Vec<u8>> {
    let mut call = json_value(&source.raw)?;
    let fields = call.as_object_mut()?;
    let stamp = |at: i64| json!(Timestamp(at).rfc3339());
    for (name, value) in [
        ("request_id", json!(request_id)),
        ("args", card.args().clone()),
        ("args_digest", json!(digest)),
        ("requested_at", stamp(now)),
        ("expires_at", stamp(deadline_at)),
    ] {
        // What the call does not say, the card does not either.
        if let Some(field) = fields.get_mut(name) {
            *field = value;
        }
    }
    // Of the arguments that were approved.
    for name in ["effective", "native_digest", "trace", "approvals_required"] {
        fields.shift_remove(name);
    }
    serde_json::to_vec(&Value::Object(std::mem::take(fields))).ok()
}
