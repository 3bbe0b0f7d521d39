//! The trace of a practice card: that of its call, as it was when the call was asked.

use countersign_core::domain::facts::{Entry, GateRow, RequestSummary, Trace};

/// What began until `source` was asked, moved to the time of the card; none where it is not in the trace.
pub(crate) fn trace(of: Trace, source: &str, card: &RequestSummary, now: i64) -> Option<Trace> {
    let is_source =
        |gate: &GateRow| format!("{}/{}/{}", gate.ws, gate.agent, gate.request_id) == source;
    let mut gates = of.entries.iter().filter_map(|entry| entry.gate.as_ref());
    let asked = gates.find(|gate| is_source(gate))?.stored_at;
    let later = card.stored_at - asked;
    let mut places = vec![None; of.entries.len()];
    let mut entries: Vec<Entry> = Vec::new();
    for (at, mut entry) in of.entries.into_iter().enumerate() {
        let own = entry.gate.as_ref().is_some_and(is_source);
        let began = match (&entry.span, &entry.gate) {
            (Some(span), _) => span.started_at,
            (None, gate) => gate.as_ref().map_or(i64::MAX, |gate| gate.stored_at),
        };
        if began > asked && !own {
            continue;
        }
        if let Some(place) = places.get_mut(at) {
            *place = Some(entries.len());
        }
        let parent = entry.place.parent;
        entry.place.parent = parent.and_then(|at| places.get(at).copied().flatten());
        if let Some(span) = &mut entry.span {
            // What ended later went on then.
            if own || span.ended_at.is_some_and(|end| end > asked) {
                (span.ended_at, span.status) = (None, None);
            }
            span.started_at += later;
            span.ended_at = span.ended_at.map(|end| end + later);
        }
        if let Some(gate) = &mut entry.gate {
            gate.stored_at += later;
            gate.decided_at = gate.decided_at.map(|at| at + later);
            if own {
                gate.request_id.clone_from(&card.request_id);
                gate.state.clone_from(&card.state);
                (gate.verdict, gate.origin, gate.decided_by) = (None, None, None);
                (gate.decided_at, gate.deadline_at) = (None, card.deadline_at);
                entry.waiting_ms = Some(now - card.stored_at);
            }
        }
        entries.push(entry);
    }
    Some(Trace {
        entries,
        // It goes on until now.
        duration_ms: 0,
        waiting_ms: now - card.stored_at,
        ..of
    })
}
