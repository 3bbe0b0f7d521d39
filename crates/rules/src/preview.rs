//! What one rule would have done with the past, for the person who thinks of enabling it.
//!
//! Refuses to hide a call that a person refused: those come first, and each kind of case is counted even
//! where no more of them are kept.

use std::collections::VecDeque;

use countersign_wire::{Risk, Verdict};

use super::evaluate::{Evaluation, Says};
use super::rule::Effect;
use super::what_if::Past;
use crate::domain::Timestamp;

/// Cases of one kind that are kept; more are only counted.
const CASES_MAX: usize = 100;
/// The last calls that matched.
const SAMPLES: usize = 10;

/// A call of the past that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its row.
    pub request: i64,
    /// When it was stored.
    pub at: Timestamp,
    /// What a person decided.
    pub person: Option<Verdict>,
    /// What the rule says.
    pub rule: Effect,
}

/// What one rule would have done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Requests that were looked at.
    pub total: u64,
    /// It would have let them run.
    pub approve: u64,
    /// It would have left them to people: an ask, or past its limit.
    pub ask: u64,
    /// It would have refused them.
    pub deny: u64,
    /// It says what a person said.
    pub agreed: u64,
    /// It would have let run what a person refused.
    pub denied: u64,
    /// It would have refused what a person let run.
    pub refused: u64,
    /// It would have let run what no person decided.
    pub unseen: u64,
    /// Of these, still waiting.
    pub waiting: u64,
    /// High risks that would have run though nobody had let them.
    pub newly_high: u64,
    /// Critical ones.
    pub newly_critical: u64,
    /// It could not be read for sure.
    pub unsure: u64,
    /// The first reason for that.
    pub unsure_why: Option<String>,
    /// Where it differs from a person, those first that it would have let run though a person refused.
    pub flips: Vec<Case>,
    /// High and critical calls that would have run though nobody had let them.
    pub newly: Vec<Case>,
    /// The last calls that it matched, the newest first.
    pub samples: Vec<Case>,
    /// The newest critical or irreversible call that it would have let run.
    pub strict: Option<i64>,
}

/// Adds up judgements of a set that holds one rule.
#[derive(Debug, Default)]
pub struct Tally {
    preview: Preview,
    denied: Vec<Case>,
    refused: Vec<Case>,
    samples: VecDeque<Case>,
}

impl Tally {
    /// Adds one.
    pub fn add(&mut self, past: &Past<'_>, found: &Evaluation) {
        let of = &mut self.preview;
        of.total += 1;
        if let Some((_, trouble)) = found.troubles.first() {
            of.unsure += 1;
            of.unsure_why.get_or_insert_with(|| trouble.to_string());
        }
        let Some((_, says)) = found.matched.first() else {
            return;
        };
        let case = Case {
            request: past.request,
            at: past.at,
            person: past.person,
            rule: says.effect(),
        };
        let ran = matches!(past.person, Some(Verdict::Approve | Verdict::Modify));
        let refused = matches!(
            past.person,
            Some(Verdict::Deny | Verdict::Terminate | Verdict::Skip)
        );
        match says {
            Says::Ask { .. } => of.ask += 1,
            Says::Approve => {
                of.approve += 1;
                of.agreed += u64::from(ran);
                of.unseen += u64::from(past.person.is_none());
                of.waiting += u64::from(past.waits);
                of.strict = past.strict.then_some(past.request).or(of.strict);
                if refused {
                    of.denied += 1;
                    keep(&mut self.denied, &case);
                }
                if !past.ran && past.asked.risk >= Risk::High {
                    match past.asked.risk {
                        Risk::Critical => of.newly_critical += 1,
                        _ => of.newly_high += 1,
                    }
                    keep(&mut of.newly, &case);
                }
            }
            Says::Deny => {
                of.deny += 1;
                of.agreed += u64::from(refused);
                if ran {
                    of.refused += 1;
                    keep(&mut self.refused, &case);
                }
            }
        }
        self.samples.push_back(case);
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
    }

    /// What was found.
    #[must_use]
    pub fn finish(self) -> Preview {
        let mut flips = self.denied;
        flips.extend(self.refused);
        Preview {
            flips,
            samples: self.samples.into_iter().rev().collect(),
            ..self.preview
        }
    }
}

fn keep(cases: &mut Vec<Case>, case: &Case) {
    if cases.len() < CASES_MAX {
        cases.push(case.clone());
    }
}
