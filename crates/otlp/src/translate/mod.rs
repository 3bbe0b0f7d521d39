//! OTLP spans to the events of the protocol (section 6), without I/O and without a clock.
//!
//! A span without usable ids and times is dropped and counted; everything else is kept, cut to a size. What an
//! instrumentation says never becomes an approval, a verdict or the id of a request.

mod agent;
mod attributes;
mod bounded;
mod content;
mod indexed;
mod kind;
mod lookup;
mod outcome;
mod span;
mod usage;

use countersign_wire::{AgentKey, WorkspaceName};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans};

pub use agent::agent_of_service;

/// Spans of one export request that are read; those after them are refused and counted.
pub const SPANS_MAX: usize = 10_000;

/// Who sent an export request, as the receiver knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// Anybody who reaches the port: the service's own name makes a name that no enrolled agent has.
    Anybody(WorkspaceName),
    /// The agent whose token was shown: its spans are shown beside those that it publishes itself.
    Agent(AgentKey),
}

/// One event, ready for the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whose it is; names its subject.
    pub agent: AgentKey,
    /// The span as JSON, at most [`countersign_wire::SPAN_MAX_BYTES`].
    pub payload: Vec<u8>,
}

/// What an export request holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Translated {
    /// In the order of the request.
    pub events: Vec<Event>,
    /// Spans that were not taken.
    pub refused: usize,
    /// Why the first of them was not.
    pub why: Option<Refusal>,
}

/// Why a span is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No trace id.
    #[error("trace_id must be 16 bytes that are not all zero")]
    TraceId,
    /// No span id.
    #[error("span_id must be 8 bytes that are not all zero")]
    SpanId,
    /// A parent that cannot be one.
    #[error("parent_span_id must be empty or 8 bytes")]
    ParentSpanId,
    /// No time at all.
    #[error("start_time_unix_nano is missing")]
    StartTime,
    /// One of too many.
    #[error("more than {SPANS_MAX} spans in one request; send smaller batches")]
    TooMany,
    /// A field that its JSON may not have so.
    #[error("{0} is not as OTLP writes it in JSON")]
    Unreadable(&'static str),
    /// Cannot be written as an event.
    #[error("the span cannot be written as an event")]
    Unwritable,
}

/// Reads the spans of an export request.
#[must_use]
pub fn translate(request: &ExportTraceServiceRequest, sender: &Sender) -> Translated {
    let mut done = Translated::default();
    for group in &request.resource_spans {
        let origin = attributes::Origin::of(group, sender);
        for scope in &group.scope_spans {
            read_scope(group, scope, origin.as_ref(), &mut done);
        }
    }
    done
}

fn read_scope(
    group: &ResourceSpans,
    scope: &ScopeSpans,
    origin: Option<&attributes::Origin<'_>>,
    done: &mut Translated,
) {
    for span in &scope.spans {
        let read = match origin {
            None => Err(Refusal::Unwritable),
            Some(_) if done.events.len() + done.refused >= SPANS_MAX => Err(Refusal::TooMany),
            Some(origin) => {
                let source = attributes::Source {
                    origin,
                    resource: group.resource.as_ref(),
                    scope: scope.scope.as_ref(),
                };
                span::event(span, &source).map(|payload| Event {
                    agent: origin.agent.clone(),
                    payload,
                })
            }
        };
        match read {
            Ok(event) => done.events.push(event),
            Err(why) => {
                done.refused += 1;
                done.why.get_or_insert(why);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
