//! Reads rules from JSON, whether it came from a file or from the shared policy.
//!
//! Refuses every key that it does not know: a misspelt matcher would widen a rule.

mod parts;

use std::collections::BTreeSet;

use countersign_wire::{RequestKind, Risk};
use serde_json::{Map, Value};

pub use self::parts::is_pointer;
use self::parts::{
    approvals, args, commands, known, limit, paths, shell, stamp, sum, words, writes,
};
use super::condition::Condition;
use super::glob::Glob;
use super::rule::{Effect, Enabled, Matchers, Rule};

use crate::domain::Timestamp;

/// The version of the format.
pub const SCHEMA: u64 = 1;
/// The most rules of a workspace.
pub const RULES_MAX: usize = 5_000;
const LIST_MAX: usize = 200;
/// Patterns of commands: what a settings file of another system allows is one list.
const COMMANDS_MAX: usize = 2_000;
const TEXT_MAX: usize = 2_000;
/// Problems that are reported at once.
const PROBLEMS_MAX: usize = 20;

/// Something that is wrong in a rule set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: keys and places in lists, such as `["rule", "0", "effect"]`.
    pub path: Vec<String>,
    /// What, for a person.
    pub message: String,
}

impl Problem {
    /// `rule[0].args."/id".lt: …`.
    #[must_use]
    pub fn place(&self) -> String {
        let mut text = String::new();
        for part in &self.path {
            let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
            if !text.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
                text.push_str(&format!("[{part}]"));
                continue;
            }
            if !text.is_empty() {
                text.push('.');
            }
            if !part.is_empty() && part.bytes().all(plain) {
                text.push_str(part);
            } else {
                text.push_str(&Value::from(part.as_str()).to_string());
            }
        }
        text
    }
}

/// Reads `{schema, rule: [...]}` of a file or `{schema, rules: [...]}` of what is about to be written.
///
/// # Errors
/// What is wrong, at most 20 problems.
pub fn read_set(value: &Value, list: &'static str) -> Result<Vec<Rule>, Vec<Problem>> {
    read(Found::default(), value, list)
}

/// Reads `{schema, rules: [...]}` as it is in the shared policy: an empty list as matcher, which nobody can
/// write here, matches nothing.
pub fn read_stored(value: &Value) -> Result<Vec<Rule>, Vec<Problem>> {
    let found = Found {
        stored: true,
        ..Found::default()
    };
    read(found, value, "rules")
}

fn read(mut found: Found, value: &Value, list: &'static str) -> Result<Vec<Rule>, Vec<Problem>> {
    let rules = set(&mut found, value, list).unwrap_or_default();
    if found.problems.is_empty() {
        Ok(rules)
    } else {
        Err(found.problems)
    }
}

#[derive(Default)]
struct Found {
    problems: Vec<Problem>,
    path: Vec<String>,
    /// Matchers that are empty lists, of the rule that is read.
    empty: Vec<String>,
    /// Whether the rules are in the shared policy already.
    stored: bool,
}

impl Found {
    fn add(&mut self, message: impl Into<String>) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem {
                path: self.path.clone(),
                message: message.into(),
            });
        }
    }

    fn at<T>(&mut self, part: impl Into<String>, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(part.into());
        let read = read(self);
        self.path.pop();
        read
    }

    fn object<'v>(&mut self, value: &'v Value, known: &[&str]) -> Option<&'v Map<String, Value>> {
        let Some(map) = value.as_object() else {
            self.add("must be a table");
            return None;
        };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            self.at(key.as_str(), |found| {
                found.add(format!("is not known here; known are {}", known.join(", ")));
            });
        }
        Some(map)
    }
}

fn set(found: &mut Found, value: &Value, list: &'static str) -> Option<Vec<Rule>> {
    let map = found.object(value, &["schema", list, "v", "by", "at", "gone", "regrets"])?;
    if map.get("schema").and_then(Value::as_u64) != Some(SCHEMA) {
        found.at("schema", |found| found.add(format!("must be {SCHEMA}")));
    }
    let rules = match map.get(list) {
        None => return Some(Vec::new()),
        Some(Value::Array(rules)) if rules.len() <= RULES_MAX => rules,
        Some(_) => {
            found.at(list, |found| {
                found.add(format!("must be a list of at most {RULES_MAX} rules"))
            });
            return None;
        }
    };
    let mut ids = BTreeSet::new();
    let mut read = Vec::with_capacity(rules.len());
    for (place, value) in rules.iter().enumerate() {
        found.path.extend([list.to_owned(), place.to_string()]);
        if let Some(rule) = rule(found, value) {
            if !ids.insert(rule.id.clone()) {
                found.at("id", |found| found.add("another rule has this id"));
            }
            read.push(rule);
        }
        found.path.truncate(found.path.len().saturating_sub(2));
    }
    Some(read)
}

/// Every field of a rule, in the order in which a person writes them.
pub const FIELDS: [&str; 27] = [
    "id",
    "version",
    "name",
    "enabled",
    "effect",
    "expires_at",
    "agent",
    "tool",
    "risk",
    "kind",
    "origin",
    "framework",
    "skill",
    "thread_id",
    "args_digest",
    "args",
    "command",
    "shell",
    "path",
    "writes",
    "only_args",
    "when",
    "limit",
    "sum",
    "approvals",
    "message",
    "since",
];

fn rule(found: &mut Found, value: &Value) -> Option<Rule> {
    let map = found.object(value, &FIELDS)?;
    let before = found.problems.len();
    let id = text(found, map, "id");
    let id = id.filter(|id| {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (1..=64).contains(&id.len()) && id.bytes().all(plain)
    });
    if id.is_none() {
        found.at("id", |found| found.add("must be 1 to 64 of a-z, 0-9 and -"));
    }
    let effect = match map.get("effect").and_then(Value::as_str) {
        Some("approve") => Some(Effect::Approve),
        Some("ask") => Some(Effect::Ask),
        Some("deny") => Some(Effect::Deny),
        _ => {
            found.at("effect", |found| found.add("must be deny, ask or approve"));
            None
        }
    };
    let enabled = match map.get("enabled") {
        None | Some(Value::Bool(true)) => Enabled::On,
        Some(Value::Bool(false)) => Enabled::Off,
        Some(Value::String(word)) if word == "shadow" => Enabled::Shadow,
        Some(_) => {
            found.at("enabled", |found| {
                found.add("must be true, false or \"shadow\"")
            });
            Enabled::Off
        }
    };
    let when = text(found, map, "when");
    if let Some(when) = &when
        && let Err(why) = Condition::compile(when)
    {
        found.at("when", |found| found.add(why.to_string()));
    }
    let rule = Rule {
        name: text(found, map, "name")
            .or_else(|| id.clone())
            .unwrap_or_default(),
        id: id.unwrap_or_default(),
        version: map
            .get("version")
            .and_then(Value::as_u64)
            .unwrap_or(1)
            .max(1),
        enabled,
        effect: effect.unwrap_or(Effect::Ask),
        expires_at: stamp(found, map, "expires_at"),
        matchers: matchers(found, map),
        when,
        limit: limit(found, map),
        sum: sum(found, map),
        approvals: approvals(found, map),
        message: text(found, map, "message"),
        since: map
            .get("since")
            .and_then(Value::as_str)
            .and_then(Timestamp::parse)
            .unwrap_or(Timestamp(0)),
    };
    // What could not be read looks like something that is missing.
    if found.problems.len() == before {
        fits(found, &rule);
    }
    (found.problems.len() == before).then_some(rule)
}

/// What an effect needs and what it may not have.
fn fits(found: &mut Found, rule: &Rule) {
    let approve = rule.effect == Effect::Approve;
    let only = |found: &mut Found, name: &str, given: bool, fits: bool, with: &str| {
        if given && !fits {
            found.at(name, |found| {
                found.add(format!("is only known with effect = \"{with}\""))
            });
        }
    };
    only(found, "limit", rule.limit.is_some(), approve, "approve");
    only(found, "sum", rule.sum.is_some(), approve, "approve");
    only(
        found,
        "approvals",
        rule.approvals.is_some(),
        rule.effect == Effect::Ask,
        "ask",
    );
    only(
        found,
        "message",
        rule.message.is_some(),
        rule.effect == Effect::Deny,
        "deny",
    );
    let of = &rule.matchers;
    if of.only_args && of.args.is_empty() && of.command.is_empty() && of.path.is_empty() {
        found.at("only_args", |found| found.add("needs args that it names"));
    }
    if !approve {
        return;
    }
    if rule.expires_at.is_none() && rule.matchers.thread_id.is_empty() {
        found.at("expires_at", |found| {
            found.add("an approve needs expires_at or thread_id")
        });
    }
    if rule.matchers.tool.is_empty() {
        found.at("tool", |found| found.add("an approve names its tools"));
    }
    if rule.matchers.tool.iter().any(Glob::is_bare) {
        found.at("tool", |found| {
            found.add("an approve names its tools; a bare wildcard names none")
        });
    }
}

fn matchers(found: &mut Found, map: &Map<String, Value>) -> Matchers {
    let globs = |found: &mut Found, name: &'static str| {
        let words = words(found, map, name);
        let glob = |found: &mut Found, (place, word): (usize, String)| match Glob::new(&word) {
            Ok(glob) => Some(glob),
            Err(why) => {
                found.at(name, |found| {
                    found.at(place.to_string(), |found| found.add(why))
                });
                None
            }
        };
        words
            .into_iter()
            .enumerate()
            .filter_map(|word| glob(found, word))
            .collect::<Vec<_>>()
    };
    Matchers {
        agent: globs(found, "agent"),
        tool: globs(found, "tool"),
        framework: globs(found, "framework"),
        skill: globs(found, "skill"),
        risk: known(
            found,
            map,
            "risk",
            Risk::from_word,
            "safe, low, medium, high or critical",
        ),
        kind: known(
            found,
            map,
            "kind",
            RequestKind::from_word,
            "tool_call, question or form",
        ),
        origin: words(found, map, "origin"),
        thread_id: words(found, map, "thread_id"),
        args_digest: known(
            found,
            map,
            "args_digest",
            |word| word.parse().ok(),
            "sha256: and 64 hex digits",
        ),
        args: args(found, map),
        command: commands(found, map),
        shell: shell(found, map),
        path: paths(found, map),
        writes: writes(found, map),
        only_args: match map.get("only_args") {
            None => false,
            Some(Value::Bool(only)) => *only,
            Some(_) => {
                found.at("only_args", |found| found.add("must be true or false"));
                true
            }
        },
        // Last: the lists above are read first.
        empty: std::mem::take(&mut found.empty),
    }
}

fn text(found: &mut Found, map: &Map<String, Value>, name: &str) -> Option<String> {
    match map.get(name)? {
        Value::String(text) if (1..=TEXT_MAX).contains(&text.len()) => Some(text.clone()),
        _ => {
            found.at(name, |found| {
                found.add(format!("must be a text of 1 to {TEXT_MAX} bytes"))
            });
            None
        }
    }
}
