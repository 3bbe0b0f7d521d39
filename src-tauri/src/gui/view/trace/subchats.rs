//! Conversations that a call began and may wait for.
//!
//! Refuses to guess: a run is a subchat only where it and something above it name their conversations, and these differ.

use countersign_wire::ipc::{LineKind, LineLook, TraceLine};

/// Names the subchats among the lines of a tree, each parent before its children, by the conversation of each line, and counts
/// for every line those right below it that go on.
pub(super) fn name<'t>(
    lines: &mut [TraceLine],
    threads: impl IntoIterator<Item = Option<&'t str>>,
) {
    // Of each line, or of what is nearest above it.
    let mut known: Vec<Option<&str>> = Vec::with_capacity(lines.len());
    for (at, own) in threads.into_iter().enumerate().take(lines.len()) {
        let parent = lines[at]
            .parent
            .and_then(|parent| usize::try_from(parent).ok());
        let above = parent.and_then(|parent| known.get(parent).copied().flatten());
        known.push(own.or(above));
        let differs = own.zip(above).is_some_and(|(own, above)| own != above);
        if lines[at].kind != LineKind::Agent || !differs {
            continue;
        }
        lines[at].kind = LineKind::Subchat;
        let counts = goes_on(lines[at].look);
        if let Some(parent) = parent.and_then(|parent| lines.get_mut(parent)) {
            parent.subchats += u32::from(counts);
        }
    }
}

/// Whether it has not ended.
pub(super) fn goes_on(look: LineLook) -> bool {
    matches!(look, LineLook::Running | LineLook::Waiting)
}
