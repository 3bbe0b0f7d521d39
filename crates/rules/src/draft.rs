//! The narrowest rule that a person can make of one card.
//!
//! Refuses what no rule may approve, and to write a secret into a rule: rules are on every
//! console of the realm.

use std::collections::BTreeMap;

use countersign_shell::Shell;
use serde_json::Value;

use super::commands::CommandPattern;
use super::conditions::Conditions;
use super::effective::args_that_run;
use super::evaluate::{Asked, By, Matcher, Outcome, Setting, Uses, evaluate};
use super::glob::Glob;
use super::leaves::leaves;
use super::rule::{ArgTest, Effect, Enabled, Matchers, Rule};
use super::set::PolicySet;
use crate::domain::Timestamp;

/// How long "always" lasts unless somebody chooses otherwise, days (rules, "Grants").
pub const ALWAYS_DAYS: u16 = 90;
/// Where a command is.
const COMMAND: &str = "/command";
const SLUG_MAX: usize = 48;
const NAME_MAX: usize = 500;

/// How far a grant reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// The card's thread.
    Thread,
    /// Every thread, until then.
    Until(Timestamp),
}

/// Why no rule can be drafted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftFault {
    /// A question or a form.
    #[error("rules are for tool calls; this request calls no tool")]
    NoTool,
    /// A rule cannot name it literally.
    #[error("no rule can name this call: its tool's name is too long or holds a wildcard")]
    NoName,
    /// A grant for a thread, and none is reported.
    #[error("this call names no thread; choose an end date instead")]
    NoThread,
    /// Other arguments run than those of the card.
    #[error(
        "its framework changes the arguments of this call after they are approved; write a rule by hand"
    )]
    Changed,
    /// They can be named neither one by one nor by their digest.
    #[error("the arguments of this call cannot be named in a rule")]
    NoArguments,
    /// [`evaluate`] lets no rule cover it.
    #[error("no rule may approve this call: {}", why(*.0))]
    NeverCovered(Option<Matcher>),
}

fn why(matcher: Option<Matcher>) -> &'static str {
    match matcher {
        Some(Matcher::HiddenCharacters) => "it holds characters that hide or reorder text",
        Some(Matcher::OutsideSkill) => "it is outside the active skill",
        Some(Matcher::ToolChanged) => "its tool changed just now",
        Some(Matcher::SeveralApprovals) => "several operators must agree on it",
        Some(Matcher::NotApprovable) => "its agent takes no approval for it",
        Some(Matcher::CriticalRisk) => "it is critical",
        Some(Matcher::ExpiresAt) => "the day it would end has passed",
        _ => "it does not match itself",
    }
}

/// Drafts an approve that matches this call and none with another argument. `taken` says which ids are
/// given out already.
pub fn draft(
    asked: &Asked<'_>,
    grant: Grant,
    now: Timestamp,
    taken: impl Fn(&str) -> bool,
) -> Result<Rule, DraftFault> {
    let tool = asked.tool.ok_or(DraftFault::NoTool)?;
    if args_that_run(asked.args, asked.effective).is_some() {
        return Err(DraftFault::Changed);
    }
    let literal = |name: &str| {
        let glob = Glob::new(name).ok().filter(Glob::is_literal);
        glob.ok_or(DraftFault::NoName)
    };
    let mut matchers = Matchers {
        agent: vec![literal(asked.agent)?],
        tool: vec![literal(tool)?],
        risk: vec![asked.risk],
        ..Matchers::default()
    };
    let expires_at = match grant {
        Grant::Until(at) => Some(at),
        Grant::Thread => {
            let thread = asked.thread_id.filter(|thread| !thread.is_empty());
            matchers.thread_id = vec![thread.ok_or(DraftFault::NoThread)?.to_owned()];
            None
        }
    };
    match asked.args.and_then(named) {
        Some(args) => (matchers.args, matchers.only_args) = (args, true),
        None => {
            let digest = asked.args_digest.ok_or(DraftFault::NoArguments)?;
            matchers.args_digest = vec![*digest];
        }
    }
    let words = match grant {
        Grant::Thread => format!("{tool} by {}, this thread", asked.agent),
        Grant::Until(_) => format!("{tool} by {}", asked.agent),
    };
    let id = free_id(tool, taken);
    let rule = |matchers| Rule {
        id: id.clone(),
        version: 1,
        name: words.chars().take(NAME_MAX).collect(),
        enabled: Enabled::On,
        effect: Effect::Approve,
        expires_at,
        matchers,
        when: None,
        limit: None,
        sum: None,
        approvals: None,
        message: None,
        since: now,
    };
    // What only runs as it is written is named as it is.
    let read = by_command(tool, &matchers).map(rule);
    if let Some(read) = read.filter(|of| lets_run(of, asked, now).is_ok()) {
        return Ok(read);
    }
    let rule = rule(matchers);
    lets_run(&rule, asked, now)?;
    Ok(rule)
}

/// The same with the command as a pattern in the place of its text: the same words, however they are quoted.
fn by_command(tool: &str, matchers: &Matchers) -> Option<Matchers> {
    let text = matchers.args.get(COMMAND)?.eq.as_ref()?.as_str()?;
    let shell = Shell::of_tool(tool);
    // A star would be any word.
    let pattern = CommandPattern::new(text, shell, true).ok();
    let pattern = pattern.filter(|_| !text.contains('*'))?;
    let mut read = matchers.clone();
    read.args.remove(COMMAND);
    read.command = BTreeMap::from([(COMMAND.to_owned(), vec![pattern])]);
    read.shell = shell;
    Some(read)
}

/// Judged by the function that will judge it.
fn lets_run(rule: &Rule, asked: &Asked<'_>, now: Timestamp) -> Result<(), DraftFault> {
    let set = PolicySet::new(vec![rule.clone()], BTreeMap::new());
    let set = set.map_err(|_| DraftFault::NoArguments)?;
    let setting = Setting {
        now,
        approves_off: None,
        author_may: true,
        bypass: None,
        uses: &Uses::new(),
        explain: true,
        conditions: &Conditions::default(),
    };
    let found = evaluate(&set, asked, &setting);
    match found.outcome {
        Outcome::Approve(By::Rule(_)) => Ok(()),
        _ => Err(DraftFault::NeverCovered(
            found.near.first().map(|near| near.matcher),
        )),
    }
}

/// Every argument by its JSON pointer, with the value that it must have.
fn named(args: &Value) -> Option<BTreeMap<String, ArgTest>> {
    let is = |value| ArgTest {
        eq: Some(value),
        ..ArgTest::default()
    };
    let found = leaves(args)?;
    Some(
        found
            .into_iter()
            .map(|(at, value)| (at, is(value)))
            .collect(),
    )
}

/// An id that reads like the tool and was never given out.
fn free_id(tool: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut slug = String::new();
    for c in tool.chars() {
        match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9') => slug.push(c),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(SLUG_MAX);
    let slug = match slug.trim_end_matches('-') {
        "" => "rule",
        slug => slug,
    };
    let mut numbered = (2_u64..).map(|number| format!("{slug}-{number}"));
    match taken(slug) {
        false => slug.to_owned(),
        true => numbered.find(|id| !taken(id)).unwrap_or_default(),
    }
}
