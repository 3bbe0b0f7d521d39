//! The call tree in lines, and the part of it that led to a request.

use std::collections::{BTreeMap, HashSet};

use crate::{LedHere, LineKind, LineLook, LineRepair, LineWait, TraceLine, TraceTree, UsageView};
use countersign_domain::facts::{Entry, GateRow, SpanRow, Trace};
use countersign_domain::trace::{Look, Repair, Used, span_state, with_below};
use countersign_wire::{Shown, escape};
use serde_json::Value;

use super::glance::{Glance, Glances};
use super::subchats;

/// Lines before a request that its card shows.
const LED: usize = 8;

/// The tree of a trace; `now` is the server's time.
pub fn trace_tree(trace: &Trace, glances: &Glances, partly_read: bool, now: i64) -> TraceTree {
    let start = trace.entries.iter().map(started).min().unwrap_or(now);
    let own: Vec<Used> = trace
        .entries
        .iter()
        .map(|entry| glance(entry, glances).map_or_else(Used::default, |glance| glance.used))
        .collect();
    let places: Vec<_> = trace
        .entries
        .iter()
        .map(|entry| entry.place.clone())
        .collect();
    let used = with_below(&places, &own);
    let mut agents = Agents::default();
    let mut lines: Vec<TraceLine> = trace
        .entries
        .iter()
        .zip(&used)
        .map(|(entry, used)| {
            let parent = entry.place.parent.and_then(|at| trace.entries.get(at));
            let glance = glance(entry, glances).cloned().unwrap_or_default();
            line(entry, parent, &mut agents, glance, used, start)
        })
        .collect();
    let threads = trace
        .entries
        .iter()
        .map(|entry| glance(entry, glances)?.thread.as_deref());
    subchats::name(&mut lines, threads);
    let goes_on = lines.iter().any(|line| subchats::goes_on(line.look));
    let until_now = if goes_on {
        now.saturating_sub(start)
    } else {
        0
    };
    TraceTree {
        trace: escape(&trace.trace_id),
        agents: agents.names,
        lines,
        start_ms: start,
        duration_ms: trace.duration_ms.max(until_now),
        waiting_ms: trace.waiting_ms,
        truncated: trace.truncated,
        partly_read,
    }
}

/// The last lines before a request, then the request; none where it is not in the tree.
pub fn led_here(tree: &TraceTree, request: &str) -> Option<LedHere> {
    let asked = |line: &TraceLine| line.request.as_deref() == Some(request);
    let at = tree.lines.iter().position(asked)?;
    let gate = tree.lines.get(at)?;
    let mut holds = HashSet::new();
    let mut above = gate.parent;
    while let Some(parent) = above.filter(|parent| holds.insert(*parent)) {
        above = tree.lines.get(parent as usize).and_then(|line| line.parent);
    }
    let until = gate
        .wait
        .as_ref()
        .map_or(gate.start_ms, |wait| wait.start_ms);
    let mut before: Vec<&TraceLine> = tree
        .lines
        .iter()
        .zip(0_u32..)
        .filter(|(line, place)| {
            line.start_ms <= until && !holds.contains(place) && *place as usize != at
        })
        .map(|(line, _)| line)
        .collect();
    // Sorting is stable: what starts together stays in the order of the tree.
    before.sort_by_key(|line| line.start_ms);
    let earlier = before.len().saturating_sub(LED);
    let mut lines: Vec<TraceLine> = before[earlier..]
        .iter()
        .map(|line| (*line).clone())
        .collect();
    lines.push(gate.clone());
    for line in &mut lines {
        (line.depth, line.parent) = (0, None);
    }
    let from_ms = lines.iter().map(|line| line.start_ms).min().unwrap_or(0);
    let ends = lines.iter().map(|line| {
        let wait = line.wait.as_ref().map_or(0, |wait| wait.end_ms);
        line.end_ms.unwrap_or(line.start_ms).max(wait)
    });
    Some(LedHere {
        earlier: u32::try_from(earlier).unwrap_or(u32::MAX),
        from_ms,
        to_ms: ends.max().unwrap_or(from_ms),
        lines,
    })
}

/// The agents of a tree, each with its place.
#[derive(Default)]
struct Agents {
    places: BTreeMap<String, u32>,
    names: Vec<String>,
}

impl Agents {
    fn place(&mut self, name: String) -> u32 {
        if let Some(place) = self.places.get(&name) {
            return *place;
        }
        let place = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.clone());
        self.places.insert(name, place);
        place
    }
}

fn started(entry: &Entry) -> i64 {
    let span = entry.span.as_ref().map(|span| span.started_at);
    let gate = entry.gate.as_ref().map(|gate| gate.stored_at);
    span.or(gate).unwrap_or(i64::MAX)
}

fn glance<'a>(entry: &Entry, glances: &'a Glances) -> Option<&'a Glance> {
    glances.of(entry.span.as_ref()?.id)
}

fn line(
    entry: &Entry,
    parent: Option<&Entry>,
    agents: &mut Agents,
    glance: Glance,
    used: &Used,
    start: i64,
) -> TraceLine {
    let gate = entry.gate.as_ref();
    let (agent, kind, name, ended) = match (&entry.span, gate) {
        (Some(span), _) => (
            format!("{}/{}", span.ws, span.agent),
            serde_json::from_value(span.kind.as_str().into()).unwrap_or(LineKind::Tool),
            escape(&span.name),
            span.ended_at,
        ),
        (None, Some(gate)) => (
            format!("{}/{}", gate.ws, gate.agent),
            LineKind::Request,
            gate.tool
                .as_deref()
                .map_or_else(|| escape("a question"), escape),
            (!waits(gate)).then(|| gate.stored_at + entry.waiting_ms.unwrap_or(0)),
        ),
        (None, None) => (String::new(), LineKind::Request, Shown::default(), None),
    };
    TraceLine {
        span: entry.span.as_ref().map(|span| span.id),
        request: gate.map(|gate| format!("{}/{}/{}", gate.ws, gate.agent, gate.request_id)),
        parent: entry
            .place
            .parent
            .and_then(|parent| u32::try_from(parent).ok()),
        depth: u32::try_from(entry.place.depth).unwrap_or(u32::MAX),
        agent: agents.place(agent),
        kind,
        name,
        start_ms: started(entry).saturating_sub(start),
        end_ms: ended.map(|end| end.saturating_sub(start)),
        look: look_of(entry.span.as_ref(), gate, parent),
        code: glance.code.as_deref().map(escape),
        wait: gate.map(|gate| wait(gate, entry.waiting_ms.unwrap_or(0), start)),
        repairs: entry
            .place
            .repairs
            .iter()
            .map(|repair| repaired(*repair))
            .collect(),
        usage: (!used.is_none()).then(|| usage_view(used)),
        shortened: glance.shortened,
        artifacts: glance.artifacts,
        subchats: 0,
    }
}

/// The figures as the page gets them.
pub(super) fn usage_view(used: &Used) -> UsageView {
    UsageView {
        tokens_charged: used.tokens_charged,
        execution_time_ms: used.execution_time_ms,
        input_tokens: used.input_tokens,
        output_tokens: used.output_tokens,
        cost_usd: used.cost_usd,
    }
}

fn waits(gate: &GateRow) -> bool {
    matches!(gate.state.as_str(), "pending" | "holding" | "queued")
}

fn look_of(span: Option<&SpanRow>, gate: Option<&GateRow>, parent: Option<&Entry>) -> LineLook {
    let Some(span) = span else {
        return gate.map_or(LineLook::Ended, look_of_gate);
    };
    let parent = parent.and_then(|parent| parent.span.as_ref());
    let parent_ended = parent.is_some_and(|parent| parent.ended_at.is_some());
    match span_state(
        span.status.as_deref(),
        span.ended_at.is_some(),
        parent_ended,
    ) {
        Look::Running if gate.is_some_and(waits) => LineLook::Waiting,
        Look::Running => LineLook::Running,
        Look::Waiting => LineLook::Waiting,
        Look::Ok => LineLook::Ok,
        Look::Error => LineLook::Error,
        Look::Denied => LineLook::Denied,
        Look::Timeout => LineLook::Timeout,
        Look::Cancelled => LineLook::Cancelled,
        Look::Incomplete => LineLook::Incomplete,
        Look::Unfinished => LineLook::Unfinished,
        Look::Ended => LineLook::Ended,
    }
}

fn look_of_gate(gate: &GateRow) -> LineLook {
    match (gate.state.as_str(), gate.verdict.as_deref()) {
        ("pending" | "holding" | "queued", _) => LineLook::Waiting,
        ("expired", _) => LineLook::Timeout,
        ("withdrawn", _) | (_, Some("skip" | "escalate")) => LineLook::Cancelled,
        ("decided", Some("approve" | "modify" | "respond")) => LineLook::Ok,
        ("decided", _) => LineLook::Denied,
        _ => LineLook::Error,
    }
}

fn wait(gate: &GateRow, waited: i64, start: i64) -> LineWait {
    let from = gate.stored_at.saturating_sub(start);
    let by: Option<Value> = gate
        .decided_by
        .as_deref()
        .and_then(|by| serde_json::from_str(by).ok());
    LineWait {
        start_ms: from,
        end_ms: from.saturating_add(waited),
        verdict: gate.verdict.as_deref().map(|word| escape(word).plain()),
        origin: gate.origin.clone(),
        by: by.and_then(|by| by.get("name")?.as_str().map(escape)),
    }
}

fn repaired(repair: Repair) -> LineRepair {
    match repair {
        Repair::ParentMissing => LineRepair::ParentMissing,
        Repair::ParentOfAnother => LineRepair::ParentOfAnotherAgent,
        Repair::Loop => LineRepair::Loop,
        Repair::EndsBeforeStart => LineRepair::EndsBeforeStart,
        Repair::TooDeep => LineRepair::TooDeep,
    }
}

#[cfg(test)]
mod tests;
