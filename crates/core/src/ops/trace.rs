//! One trace: the call tree of agents, with the decisions that it waited for.
//!
//! The number of spans is limited: a trace may hold a million.

use std::collections::HashMap;

use countersign_wire::ErrorCode;

use crate::Fault;
pub use crate::domain::facts::{Entry, Trace};
use crate::domain::trace::{Bar, call_tree, covered_ms};
use crate::runtime::App;
use crate::store::spans::{self, GateRow, SpanRow};

/// Spans read of one trace at most, earliest first.
pub const SPANS: i64 = 20_000;
/// Requests read of one trace at most, oldest first.
pub const GATES: i64 = 2_000;

impl App {
    /// The trace with this id, or the one of a request (`ID` or `WS/AGENT/ID`). The full name of a request is never
    /// taken for a trace: agents choose the ids of their traces, and one could hide another's behind them.
    pub async fn trace(&self, id: &str) -> Result<Trace, Fault> {
        let named = match id.contains('/') {
            true => match self.find(id).await {
                Ok(line) => Some(line),
                Err(fault) if fault.code == ErrorCode::NotFound => None,
                Err(error) => return Err(error),
            },
            false => None,
        };
        let line = match named {
            Some(line) => line,
            None => {
                let found = self.read_trace(id).await?;
                if !found.entries.is_empty() {
                    return Ok(found);
                }
                self.find(id).await?
            }
        };
        let key = (
            line.ws.as_str(),
            line.agent.as_str(),
            line.request_id.as_str(),
        );
        let reader = self.reader();
        let mut named: Vec<String> = spans::trace_of_request(reader, line.id)
            .await?
            .into_iter()
            .collect();
        named.extend(spans::traces_of_request(reader, key).await?);
        for trace in named {
            let found = self.read_trace(&trace).await?;
            if !found.entries.is_empty() {
                return Ok(found);
            }
        }
        let of = countersign_wire::escape(id).plain();
        Err(Fault::unknown(format!("a trace of {of}"), "history"))
    }

    async fn read_trace(&self, trace_id: &str) -> Result<Trace, Fault> {
        let reader = self.reader();
        let mut spans = spans::of_trace(reader, trace_id, SPANS + 1).await?;
        let mut gates = spans::gates_of_trace(reader, trace_id, GATES + 1).await?;
        let many = |count: usize, limit: i64| i64::try_from(count).is_ok_and(|count| count > limit);
        let truncated = many(spans.len(), SPANS) || many(gates.len(), GATES);
        spans.truncate(usize::try_from(SPANS).unwrap_or(usize::MAX));
        gates.truncate(usize::try_from(GATES).unwrap_or(usize::MAX));
        Ok(assemble(trace_id, spans, gates, truncated, self.now().0))
    }

    /// The payload of each span, as received, by row number.
    pub async fn span_bodies(&self, ids: &[i64]) -> Result<HashMap<i64, Vec<u8>>, Fault> {
        Ok(spans::bodies(self.reader(), ids)
            .await?
            .into_iter()
            .collect())
    }
}

/// Joins spans and requests: a request joins the span that names it, else it lies below the span that wants to make the
/// call.
fn assemble(
    trace_id: &str,
    spans: Vec<SpanRow>,
    gates: Vec<GateRow>,
    truncated: bool,
    now: i64,
) -> Trace {
    let mut bars: Vec<Bar> = spans
        .iter()
        .map(|span| Bar {
            agent: format!("{}/{}", span.ws, span.agent),
            span_id: Some(span.span_id.clone()),
            parent: span.parent_span_id.clone(),
            start: span.started_at,
            end: span.ended_at,
        })
        .collect();
    let mut gate_of_span: HashMap<usize, GateRow> = HashMap::new();
    let mut alone: Vec<GateRow> = Vec::new();
    let places = SpanPlaces::of(&spans);
    for gate in gates {
        match places.standing_for(&gate) {
            Some(span) => {
                gate_of_span.entry(span).or_insert(gate);
            }
            None => {
                bars.push(Bar {
                    agent: format!("{}/{}", gate.ws, gate.agent),
                    span_id: None,
                    parent: gate
                        .span_id
                        .clone()
                        .or_else(|| places.of_call(&gate, &spans)),
                    start: gate.stored_at,
                    end: ended(&gate),
                });
                alone.push(gate);
            }
        }
    }
    let count = spans.len();
    let waits: Vec<(i64, i64)> = gate_of_span
        .values()
        .chain(&alone)
        .map(|gate| (gate.stored_at, ended(gate).unwrap_or(now)))
        .collect();
    // A call that waits lasts until now, and so does what it is a part of.
    let lasted = bars
        .iter()
        .map(|bar| (bar.start, bar.end.unwrap_or(bar.start)));
    let lasted: Vec<(i64, i64)> = lasted.chain(waits.iter().copied()).collect();
    let first = lasted.iter().map(|(start, _)| *start).min().unwrap_or(0);
    let last = lasted.iter().map(|(_, end)| *end).max();
    let entries = call_tree(&bars)
        .into_iter()
        .map(|place| {
            let gate = match place.bar.checked_sub(count) {
                Some(number) => alone.get(number).cloned(),
                None => gate_of_span.get(&place.bar).cloned(),
            };
            Entry {
                span: spans.get(place.bar).cloned(),
                waiting_ms: gate
                    .as_ref()
                    .map(|gate| (ended(gate).unwrap_or(now) - gate.stored_at).max(0)),
                gate,
                place,
            }
        })
        .collect();
    Trace {
        trace_id: trace_id.to_owned(),
        entries,
        truncated,
        duration_ms: last.unwrap_or(first).saturating_sub(first).max(0),
        waiting_ms: covered_ms(waits),
    }
}

/// When a request stopped waiting; none while it waits.
fn ended(gate: &GateRow) -> Option<i64> {
    match gate.state.as_str() {
        "pending" | "holding" | "queued" => None,
        "rejected" => Some(gate.stored_at),
        _ => Some(gate.decided_at.unwrap_or(gate.deadline_at)),
    }
}

/// Which span of an agent names which request or call; the approval's own span before any other.
struct SpanPlaces {
    by_request: HashMap<(String, String), usize>,
    by_call: HashMap<(String, String), usize>,
}

impl SpanPlaces {
    fn of(spans: &[SpanRow]) -> Self {
        let (mut by_request, mut by_call) = (HashMap::new(), HashMap::new());
        for (number, span) in spans.iter().enumerate() {
            let agent = format!("{}/{}", span.ws, span.agent);
            if let Some(request) = &span.request_id {
                let place = by_request
                    .entry((agent.clone(), request.clone()))
                    .or_insert(number);
                if span.kind == "approval" && spans[*place].kind != "approval" {
                    *place = number;
                }
            }
            if let Some(call) = &span.call_id {
                by_call.entry((agent, call.clone())).or_insert(number);
            }
        }
        Self {
            by_request,
            by_call,
        }
    }

    fn standing_for(&self, gate: &GateRow) -> Option<usize> {
        let name = (
            format!("{}/{}", gate.ws, gate.agent),
            gate.request_id.clone(),
        );
        self.by_request.get(&name).copied()
    }

    fn of_call(&self, gate: &GateRow, spans: &[SpanRow]) -> Option<String> {
        let name = (format!("{}/{}", gate.ws, gate.agent), gate.call_id.clone()?);
        let span = spans.get(*self.by_call.get(&name)?)?;
        Some(span.span_id.clone())
    }
}
