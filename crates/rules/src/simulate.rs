//! What rules would have done with the requests of the past, one after the other.
//!
//! Refuses to judge with anything but [`evaluate`], and counts limits as if the rules had been in force.

use std::collections::{BTreeMap, VecDeque};

use countersign_wire::{Risk, Verdict};

use super::conditions::Conditions;
use super::evaluate::{Asked, By, Evaluation, Outcome, Setting, Used, Uses, amount, evaluate};
use super::set::PolicySet;
use crate::domain::Timestamp;

/// Flips that are kept; more are only counted.
pub const FLIPS_MAX: usize = 10_000;

/// A request of the past.
#[derive(Debug, Clone, Copy)]
pub struct Past<'a> {
    /// What it said.
    pub asked: &'a Asked<'a>,
    /// Its row.
    pub request: i64,
    /// Its id.
    pub request_id: &'a str,
    /// When it was stored, by the server.
    pub at: Timestamp,
    /// What a person decided.
    pub person: Option<Verdict>,
    /// Whether a person or a rule let it run.
    pub ran: bool,
    /// Whether it still waits.
    pub waits: bool,
    /// Whether a person takes every step before it runs: it is critical or irreversible.
    pub strict: bool,
}

/// A request on which the rules differ from a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flip {
    /// Its row.
    pub request: i64,
    /// Its id.
    pub request_id: String,
    /// What the person decided.
    pub person: Verdict,
    /// What the rules would have decided.
    pub rule: Verdict,
    /// Which rule.
    pub rule_id: String,
}

/// What the rules would have done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests that were judged.
    pub total: u64,
    /// They would have run.
    pub approve: u64,
    /// People would have been asked.
    pub ask: u64,
    /// They would have been refused.
    pub deny: u64,
    /// Those that differ from a person, the denied ones that would have run first.
    pub flips: Vec<Flip>,
    /// High risks that would have run though nobody had let them.
    pub newly_high: u64,
    /// Critical ones.
    pub newly_critical: u64,
}

/// Judges requests in the order in which they were stored.
pub struct Simulation<'p> {
    policy: &'p PolicySet,
    conditions: &'p Conditions,
    /// What each limited rule has approved so far, by its place.
    windows: BTreeMap<usize, VecDeque<(Timestamp, f64)>>,
    report: Report,
}

impl<'p> Simulation<'p> {
    /// Begins with nothing approved.
    #[must_use]
    pub fn new(policy: &'p PolicySet, conditions: &'p Conditions) -> Self {
        let limited = policy.rules().iter().enumerate();
        let limited = limited.filter(|(_, of)| of.rule.limit.is_some() || of.rule.sum.is_some());
        Self {
            policy,
            conditions,
            windows: limited.map(|(place, _)| (place, VecDeque::new())).collect(),
            report: Report::default(),
        }
    }

    /// Judges the next request.
    pub fn judge(&mut self, past: &Past<'_>) -> Evaluation {
        let uses = self.uses(past);
        let setting = Setting {
            now: past.at,
            approves_off: None,
            author_may: true,
            bypass: None,
            uses: &uses,
            explain: false,
            conditions: self.conditions,
        };
        let found = evaluate(self.policy, past.asked, &setting);
        self.report.total += 1;
        let decided = match found.outcome {
            Outcome::Approve(by) => {
                self.report.approve += 1;
                self.approved(past, by);
                Some((Verdict::Approve, self.approver(past, by)))
            }
            Outcome::Deny(place) => {
                self.report.deny += 1;
                Some((Verdict::Deny, self.rule_id(place)))
            }
            Outcome::Ask { .. } => {
                self.report.ask += 1;
                None
            }
        };
        if let (Some((rule, rule_id)), Some(person)) = (decided, past.person)
            && differ(person, rule)
            && self.report.flips.len() < FLIPS_MAX
        {
            let request_id = past.request_id.to_owned();
            self.report.flips.push(Flip {
                request: past.request,
                request_id,
                person,
                rule,
                rule_id,
            });
        }
        found
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.report
            .flips
            .sort_by_key(|flip| flip.rule != Verdict::Approve);
        self.report
    }

    /// The rule or the setup key that approved.
    pub fn approver(&self, past: &Past<'_>, by: By) -> String {
        match by {
            By::Rule(place) => self.rule_id(place),
            By::SetupKey => past.asked.setup_key.unwrap_or_default().to_owned(),
            // What rules say is asked for here; no bypass is in force.
            By::Bypass => String::new(),
        }
    }

    fn rule_id(&self, place: usize) -> String {
        self.policy
            .rules()
            .get(place)
            .map(|of| of.rule.id.clone())
            .unwrap_or_default()
    }

    fn approved(&mut self, past: &Past<'_>, by: By) {
        match past.asked.risk {
            Risk::High if !past.ran => self.report.newly_high += 1,
            Risk::Critical if !past.ran => self.report.newly_critical += 1,
            _ => {}
        }
        let By::Rule(place) = by else { return };
        let rule = &self.policy.rules()[place].rule;
        if let Some(window) = self.windows.get_mut(&place) {
            let pointer = rule.sum.as_ref().map(|sum| sum.pointer.as_str());
            let (args, effective) = (past.asked.args, past.asked.effective);
            let amount = pointer.and_then(|pointer| amount(args, effective, pointer));
            window.push_back((past.at, amount.unwrap_or(0.0)));
        }
    }

    /// What is in the windows of the rules that the request may concern.
    fn uses(&mut self, past: &Past<'_>) -> Uses {
        let mut uses = Uses::new();
        if self.windows.is_empty() {
            return uses;
        }
        for place in self.policy.places(past.asked.tool, false).iter() {
            let Some(window) = self.windows.get_mut(place) else {
                continue;
            };
            let rule = &self.policy.rules()[*place].rule;
            let count_ms = rule.limit.map_or(0, |limit| limit.per_ms);
            let sum_ms = rule.sum.as_ref().map_or(0, |sum| sum.per_ms);
            let within = |at: Timestamp, per_ms: i64| past.at.since_ms(at) < per_ms;
            while window
                .front()
                .is_some_and(|(at, _)| !within(*at, count_ms.max(sum_ms)))
            {
                window.pop_front();
            }
            let counted = window
                .iter()
                .filter(|(at, _)| within(*at, count_ms))
                .count();
            let amounts = window
                .iter()
                .filter(|(at, _)| within(*at, sum_ms))
                .map(|(_, amount)| amount);
            let used = Used {
                count: u64::try_from(counted).unwrap_or(u64::MAX),
                sum: amounts.sum(),
            };
            uses.insert(rule.id.clone(), used);
        }
        uses
    }
}

/// Whether a person's verdict and a rule's are opposites.
#[must_use]
pub fn differ(person: Verdict, rule: Verdict) -> bool {
    let ran = matches!(person, Verdict::Approve | Verdict::Modify);
    let refused = matches!(person, Verdict::Deny | Verdict::Terminate | Verdict::Skip);
    match rule {
        Verdict::Approve => refused,
        _ => ran,
    }
}
