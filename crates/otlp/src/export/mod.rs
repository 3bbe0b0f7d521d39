//! This console's answers as OTLP spans, for the tracing system that a person already has.
//!
//! Spans carry names, verdicts and digests only: no arguments, results or anybody's words.

mod collector;
mod span;

pub use collector::{Collector, CollectorError, Destination, Header};
pub use span::{Answered, Decider, approval_spans};

#[cfg(test)]
mod tests;
