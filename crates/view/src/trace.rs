//! Traces: the list, and one call tree in lines.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

/// Asks for a page of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TracesPageArgs {
    /// Cursor of the page before; none for what was last written to.
    #[ts(type = "number | null")]
    pub before: Option<i64>,
}

/// A page of traces, the one last written to first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TracesPage {
    /// The traces.
    pub rows: Vec<TraceRow>,
    /// Cursor of the next page; none at the end.
    #[ts(type = "number | null")]
    pub next: Option<i64>,
}

/// A trace in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TraceRow {
    /// `trace:N`.
    pub key: String,
    /// Name of its first root, else of its first span.
    pub name: Shown,
    /// `WORKSPACE/AGENT` of those who wrote in it.
    pub agents: Vec<String>,
    /// First start, by the agents' clocks.
    #[ts(type = "number")]
    pub started_ms: i64,
    /// Last known time, by the agents' clocks.
    #[ts(type = "number")]
    pub last_ms: i64,
    /// Spans that were counted.
    pub spans: u32,
    /// There are more than were counted; the other figures are of those counted.
    pub longer: bool,
    /// Spans that have not ended.
    pub open: u32,
    /// Spans that failed.
    pub failed: u32,
    /// Requests that wait for a decision.
    pub waiting: u32,
}

/// Names a trace: `trace:N`, `WORKSPACE/AGENT/ID` of a request in it, or what a person typed: a trace
/// id or a request id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TraceArgs {
    /// The name.
    pub key: String,
}

/// A trace as far as this console knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TraceTree {
    /// The agents' trace id.
    pub trace: Shown,
    /// `WORKSPACE/AGENT` of those who wrote in it; lines name them by their place here.
    pub agents: Vec<String>,
    /// Each parent before its children.
    pub lines: Vec<TraceLine>,
    /// First start; the agents' clocks, and the server's for requests.
    #[ts(type = "number")]
    pub start_ms: i64,
    /// From the first start to the last end, or to now where something goes on.
    #[ts(type = "number")]
    pub duration_ms: i64,
    /// How much of it something waited for a decision; overlapping waits count once.
    #[ts(type = "number")]
    pub waiting_ms: i64,
    /// More spans or requests are stored than are listed: the earliest are.
    pub truncated: bool,
    /// Not every span was read for figures, errors and marks: there are too many bytes.
    pub partly_read: bool,
}

/// What a line is about: a kind of span, or a request without a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// A tool runs.
    Tool,
    /// A model answers.
    Llm,
    /// An agent's run.
    Agent,
    /// An agent's run in another conversation than the call that began it.
    Subchat,
    /// A chain of calls.
    Chain,
    /// Something is looked up.
    Retriever,
    /// Something is embedded.
    Embedding,
    /// Somebody is asked.
    Approval,
    /// A request without a span.
    Request,
}

/// The state of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum LineLook {
    /// It goes on.
    Running,
    /// It waits for a decision.
    Waiting,
    /// It ended well.
    Ok,
    /// It failed.
    Error,
    /// It was not allowed.
    Denied,
    /// Its time ran out.
    Timeout,
    /// It was given up.
    Cancelled,
    /// It was stopped before its end.
    Incomplete,
    /// It never ended, although what caused it has.
    Unfinished,
    /// It ended; how is not said.
    Ended,
}

/// What had to be repaired to draw a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum LineRepair {
    /// Its parent is not known here.
    ParentMissing,
    /// Its parent was written by another agent.
    ParentOfAnotherAgent,
    /// It is its own ancestor.
    Loop,
    /// It ends before it starts.
    EndsBeforeStart,
    /// It lies deeper than is drawn.
    TooDeep,
}

/// How long a line waited for a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LineWait {
    /// From when, after the trace's start.
    #[ts(type = "number")]
    pub start_ms: i64,
    /// Until when; until now where it still waits.
    #[ts(type = "number")]
    pub end_ms: i64,
    /// Who or what ended it; none while it waits.
    pub verdict: Option<String>,
    /// `operator`, `rule`, `setup_key`, `timeout`, `agent`, `system`.
    pub origin: Option<String>,
    /// Who, where somebody decided.
    pub by: Option<Shown>,
}

/// What was used, by a span and all below it; zero where nobody says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    /// Tokens that were charged for.
    pub tokens_charged: f64,
    /// Time, in milliseconds.
    pub execution_time_ms: f64,
    /// Tokens read.
    pub input_tokens: f64,
    /// Tokens written.
    pub output_tokens: f64,
    /// Price, in US dollars.
    pub cost_usd: f64,
}

/// One line of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TraceLine {
    /// Number of the span; none for a request without a span.
    #[ts(type = "number | null")]
    pub span: Option<i64>,
    /// `WORKSPACE/AGENT/ID` of the request that it waited for.
    pub request: Option<String>,
    /// Place of its parent in the list.
    pub parent: Option<u32>,
    /// 0 for a root.
    pub depth: u32,
    /// Who wrote it: a place in the trace's list.
    pub agent: u32,
    /// What it is about.
    pub kind: LineKind,
    /// What it is called, its beginning only.
    pub name: Shown,
    /// From when, after the trace's start.
    #[ts(type = "number")]
    pub start_ms: i64,
    /// Until when; none while it goes on, or where its end is unknown.
    #[ts(type = "number | null")]
    pub end_ms: Option<i64>,
    /// Its state.
    pub look: LineLook,
    /// The code of its error.
    pub code: Option<Shown>,
    /// The wait for a decision in it.
    pub wait: Option<LineWait>,
    /// What was repaired.
    pub repairs: Vec<LineRepair>,
    /// With all below it; none where nothing is said.
    pub usage: Option<UsageView>,
    /// Its output was compressed or truncated by the framework.
    pub shortened: bool,
    /// How many artifacts it names.
    pub artifacts: u32,
    /// Subchats right below it that go on.
    pub subchats: u32,
}

/// What led to a request: the trace until it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LedHere {
    /// The last lines before the request, then the request; without the spans that hold it.
    pub lines: Vec<TraceLine>,
    /// Earlier lines that are left out.
    pub earlier: u32,
    /// Where the drawn time begins, after the trace's start.
    #[ts(type = "number")]
    pub from_ms: i64,
    /// Where it ends.
    #[ts(type = "number")]
    pub to_ms: i64,
}
