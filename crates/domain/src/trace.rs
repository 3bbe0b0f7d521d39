//! A call tree from spans that agents wrote: out of order, incomplete, or made to mislead.
//!
//! A span is not believed: a loop is cut where it starts, a missing parent makes a root, time that runs backwards is
//! shown as unknown. Every such repair is named on the span.

mod fault;
mod span_state;
mod subchats;
mod usage;

use std::collections::HashMap;

pub use fault::FaultKind;
pub use span_state::{Look, span_state};
pub use subchats::{Run, Subchat, subchats};
pub use usage::{Used, with_below};

/// The deepest place shown; what lies deeper is shown at it.
pub const DEEPEST: usize = 200;

/// One bar of the tree, as an agent or this console knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// `WS/AGENT`: who wrote it. Another agent can write into a trace.
    pub agent: String,
    /// The agent's span; none for a request without a span.
    pub span_id: Option<String>,
    /// The span that caused it.
    pub parent: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub start: i64,
    /// Milliseconds; none while it runs.
    pub end: Option<i64>,
}

/// What was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repair {
    /// Its parent is not known here.
    ParentMissing,
    /// Its parent was written by another agent.
    ParentOfAnother,
    /// It is its own ancestor.
    Loop,
    /// It ends before it starts.
    EndsBeforeStart,
    /// It lies deeper than [`DEEPEST`].
    TooDeep,
}

countersign_wire::words!(Repair {
    ParentMissing => "parent_missing", ParentOfAnother => "parent_of_another_agent", Loop => "loop",
    EndsBeforeStart => "ends_before_start", TooDeep => "too_deep",
});

/// A place in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow {
    /// Which bar, an index into what was given.
    pub bar: usize,
    /// Its parent's place in the list; none for a root. What lies deeper than [`DEEPEST`] hangs beside
    /// its parent.
    pub parent: Option<usize>,
    /// 0 for a root.
    pub depth: usize,
    /// What was repaired, in order.
    pub repairs: Vec<Repair>,
}

/// The tree as a list: each parent before its children, children by start and then in the given order.
#[must_use]
pub fn call_tree(bars: &[Bar]) -> Vec<TreeRow> {
    let (parents, mut repairs) = parents(bars);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); bars.len()];
    let mut roots = Vec::new();
    for (bar, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(bar),
            None => roots.push(bar),
        }
    }
    for list in children.iter_mut().chain(std::iter::once(&mut roots)) {
        list.sort_by_key(|bar| (bars[*bar].start, *bar));
    }
    let mut places: Vec<TreeRow> = Vec::with_capacity(bars.len());
    // A stack and no recursion: the depth is the agents' choice.
    let mut open: Vec<(usize, Option<usize>, usize)> = Vec::new();
    open.extend(roots.iter().rev().map(|bar| (*bar, None, 0)));
    while let Some((bar, parent, depth)) = open.pop() {
        if bars[bar].end.is_some_and(|end| end < bars[bar].start) {
            repairs[bar].push(Repair::EndsBeforeStart);
        }
        let mut parent = parent;
        if depth > DEEPEST {
            repairs[bar].push(Repair::TooDeep);
            parent = parent.and_then(|parent: usize| places[parent].parent);
        }
        let place = places.len();
        places.push(TreeRow {
            bar,
            parent,
            depth: depth.min(DEEPEST),
            repairs: std::mem::take(&mut repairs[bar]),
        });
        let below = children[bar].iter().rev();
        open.extend(below.map(|child| (*child, Some(place), depth + 1)));
    }
    places
}

/// The parent of each bar after loops are cut, and what was repaired on the way.
fn parents(bars: &[Bar]) -> (Vec<Option<usize>>, Vec<Vec<Repair>>) {
    let mut own: HashMap<(&str, &str), usize> = HashMap::new();
    let mut any: HashMap<&str, usize> = HashMap::new();
    for (number, bar) in bars.iter().enumerate() {
        if let Some(span) = bar.span_id.as_deref() {
            own.entry((&bar.agent, span)).or_insert(number);
            any.entry(span).or_insert(number);
        }
    }
    let mut repairs = vec![Vec::new(); bars.len()];
    let mut parents: Vec<Option<usize>> = Vec::with_capacity(bars.len());
    for (number, bar) in bars.iter().enumerate() {
        let Some(wanted) = bar.parent.as_deref().filter(|parent| !parent.is_empty()) else {
            parents.push(None);
            continue;
        };
        let found = match own.get(&(bar.agent.as_str(), wanted)) {
            Some(parent) => Some(*parent),
            None => any.get(wanted).copied().inspect(|_| {
                repairs[number].push(Repair::ParentOfAnother);
            }),
        };
        if found.is_none() {
            repairs[number].push(Repair::ParentMissing);
        }
        parents.push(found);
    }
    cut_loops(bars, &mut parents, &mut repairs);
    (parents, repairs)
}

/// Makes the earliest bar of each loop a root.
fn cut_loops(bars: &[Bar], parents: &mut [Option<usize>], repairs: &mut [Vec<Repair>]) {
    const NEW: usize = usize::MAX;
    // The walk in which each bar was met: meeting one of the same walk again closes a loop.
    let mut met = vec![NEW; bars.len()];
    for walk in 0..bars.len() {
        let mut at = walk;
        while met[at] == NEW {
            met[at] = walk;
            let Some(parent) = parents[at] else { break };
            at = parent;
            if met[at] == walk {
                let first = earliest_of_loop(bars, parents, at);
                parents[first] = None;
                repairs[first].push(Repair::Loop);
                break;
            }
        }
    }
}

fn earliest_of_loop(bars: &[Bar], parents: &[Option<usize>], start: usize) -> usize {
    let mut first = start;
    let mut at = parents[start];
    while let Some(bar) = at.filter(|bar| *bar != start) {
        if (bars[bar].start, bar) < (bars[first].start, first) {
            first = bar;
        }
        at = parents[bar];
    }
    first
}

/// How many milliseconds the intervals cover together; those that end before they start cover none.
#[must_use]
pub fn covered_ms(mut intervals: Vec<(i64, i64)>) -> i64 {
    intervals.sort_unstable();
    let (mut sum, mut reached) = (0_i64, i64::MIN);
    for (start, end) in intervals {
        let from = start.max(reached);
        if end > from {
            sum = sum.saturating_add(end.saturating_sub(from));
            reached = end;
        }
    }
    sum
}

#[cfg(test)]
mod tests;
