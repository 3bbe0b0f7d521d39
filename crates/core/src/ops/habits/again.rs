//! Tools whose waiting calls are looked at again, in turn.

use std::collections::VecDeque;

use super::past::ToolName;

/// Each with the row behind which its calls are still to be looked at.
#[derive(Default)]
pub(crate) struct Again(VecDeque<(ToolName, i64)>);

impl Again {
    /// All waiting calls of a tool: also those that were looked at in a turn that goes on.
    pub(super) fn want(&mut self, tool: ToolName) {
        if !self.0.iter().any(|(of, after)| *after == 0 && *of == tool) {
            self.0.push_back((tool, 0));
        }
    }

    /// Whose turn it is.
    pub(super) fn next(&mut self) -> Option<(ToolName, i64)> {
        self.0.pop_front()
    }

    /// More of a tool's calls wait, behind this row.
    pub(super) fn go_on(&mut self, tool: ToolName, after: i64) {
        self.0.push_front((tool, after));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> ToolName {
        ToolName::new("demo", "billing", name)
    }

    #[test]
    fn a_decision_during_a_turn_makes_another_turn_and_no_tool_waits_for_ever() {
        let mut again = Again::default();
        again.want(tool("pay"));
        again.want(tool("mail"));
        again.want(tool("pay"));
        assert_eq!(again.next(), Some((tool("pay"), 0)));
        again.go_on(tool("pay"), 7);
        again.want(tool("pay"));
        again.want(tool("pay"));
        assert_eq!(again.next(), Some((tool("pay"), 7)));
        assert_eq!(again.next(), Some((tool("mail"), 0)));
        assert_eq!(again.next(), Some((tool("pay"), 0)));
        assert!(again.is_empty());
    }
}
