//! Conversations that a call began and may wait for, on the lines of the page.

use crate::{LineKind, LineLook, TraceLine};
use countersign_domain::trace::{Run, subchats};

/// Names the subchats among the lines of a tree, each parent before its children, by the conversation of each line, and counts
/// for every line those right below it that go on.
pub(super) fn name<'t>(
    lines: &mut [TraceLine],
    threads: impl IntoIterator<Item = Option<&'t str>>,
) {
    let run = |(line, thread): (&TraceLine, Option<&'t str>)| Run {
        is_agent: line.kind == LineKind::Agent,
        parent: line.parent.and_then(|parent| usize::try_from(parent).ok()),
        thread,
        goes_on: goes_on(line.look),
    };
    let runs: Vec<Run<'_>> = lines.iter().zip(threads).map(run).collect();
    for (line, found) in lines.iter_mut().zip(subchats(&runs)) {
        line.subchats = found.awaited;
        if found.is_one {
            line.kind = LineKind::Subchat;
        }
    }
}

/// Whether it has not ended.
pub(super) fn goes_on(look: LineLook) -> bool {
    matches!(look, LineLook::Running | LineLook::Waiting)
}
