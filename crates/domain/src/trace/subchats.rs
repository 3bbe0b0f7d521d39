//! Conversations that a call began and may wait for.
//!
//! A run is a subchat only where it and something above it name their conversations, and these differ.

/// What is looked at of one line of the call tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run<'t> {
    /// Whether it is an agent's run; nothing else is a conversation.
    pub is_agent: bool,
    /// Its parent's place in the list, before its own.
    pub parent: Option<usize>,
    /// The agent's own id of its conversation; an empty one names none.
    pub thread: Option<&'t str>,
    /// Whether it has not ended.
    pub goes_on: bool,
}

/// What the conversations say of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Subchat {
    /// Whether the line is one.
    pub is_one: bool,
    /// How many right below it go on.
    pub awaited: u32,
}

/// The subchats among the lines of a tree, each parent before its children.
#[must_use]
pub fn subchats(runs: &[Run<'_>]) -> Vec<Subchat> {
    let mut found = vec![Subchat::default(); runs.len()];
    // The conversation of each line, or of what is nearest above it.
    let mut known: Vec<Option<&str>> = Vec::with_capacity(runs.len());
    for (at, run) in runs.iter().enumerate() {
        let own = run.thread.filter(|thread| !thread.is_empty());
        let parent = run.parent.filter(|parent| *parent < at);
        let above = parent.and_then(|parent| known[parent]);
        known.push(own.or(above));
        let differs = own.zip(above).is_some_and(|(own, above)| own != above);
        if !run.is_agent || !differs {
            continue;
        }
        found[at].is_one = true;
        if let Some(parent) = parent {
            found[parent].awaited += u32::from(run.goes_on);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_another_conversation_is_a_subchat_and_what_is_above_counts_those_that_go_on() {
        // Agent, thread, parent, goes on; then whether it is one and how many are awaited.
        let table = [
            (true, Some("main"), None, true, false, 0),
            (false, None, Some(0), true, false, 2),
            (true, Some("a"), Some(1), false, true, 0),
            (false, Some("a"), Some(2), false, false, 0),
            (true, Some("b"), Some(1), true, true, 1),
            (true, Some("b.1"), Some(4), true, true, 0),
            (true, Some("c"), Some(1), true, true, 0),
            (false, Some("d"), Some(1), true, false, 0),
            (true, Some("main"), Some(1), true, false, 0),
            (true, None, Some(1), true, false, 0),
            (true, Some(""), Some(1), true, false, 0),
            (true, Some("alone"), None, true, false, 0),
            (true, None, None, true, false, 0),
            (true, Some("first"), Some(12), true, false, 0),
        ];
        let runs = table.map(|(is_agent, thread, parent, goes_on, ..)| Run {
            is_agent,
            parent,
            thread,
            goes_on,
        });
        let expected =
            table.map(|(.., is_one, awaited): (_, _, _, _, bool, u32)| Subchat { is_one, awaited });
        assert_eq!(subchats(&runs), expected);
    }
}
