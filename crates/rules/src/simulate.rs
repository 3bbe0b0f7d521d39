//! What rules would have done with the requests of the past, added up.

use countersign_wire::{Risk, Verdict};

use super::evaluate::{Evaluation, Outcome};
use super::what_if::{Past, Trial};

/// Flips that are kept; more are only counted.
pub const FLIPS_MAX: usize = 10_000;

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

impl Flip {
    /// Where the rules say the opposite of what a person decided.
    #[must_use]
    pub fn of(past: &Past<'_>, rule: Verdict, rule_id: String) -> Option<Self> {
        let person = past.person.filter(|person| differ(*person, rule))?;
        Some(Self {
            request: past.request,
            request_id: past.request_id.to_owned(),
            person,
            rule,
            rule_id,
        })
    }
}

impl Report {
    /// Adds the judgement of a request.
    pub fn add(&mut self, trial: &Trial<'_>, past: &Past<'_>, found: &Evaluation) {
        self.total += 1;
        let decided = match found.outcome {
            Outcome::Approve(by) => {
                self.approve += 1;
                match past.asked.risk {
                    Risk::High if !past.ran => self.newly_high += 1,
                    Risk::Critical if !past.ran => self.newly_critical += 1,
                    _ => {}
                }
                Some((Verdict::Approve, trial.approver(past.asked, by)))
            }
            Outcome::Deny(place) => {
                self.deny += 1;
                Some((Verdict::Deny, trial.rule_id(place)))
            }
            Outcome::Ask { .. } => {
                self.ask += 1;
                None
            }
        };
        let flip = decided.and_then(|(rule, rule_id)| Flip::of(past, rule, rule_id));
        let room = self.flips.len() < FLIPS_MAX;
        self.flips.extend(flip.filter(|_| room));
    }

    /// The whole, the denied calls that would have run first.
    #[must_use]
    pub fn finish(mut self) -> Self {
        self.flips.sort_by_key(|flip| flip.rule != Verdict::Approve);
        self
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
