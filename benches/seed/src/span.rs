//! The spans of a request's trace.

use countersign_core::store::spans::NewSpan;
use serde_json::json;

use crate::chance::Chance;
use crate::request::Story;

/// Trace id of the large trace: 10,000 spans.
pub(crate) const LARGE: &str = "feedfeedfeedfeedfeedfeedfeedfeed";

/// So many spans: a run, the model's turn, the call that waits, and what it did.
pub(crate) fn spans(
    chance: &mut Chance,
    story: &Story,
    count: u64,
    first_seq: i64,
) -> Vec<NewSpan> {
    let mut parents: Vec<String> = Vec::new();
    (0..count)
        .map(|number| {
            let kind = match number {
                0 => "chain",
                1 => "llm",
                2 => "tool",
                _ => ["tool", "step", "llm"][usize::try_from(chance.below(3)).unwrap_or(0)],
            };
            let gate = number == 2;
            let span_id = if gate { story.span_id.clone() } else { chance.hex(16) };
            let parent = match parents.len() {
                0 => None,
                // Most hang from one of the last few, as calls do.
                known => parents.get(known - 1 - usize::try_from(chance.below(known.min(4) as u64)).unwrap_or(0)),
            };
            let parent = parent.cloned();
            let started = story.stored_at.plus_ms(i64::try_from(number * 7).unwrap_or(0));
            let ended = started.plus_ms(5 + i64::try_from(chance.below(900)).unwrap_or(0));
            let name = if gate { story.tool.clone() } else { chance.words(2) };
            let trace_id = if count > 1_000 { LARGE.to_owned() } else { story.trace_id.clone() };
            let body = json!({
                "v": 1, "type": "span", "trace_id": trace_id, "span_id": span_id, "parent_span_id": parent, "name": name,
                "kind": kind, "status": "ok", "started_at": started.rfc3339(), "ended_at": ended.rfc3339(),
                "request_id": gate.then_some(&story.key.request_id), "input": { "text": chance.words(12) },
                "usage": { "input_tokens": chance.below(4_000), "output_tokens": chance.below(900) },
            });
            parents.push(span_id.clone());
            NewSpan {
                agent: story.key.agent_key(),
                trace_id,
                span_id,
                parent_span_id: parent,
                name,
                kind,
                status: Some("ok"),
                started_at: started.0,
                ended_at: Some(ended.0),
                request_id: gate.then(|| story.key.request_id.to_string()),
                call_id: None,
                stream_seq: first_seq + i64::try_from(number).unwrap_or(0),
                stored_at: ended,
                body: body.to_string().into_bytes(),
            }
        })
        .collect()
}
