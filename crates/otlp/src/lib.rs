//! OTLP, the wire format of OpenTelemetry, read into the events of Countersign's
//! protocol and written from its decisions.
//!
//! What comes over OTLP is not believed: whoever reaches the receiver can write any name. What comes is marked, kept under a
//! name that no enrolled agent has, and joined to a request only if its sender has shown a token.

pub mod export;
pub mod receiver;
pub mod translate;
