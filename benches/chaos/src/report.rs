//! What a run did and found, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use crate::checks::Check;
use crate::facts::Facts;
use crate::fault::Fault;
use crate::journal::Event;
use crate::round::Outcome;

/// Breaches that are printed of one check; the folder holds all.
const SHOWN: usize = 5;

/// One round.
pub(crate) struct RoundReport {
    name: &'static str,
    faults: BTreeMap<String, u64>,
    figures: BTreeMap<&'static str, u64>,
    answers: BTreeMap<String, u64>,
    outcomes: BTreeMap<String, u64>,
    checks: Vec<Check>,
}

impl RoundReport {
    pub(crate) fn new(name: &'static str, outcome: &Outcome, checks: Vec<Check>) -> Self {
        let facts = &outcome.facts;
        let mut report = Self {
            name,
            faults: count(outcome.faults.iter().map(named)),
            figures: BTreeMap::new(),
            answers: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            checks,
        };
        let lines = || facts.agents.iter().flat_map(|agent| &agent.lines);
        report.answers = count(lines().filter_map(|line| match &line.what {
            Event::Answered { verdict, .. } => Some(verdict.clone()),
            Event::Failed { code, .. } => Some(format!("error {code}")),
            _ => None,
        }));
        report.outcomes = count(facts.operators.iter().filter_map(|line| match &line.what {
            Event::Verdict { outcome, .. } => Some(outcome.clone()),
            _ => None,
        }));
        let ran = lines().filter(|line| matches!(line.what, Event::Ran { .. }));
        let by_rules = facts.streams.decisions.values();
        let mut by_itself: BTreeMap<&'static str, u64> = BTreeMap::new();
        for what in by_rules.filter_map(|stored| by_itself_of(&stored.payload)) {
            *by_itself.entry(what).or_default() += 1;
        }
        let by = |what: &str| by_itself.get(what).copied().unwrap_or_default();
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        report.figures = BTreeMap::from([
            ("requests", number(facts.streams.requests.len())),
            ("decisions", number(facts.streams.decisions.len())),
            ("votes", number(facts.streams.votes.len())),
            ("panics", number(turned_on(facts, true))),
            ("pauses and stops", number(turned_on(facts, false))),
            ("approved by a rule", by(RULE)),
            ("approved by a bypass", by(BYPASS)),
            ("approved by a setup key", by(SETUP_KEY)),
            (
                "bypasses",
                number(
                    facts
                        .streams
                        .grants
                        .bypasses
                        .values()
                        .map(|of| of.len())
                        .sum(),
                ),
            ),
            (
                "changes of setup keys",
                number(
                    facts
                        .streams
                        .grants
                        .setups
                        .values()
                        .map(|of| of.len())
                        .sum(),
                ),
            ),
            ("approvals taken back", number(taken_back(facts))),
            ("calls run", number(ran.count())),
            ("faults", number(outcome.faults.len())),
            ("console restarts", facts.console_restarts),
            (
                "settled after ms",
                number(usize::try_from(facts.settled.took.as_millis()).unwrap_or(usize::MAX)),
            ),
        ]);
        report
    }

    /// Whether every promise held.
    pub(crate) fn sound(&self) -> bool {
        self.checks.iter().all(|check| check.breaches.is_empty())
    }

    pub(crate) fn json(&self) -> Value {
        let checks = self.checks.iter().map(|check| {
            json!({ "name": check.name, "looked_at": check.looked_at, "breaches": check.breaches })
        });
        json!({
            "round": self.name, "sound": self.sound(), "figures": self.figures, "faults": self.faults,
            "agents": self.answers, "operators": self.outcomes, "checks": checks.collect::<Vec<_>>(),
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", self.name);
        let mut list = |title: &str, counts: Vec<String>| {
            let _ = writeln!(text, "  {title}: {}", counts.join(", "));
        };
        list("figures", counted(self.figures.iter()));
        list("faults", counted(self.faults.iter()));
        list("agents were told", counted(self.answers.iter()));
        list("operators were told", counted(self.outcomes.iter()));
        for check in &self.checks {
            let breaches = check.breaches.len();
            let word = if breaches == 0 { "held" } else { "BROKEN" };
            let _ = writeln!(
                text,
                "  {word:6} {} ({} looks)",
                check.name, check.looked_at
            );
            for breach in check.breaches.iter().take(SHOWN) {
                let _ = writeln!(text, "         {breach}");
            }
            if breaches > SHOWN {
                let _ = writeln!(text, "         and {} more", breaches - SHOWN);
            }
        }
        text
    }
}

/// How often panic, or else a pause or stop of an agent, was turned on.
fn turned_on(facts: &Facts, panic: bool) -> usize {
    let brakings = facts.streams.brakings.iter();
    let kind = brakings.filter(|braking| braking.agent.is_none() == panic);
    kind.filter(|braking| braking.on).count()
}

const RULE: &str = "rule";
const BYPASS: &str = "bypass";
const SETUP_KEY: &str = "setup_key";

/// What approved, where that was no person.
fn by_itself_of(payload: &[u8]) -> Option<&'static str> {
    let body: Value = serde_json::from_slice(payload).unwrap_or_default();
    if body["verdict"] != "approve" {
        return None;
    }
    let is_bypass = body["rule"]["id"]
        .as_str()
        .is_some_and(|id| id.starts_with("bypass."));
    match body["origin"].as_str() {
        Some(RULE) if is_bypass => Some(BYPASS),
        Some(RULE) => Some(RULE),
        Some(SETUP_KEY) => Some(SETUP_KEY),
        _ => None,
    }
}

/// Approvals that were recalled before the bus had them.
fn taken_back(facts: &Facts) -> usize {
    let consoles = facts.consoles.iter();
    let entries = consoles.flat_map(|console| &console.rows.audited);
    entries
        .filter(|(action, ..)| action == "taken_back")
        .count()
}

fn named(fault: &Fault) -> String {
    let target = fault.target.to_string();
    let what = target.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ');
    format!("{} of {what}", fault.kind)
}

fn count(words: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

fn counted<'a, K: std::fmt::Display + 'a>(
    counts: impl Iterator<Item = (&'a K, &'a u64)>,
) -> Vec<String> {
    counts
        .map(|(word, count)| format!("{word} {count}"))
        .collect()
}
