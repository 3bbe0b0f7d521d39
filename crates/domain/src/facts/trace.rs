//! Spans, the requests among them, and the tree of both.

use crate::trace::TreeRow;

/// A span without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRow {
    /// Row number, in the order in which spans were first seen.
    pub id: i64,
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// The agent's span.
    pub span_id: String,
    /// The span that caused it.
    pub parent_span_id: Option<String>,
    /// What is being done, its beginning only.
    pub name: String,
    /// Word of the protocol.
    pub kind: String,
    /// Word of the protocol.
    pub status: Option<String>,
    /// The agent's clock, ms.
    pub started_at: i64,
    /// The agent's clock, ms.
    pub ended_at: Option<i64>,
    /// The request that it waits for.
    pub request_id: Option<String>,
    /// The agent's call.
    pub call_id: Option<String>,
}

/// A request that belongs to a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRow {
    /// Row number.
    pub id: i64,
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Request id.
    pub request_id: String,
    /// Tool name as the agent wrote it.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: String,
    /// Life-cycle state.
    pub state: String,
    /// As it reads everywhere.
    pub verdict: Option<String>,
    /// Who decided.
    pub origin: Option<String>,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// Server time, ms.
    pub stored_at: i64,
    /// Server time, ms.
    pub decided_at: Option<i64>,
    /// Server time, ms.
    pub deadline_at: i64,
    /// The span that wants to make the call.
    pub span_id: Option<String>,
    /// The agent's call.
    pub call_id: Option<String>,
}

/// A span with its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeSpan {
    /// The span.
    pub row: SpanRow,
    /// The agents' trace.
    pub trace_id: String,
    /// Payload as received.
    pub body: Vec<u8>,
}

/// What the first spans of a trace say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFigures {
    /// How many there are, at most one more than were looked at.
    pub spans: i64,
    /// Name of its first root, else of its first span.
    pub name: String,
    /// `WS/AGENT` of those who wrote in it, divided by blanks.
    pub agents: String,
    /// First start, the agents' clock, ms.
    pub started_at: i64,
    /// Last known time, the agents' clock, ms.
    pub last_at: i64,
    /// Spans that have not ended.
    pub open: i64,
    /// Spans that failed.
    pub failed: i64,
    /// Requests that wait for a decision.
    pub waiting: i64,
}

/// A trace as far as this console knows it.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The agents' trace id.
    pub trace_id: String,
    /// What happened, each parent before its children.
    pub entries: Vec<Entry>,
    /// More spans or requests are known than are read.
    pub truncated: bool,
    /// From the first start to the last end, ms; agents' clocks, and the server's for requests.
    pub duration_ms: i64,
    /// How much of it something waited for a decision, ms; overlapping waits count once.
    pub waiting_ms: i64,
}

/// One line of the tree.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The span; none for a request without one.
    pub span: Option<SpanRow>,
    /// The request that it waited for.
    pub gate: Option<GateRow>,
    /// Its place in the tree.
    pub place: TreeRow,
    /// How long it waited for its decision, ms.
    pub waiting_ms: Option<i64>,
}

/// A trace in the list.
#[derive(Debug, Clone)]
pub struct TraceLine {
    /// Its row, which [`App::trace_of_row`] takes.
    pub row: i64,
    /// What is said of it.
    pub figures: TraceFigures,
    /// It has more spans than were looked at for the figures.
    pub longer: bool,
}
