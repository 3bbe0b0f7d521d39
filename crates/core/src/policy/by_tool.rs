//! Which rules of a set can match a call of one tool.
//!
//! Refuses to leave a rule out that could match, or could ask because something cannot be read: only
//! whole names that differ from the tool's rule one out.

use std::collections::HashMap;

use super::rule::{Enabled, Rule};

/// The places of a set's rules by the tools that they name. Rules that are off are left out.
#[derive(Debug, Default)]
pub(super) struct ByTool {
    /// Rules that name whole tools only.
    named: HashMap<String, Vec<usize>>,
    /// All others: a wildcard among the tools, or no tool at all.
    any: Vec<usize>,
    all: Vec<usize>,
}

impl ByTool {
    pub(super) fn of<'a>(rules: impl Iterator<Item = &'a Rule>) -> Self {
        let mut found = Self::default();
        for (place, rule) in rules.enumerate() {
            if rule.enabled == Enabled::Off {
                continue;
            }
            found.all.push(place);
            let tools = &rule.matchers.tool;
            if tools.is_empty() || !tools.iter().all(|tool| tool.is_literal()) {
                found.any.push(place);
                continue;
            }
            for tool in tools {
                let places = found.named.entry(tool.as_str().to_owned()).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        found
    }

    /// Every rule that is not off, in order.
    pub(super) fn all(&self) -> &[usize] {
        &self.all
    }

    /// The rules that a request of `tool` may concern, in order: all, where it names none.
    pub(super) fn of_tool(&self, tool: Option<&str>) -> Vec<usize> {
        let Some(tool) = tool else {
            return self.all.clone();
        };
        let named = self.named.get(tool).map_or(&[][..], Vec::as_slice);
        let mut places = [named, &self.any].concat();
        places.sort_unstable();
        places
    }
}
