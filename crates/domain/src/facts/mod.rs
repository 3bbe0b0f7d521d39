//! What is known of requests, agents and traces, as every front end reads it.

mod agents;
mod alarm;
mod decision;
mod details;
pub mod names;
mod request;
mod trace;
mod votes;

pub use agents::{AgentReport, Gate, Instance, Presence, ToolReport};
pub use alarm::{Alarm, AuditRef};
pub use decision::{Contradicting, Outgoing, StoredDecision, StoredReceipt};
pub use details::{Marks, Misfit, RequestDetails};
pub use names::{Decider, decider};
pub use request::{EarlierCall, RequestSummary};
pub use trace::{Entry, GateRow, SpanRow, Trace, TraceFigures, TraceLine, WholeSpan};
pub use votes::{Approvals, ShownVote, StoredVote};
