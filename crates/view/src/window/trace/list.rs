//! A trace in the list.

use crate::TraceRow;
use countersign_domain::facts::TraceLine;
use countersign_wire::escape;

/// How the page names a row of the list.
pub(crate) const ROW: &str = "trace:";

/// The line of a trace.
pub fn trace_row(line: &TraceLine) -> TraceRow {
    let figures = &line.figures;
    let count = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
    TraceRow {
        key: format!("{ROW}{}", line.row),
        name: escape(&figures.name),
        agents: figures.agents.split(' ').map(str::to_owned).collect(),
        started_ms: figures.started_at,
        last_ms: figures.last_at,
        spans: count(figures.spans),
        longer: line.longer,
        open: count(figures.open),
        failed: count(figures.failed),
        waiting: count(figures.waiting),
    }
}
