//! OTLP, the wire format of OpenTelemetry, read into the events of Countersign's
//! protocol and written from its decisions.
//!
//! Refuses to believe: whoever reaches the receiver can write any name, so what comes over OTLP is marked, kept
//! under a name that no enrolled agent has, and joined to no request unless its sender has shown a token.

pub mod export;
pub mod receiver;
pub mod translate;
