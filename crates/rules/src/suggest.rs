//! What people approve again and again, as the narrowest rules that would have said the same.
//!
//! Refuses to suggest what anybody denied, what a rule decides or asks for already, what no rule may let run,
//! and a rule that acts: a suggestion is off until a person turns it on.

mod commands;
mod group;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use countersign_wire::{Risk, Sha256Digest, Verdict};
use serde_json::json;

use countersign_shell::Shell;

use self::commands::Calls;
use self::group::{Exact, Group};
use super::conditions::Conditions;
use super::effective::args_that_run;
use super::evaluate::{Asked, By, Outcome};
use super::glob::Glob;
use super::leaves::leaves;
use super::read::{SCHEMA, read_set};
use super::rule::{ArgTest, Effect, Enabled, Matchers, Rule};
use super::set::{PolicySet, Prepared};
use super::what_if::{Situation, Trial};
use crate::domain::Timestamp;

/// How many like approvals make a suggestion (rules, "Suggestions").
pub const APPROVALS_MIN: u64 = 5;
/// How far back approvals count, days (rules, "Suggestions").
pub const WINDOW_DAYS: i64 = 30;
/// How long a suggested rule lasts, days (rules, "Grants").
const LASTS_DAYS: i64 = 90;
/// Groups that are looked at; past them only calls of known ones count.
const GROUPS_MAX: usize = 5_000;
/// Suggestions at most.
const SUGGESTIONS_MAX: usize = 50;

/// A call on which a person decided.
#[derive(Debug, Clone, Copy)]
pub struct Decided<'a> {
    /// What it said.
    pub asked: &'a Asked<'a>,
    /// Its id.
    pub request_id: &'a str,
    /// What the person decided.
    pub verdict: Verdict,
    /// The person's public key.
    pub operator: &'a str,
    /// When it was stored, by the server.
    pub at: Timestamp,
}

/// A rule that would have said what people said.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The rule, off.
    pub rule: Rule,
    /// How many approvals it represents.
    pub approvals: u64,
    /// Public keys of the people who gave them.
    pub operators: Vec<String>,
    /// The first of them.
    pub first: Timestamp,
    /// The last of them.
    pub last: Timestamp,
    /// Ids of some of them, the newest last.
    pub requests: Vec<String>,
}

/// Agent, tool, risk, and the pointers of the arguments.
type Key = (String, String, Risk, Vec<String>);

/// Looks at calls one after the other.
pub struct Suggesting<'p> {
    policy: &'p PolicySet,
    conditions: Conditions,
    groups: BTreeMap<Key, Group>,
    denied: BTreeSet<(String, String)>,
    denied_calls: BTreeSet<(String, String, String)>,
    /// Calls that are a command: approved ones by agent, tool, risk and language; denied ones by agent and tool.
    commands: BTreeMap<(String, String, Risk, bool), Calls>,
    denied_commands: BTreeMap<(String, String), Calls>,
}

impl<'p> Suggesting<'p> {
    /// Begins with nothing seen.
    #[must_use]
    pub fn new(policy: &'p PolicySet) -> Self {
        Self {
            policy,
            conditions: Conditions::default(),
            groups: BTreeMap::new(),
            denied: BTreeSet::new(),
            denied_calls: BTreeSet::new(),
            commands: BTreeMap::new(),
            denied_commands: BTreeMap::new(),
        }
    }

    /// Takes the next call. An approval with other arguments says nothing of those that were asked for.
    pub fn take(&mut self, call: &Decided<'_>) {
        let asked = call.asked;
        let (Some(tool), Some(args)) = (asked.tool, asked.args) else {
            return;
        };
        let digest = asked
            .args_digest
            .map(ToString::to_string)
            .unwrap_or_default();
        let who = (asked.agent.to_owned(), tool.to_owned());
        match call.verdict {
            Verdict::Approve => {}
            Verdict::Deny | Verdict::Terminate | Verdict::Skip | Verdict::Modify => {
                self.denied_calls
                    .insert((who.0.clone(), who.1.clone(), digest));
                if args.get("command").is_some() {
                    self.denied_commands
                        .entry(who.clone())
                        .or_default()
                        .take(call);
                }
                self.denied.insert(who);
                return;
            }
            Verdict::Respond | Verdict::Escalate => return,
        }
        // A rule over the arguments of the card would not cover it.
        if args_that_run(asked.args, asked.effective).is_some() {
            return;
        }
        if !self.asks(asked, call.at) || !self.may_be_covered(asked, call.at) {
            return;
        }
        if let Some(shell) = commands::shell_of(tool, args) {
            let key = (who.0, who.1, asked.risk, shell == Shell::PowerShell);
            if self.commands.len() < GROUPS_MAX || self.commands.contains_key(&key) {
                self.commands.entry(key).or_default().take(call);
            }
            return;
        }
        let named = leaves(args);
        let shape = named.iter().flat_map(BTreeMap::keys).cloned().collect();
        let key = (who.0, who.1, asked.risk, shape);
        if self.groups.len() >= GROUPS_MAX && !self.groups.contains_key(&key) {
            return;
        }
        let group = self.groups.entry(key).or_default();
        group.take(call, named, &digest);
    }

    /// Whether the rules in force leave it to people because they say nothing of it.
    fn asks(&self, asked: &Asked<'_>, at: Timestamp) -> bool {
        let outcome = self.judge(self.policy, asked, at);
        matches!(outcome, Outcome::Ask { rule: None, .. })
    }

    /// Whether a rule could let it run at all.
    fn may_be_covered(&self, asked: &Asked<'_>, at: Timestamp) -> bool {
        let matchers = whose(asked.agent, asked.tool.unwrap_or_default(), asked.risk);
        let Some(matchers) = matchers.filter(|_| asked.risk != Risk::Critical) else {
            return false;
        };
        let rule = approve("x".to_owned(), String::new(), matchers, at);
        let trial = Rule {
            enabled: Enabled::On,
            ..rule
        };
        let set = PolicySet::new(vec![trial], BTreeMap::new());
        set.is_ok_and(|set| {
            let outcome = self.judge(&set, asked, at);
            matches!(outcome, Outcome::Approve(By::Rule(_)))
        })
    }

    fn judge(&self, policy: &PolicySet, asked: &Asked<'_>, now: Timestamp) -> Outcome {
        let mut trial = Trial::uncounted(policy, &self.conditions);
        trial.judge(asked, &Situation::plain(now)).outcome
    }

    /// What was found, the most approvals first.
    #[must_use]
    pub fn finish(self, now: Timestamp) -> Vec<Suggestion> {
        let mut found = Vec::new();
        for (key, group) in &self.groups {
            let (agent, tool, risk, _) = key;
            let denied = self.denied.contains(&(agent.clone(), tool.clone()));
            let alike = group.alike().filter(|_| !denied);
            if let Some(tests) = alike
                && let Some(one) = self.suggest(key, Named::Args(tests), &group.exact, now)
            {
                found.push(one);
                continue;
            }
            for (digest, exact) in &group.by_digest {
                let call = (agent.clone(), tool.clone(), digest.clone());
                if self.denied_calls.contains(&call) {
                    continue;
                }
                let named = match &exact.args {
                    Some(tests) => Named::Args(tests.clone()),
                    None => match digest.parse() {
                        Ok(digest) => Named::Digest(digest),
                        Err(_) => continue,
                    },
                };
                found.extend(self.suggest(key, named, exact, now));
            }
            debug_assert!(*risk != Risk::Critical);
        }
        found.extend(self.commands.iter().filter_map(|(key, calls)| {
            let (agent, tool, risk, powershell) = key;
            let shell = match powershell {
                true => Shell::PowerShell,
                false => Shell::Posix,
            };
            let base = whose(agent, tool, *risk)?;
            let denied = self.denied_commands.get(&(agent.clone(), tool.clone()));
            let (matchers, exact) = commands::patterns(calls, denied, (base, shell))?;
            self.rule_of(
                (agent, tool),
                (matchers, Some(commands::BESIDE)),
                &exact,
                now,
            )
        }));
        found.sort_by(|a, b| {
            b.approvals
                .cmp(&a.approvals)
                .then(a.rule.id.cmp(&b.rule.id))
        });
        found.truncate(SUGGESTIONS_MAX);
        found
    }

    fn suggest(
        &self,
        (agent, tool, risk, _): &Key,
        named: Named,
        exact: &Exact,
        now: Timestamp,
    ) -> Option<Suggestion> {
        if exact.approvals < APPROVALS_MIN {
            return None;
        }
        let mut matchers = whose(agent, tool, *risk)?;
        match named {
            Named::Args(tests) => (matchers.args, matchers.only_args) = (tests, true),
            Named::Digest(digest) => matchers.args_digest = vec![digest],
        }
        self.rule_of((agent, tool), (matchers, None), exact, now)
    }

    fn rule_of(
        &self,
        (agent, tool): (&str, &str),
        (matchers, when): (Matchers, Option<&str>),
        exact: &Exact,
        now: Timestamp,
    ) -> Option<Suggestion> {
        // Somebody made this very rule already, and may have turned it off.
        let known = |of: &Prepared| of.rule.matchers == matchers;
        if self.policy.rules().iter().any(known) {
            return None;
        }
        let name: String = format!("{tool} by {agent}").chars().take(200).collect();
        let mut rule = approve(id(tool, &matchers, &name, now), name, matchers, now);
        rule.when = when.map(str::to_owned);
        let whole = json!({ "schema": SCHEMA, "rules": [rule.to_json()] });
        let rule = read_set(&whole, "rules").ok()?.into_iter().next()?;
        Some(Suggestion {
            rule,
            approvals: exact.approvals,
            operators: exact.operators.iter().cloned().collect(),
            first: exact.first,
            last: exact.last,
            requests: exact.requests.iter().cloned().collect(),
        })
    }
}

/// How a rule names the arguments.
enum Named {
    Args(BTreeMap<String, ArgTest>),
    Digest(Sha256Digest),
}

/// None where a name holds a wildcard.
fn whose(agent: &str, tool: &str, risk: Risk) -> Option<Matchers> {
    let literal = |name: &str| Glob::new(name).ok().filter(Glob::is_literal);
    Some(Matchers {
        agent: vec![literal(agent)?],
        tool: vec![literal(tool)?],
        risk: vec![risk],
        ..Matchers::default()
    })
}

fn approve(id: String, name: String, matchers: Matchers, now: Timestamp) -> Rule {
    Rule {
        id,
        version: 1,
        name,
        enabled: Enabled::Off,
        effect: Effect::Approve,
        expires_at: Some(now.plus_ms(LASTS_DAYS * Timestamp::DAY_MS)),
        matchers,
        when: None,
        limit: None,
        sum: None,
        approvals: None,
        message: None,
        since: now,
    }
}

/// The same for the same call, whenever it is suggested.
fn id(tool: &str, matchers: &Matchers, name: &str, now: Timestamp) -> String {
    let fixed = Rule {
        expires_at: None,
        ..approve(String::new(), name.to_owned(), matchers.clone(), now)
    };
    let mut body = fixed.to_json();
    if let Some(map) = body.as_object_mut() {
        map.remove("since");
    }
    let digest = Sha256Digest::of_bytes(body.to_string().as_bytes()).to_string();
    let tail: String = digest.chars().skip("sha256:".len()).take(8).collect();
    let plain = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9') => c,
        _ => '-',
    };
    let slug: String = tool.chars().take(40).map(plain).collect();
    format!("{}-{tail}", slug.trim_matches('-'))
        .trim_start_matches('-')
        .to_owned()
}
