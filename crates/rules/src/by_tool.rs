//! Which rules of a set can match a call of one tool.
//!
//! Refuses to leave a rule out that could match, or could ask because something cannot be read: only
//! tools that the request's is none of rule one out.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::glob::Reach;
use super::rule::{Enabled, Rule};

/// Tools whose rules are remembered. Workspaces have fewer; an agent that makes up names only makes
/// others be looked up again.
const REMEMBERED: usize = 1_024;

/// The places of a set's rules by the tools that they concern. Rules that are off are left out.
#[derive(Debug, Default)]
pub(super) struct ByTool {
    all: Arc<[usize]>,
    known: RwLock<HashMap<String, Arc<[usize]>>>,
}

impl ByTool {
    pub(super) fn of<'a>(rules: impl Iterator<Item = &'a Rule>) -> Self {
        let acting = rules
            .enumerate()
            .filter(|(_, rule)| rule.enabled != Enabled::Off);
        Self {
            all: acting.map(|(place, _)| place).collect(),
            known: RwLock::default(),
        }
    }

    /// Every rule that is not off, in order.
    pub(super) fn all(&self) -> Arc<[usize]> {
        Arc::clone(&self.all)
    }

    /// The rules that a request of `tool` may concern, in order: all, where it names none. `rule` gives the
    /// rule at a place.
    pub(super) fn of_tool<'a>(
        &self,
        tool: Option<&str>,
        rule: impl Fn(usize) -> &'a Rule,
    ) -> Arc<[usize]> {
        let Some(tool) = tool else {
            return self.all();
        };
        if let Some(places) = self.known.read().get(tool) {
            return Arc::clone(places);
        }
        let concerns = |place: &usize| {
            let rule = rule(*place);
            let (tools, reach) = (&rule.matchers.tool, Reach::from(rule.effect));
            tools.is_empty() || tools.iter().any(|glob| glob.matches_name(tool, reach))
        };
        let places: Arc<[usize]> = self.all.iter().copied().filter(concerns).collect();
        let mut known = self.known.write();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(tool.to_owned(), Arc::clone(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::read_file;

    const RULES: &str = r#"
schema = 1
[[rule]]
id = "a-any"
effect = "deny"
risk = ["high"]
[[rule]]
id = "b-literal"
effect = "ask"
tool = ["delete_invoice", "send_mail"]
[[rule]]
id = "c-off"
effect = "deny"
enabled = false
tool = ["*"]
[[rule]]
id = "d-glob"
effect = "ask"
tool = ["delete_*"]
"#;

    #[test]
    fn a_tool_finds_the_rules_that_may_concern_it_and_no_others() {
        let rules = read_file(RULES).unwrap();
        let by_tool = ByTool::of(rules.iter());
        let of = |tool| by_tool.of_tool(tool, |place| &rules[place]).to_vec();
        // Asked for twice: found, and remembered.
        for _ in 0..2 {
            assert_eq!(of(Some("delete_invoice")), [0, 1, 3]);
            assert_eq!(of(Some("delete_user")), [0, 3]);
            assert_eq!(of(Some("send_mail")), [0, 1]);
            assert_eq!(of(Some("read")), [0]);
            assert_eq!(of(None), [0, 1, 3]);
        }
    }

    #[test]
    fn made_up_names_fill_no_memory() {
        let rules = read_file(RULES).unwrap();
        let by_tool = ByTool::of(rules.iter());
        for number in 0..3 * REMEMBERED {
            by_tool.of_tool(Some(&format!("t{number}")), |place| &rules[place]);
            assert!(by_tool.known.read().len() <= REMEMBERED);
        }
    }
}
