//! What an import says about itself: forms per tool, and what is allowed in vain.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Entry, Imported, claude_code};
use crate::domain::Timestamp;
use crate::rule::{Effect, Rule};
use crate::what_if::{Situation, Trial};
use crate::{Asked, Conditions, PolicySet, Says};

/// What has no entry, and so no rule.
pub const NOT_CARRIED: &str = "Not carried over: what Claude Code runs without any entry, such as ls, cat, grep and reading the project's files. Here these calls ask until a rule approves them.";

/// Entries of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCount {
    /// As the entries name it.
    pub tool: String,
    /// How many of them approve, ask and deny.
    pub approved: usize,
    /// Those that ask.
    pub ask: usize,
    /// Those that deny.
    pub deny: usize,
}

/// How many entries of each tool approve, ask and deny.
#[must_use]
pub fn per_tool(entries: &[Entry]) -> Vec<ToolCount> {
    let mut counts: BTreeMap<&str, ToolCount> = BTreeMap::new();
    for of in entries {
        let tool = of.entry.split('(').next().unwrap_or_default();
        let count = match of.effect {
            Some(effect) => (counts.entry(tool).or_default(), effect),
            None => continue,
        };
        match count {
            (count, Effect::Approve) => count.approved += 1,
            (count, Effect::Ask) => count.ask += 1,
            (count, Effect::Deny) => count.deny += 1,
        }
    }
    let named = counts.into_iter().map(|(tool, count)| ToolCount {
        tool: tool.to_owned(),
        ..count
    });
    named.collect()
}

/// Finds the approves of which everything is denied or asked about.
pub(super) fn find_shadowed(found: &mut Imported, now: Timestamp) {
    let strict: Vec<Rule> = found
        .rules
        .iter()
        .filter(|rule| rule.effect != Effect::Approve)
        .cloned()
        .map(|mut rule| {
            rule.matchers.agent.clear();
            rule
        })
        .collect();
    let Ok(policy) = PolicySet::new(strict, BTreeMap::new()) else {
        return;
    };
    let conditions = Conditions::default();
    let stops = |tool: &str, args: &Value| -> Option<String> {
        let asked = Asked::bare("agent", tool, Some(args));
        let mut trial = Trial::uncounted(&policy, &conditions);
        let said = trial.judge(&asked, &Situation::plain(now)).matched;
        // A rule that cannot tell for a made call may for a real one.
        let sure = said.into_iter().find(|(_, says)| {
            !matches!(
                says,
                Says::Ask {
                    instead: Some(_),
                    ..
                }
            )
        });
        sure.map(|(place, _)| policy.rules()[place].rule.id.clone())
    };
    let shadows: Vec<Option<String>> = found
        .entries
        .iter()
        .map(|of| {
            let rule = found
                .rules
                .iter()
                .find(|rule| Some(&rule.id) == of.rules.first());
            let rule = rule.filter(|_| of.effect == Some(Effect::Approve))?;
            let (tool, calls) = samples(of, rule);
            let stopped: Option<Vec<String>> =
                calls.iter().map(|args| stops(&tool, args)).collect();
            let by = stopped?.into_iter().next()?;
            let entry = found
                .entries
                .iter()
                .find(|other| other.rules.contains(&by))?;
            Some(format!("{} {}", entry.list(), entry.entry))
        })
        .collect();
    for (of, by) in found.entries.iter_mut().zip(shadows) {
        of.shadowed_by = by;
    }
}

/// Calls that an entry allows: its shortest and, where more may follow, one with more.
fn samples(of: &Entry, rule: &Rule) -> (String, Vec<Value>) {
    let known = |pattern: &str| pattern.replace("**", "x").replace('*', "x");
    let (tool, specifier) = claude_code::split(&of.entry).unwrap_or((&of.entry, None));
    let calls = match specifier {
        Some(of) if !rule.matchers.command.is_empty() => {
            let base = of.strip_suffix(":*").or_else(|| of.strip_suffix(" *"));
            let words = known(base.unwrap_or(of));
            let longer = base.map(|_| json!({ "command": format!("{words} x") }));
            let shortest = json!({ "command": words });
            std::iter::once(shortest).chain(longer).collect()
        }
        _ => {
            let paths = rule.matchers.path.iter();
            let paths =
                paths.filter_map(|(at, list)| Some((at.trim_start_matches('/'), list.first()?)));
            let args = paths.map(|(name, of)| (name.to_owned(), json!(known(of.as_str()))));
            vec![Value::Object(args.collect())]
        }
    };
    (known(&claude_code::server(tool)), calls)
}
