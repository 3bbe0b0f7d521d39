//! What rules would do with requests, one after the other: the one walk that simulations, previews, flips, suggestions
//! and waiting calls go.
//!
//! Refuses to judge with anything but [`evaluate`], and counts limits as if the rules had been in force.

use std::collections::{BTreeMap, VecDeque};

use countersign_wire::Verdict;

use super::conditions::Conditions;
use super::evaluate::{
    Asked, By, Evaluation, InBypass, Outcome, Setting, Used, Uses, amount, evaluate,
};
use super::set::PolicySet;
use crate::domain::Timestamp;
use crate::domain::controls::AutomaticOff;

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

/// What counts beside the rules.
#[derive(Debug, Clone, Copy)]
pub struct Situation {
    /// The server's time.
    pub now: Timestamp,
    /// Why no approve counts.
    pub approves_off: Option<AutomaticOff>,
    /// Whether who signed the set may let such a request run.
    pub author_may: bool,
    /// The agent's bypass.
    pub bypass: Option<InBypass>,
}

impl Situation {
    /// Nothing but the rules.
    #[must_use]
    pub fn plain(now: Timestamp) -> Self {
        Self {
            now,
            approves_off: None,
            author_may: true,
            bypass: None,
        }
    }
}

/// What a limited rule has approved.
#[derive(Default)]
struct Counted {
    /// Before the walk; none where nobody knows.
    before: Option<Used>,
    walk: VecDeque<(Timestamp, f64)>,
}

/// Rules that are tried on requests in the order in which these came.
pub struct Trial<'p> {
    policy: &'p PolicySet,
    conditions: &'p Conditions,
    counted: BTreeMap<usize, Counted>,
}

impl<'p> Trial<'p> {
    /// Limited rules have approved nothing before.
    #[must_use]
    pub fn new(policy: &'p PolicySet, conditions: &'p Conditions) -> Self {
        let mut trial = Self::uncounted(policy, conditions);
        for counted in trial.counted.values_mut() {
            counted.before = Some(Used::default());
        }
        trial
    }

    /// What limited rules have approved before is not known until [`Self::count`] says so.
    #[must_use]
    pub fn uncounted(policy: &'p PolicySet, conditions: &'p Conditions) -> Self {
        let limited = policy.rules().iter().enumerate();
        let limited = limited.filter(|(_, of)| of.rule.limit.is_some() || of.rule.sum.is_some());
        Self {
            policy,
            conditions,
            counted: limited.map(|(at, _)| (at, Counted::default())).collect(),
        }
    }

    /// What the rule at this place has approved before.
    pub fn count(&mut self, place: usize, used: Used) {
        self.counted.entry(place).or_default().before = Some(used);
    }

    /// Judges the next request; what is approved counts towards the limit of its rule.
    pub fn judge(&mut self, asked: &Asked<'_>, situation: &Situation) -> Evaluation {
        let uses = self.uses(asked, situation.now);
        let setting = Setting {
            now: situation.now,
            approves_off: situation.approves_off,
            author_may: situation.author_may,
            bypass: situation.bypass,
            uses: &uses,
            explain: false,
            conditions: self.conditions,
        };
        let found = evaluate(self.policy, asked, &setting);
        // A request whose rules are not all counted is judged again.
        if found.unknown_uses.is_empty()
            && let Outcome::Approve(By::Rule(place)) = found.outcome
            && let Some(counted) = self.counted.get_mut(&place)
        {
            let sum = self.policy.rules()[place].rule.sum.as_ref();
            let more = sum.and_then(|sum| amount(asked.args, asked.effective, &sum.pointer));
            counted.walk.push_back((situation.now, more.unwrap_or(0.0)));
        }
        found
    }

    /// The id of a rule of the set.
    #[must_use]
    pub fn rule_id(&self, place: usize) -> String {
        let rule = self.policy.rules().get(place);
        rule.map(|of| of.rule.id.clone()).unwrap_or_default()
    }

    /// The rule or the setup key that approved.
    #[must_use]
    pub fn approver(&self, asked: &Asked<'_>, by: By) -> String {
        match by {
            By::Rule(place) => self.rule_id(place),
            By::SetupKey => asked.setup_key.unwrap_or_default().to_owned(),
            // What rules say is asked for here; no bypass is in force.
            By::Bypass => String::new(),
        }
    }

    /// What is in the windows of the rules that the request may concern.
    fn uses(&mut self, asked: &Asked<'_>, now: Timestamp) -> Uses {
        let mut uses = Uses::new();
        if self.counted.is_empty() {
            return uses;
        }
        for place in self.policy.places(asked.tool, false).iter() {
            let Some(counted) = self.counted.get_mut(place) else {
                continue;
            };
            let rule = &self.policy.rules()[*place].rule;
            let count_ms = rule.limit.map_or(0, |limit| limit.per_ms);
            let sum_ms = rule.sum.as_ref().map_or(0, |sum| sum.per_ms);
            let within = |at: Timestamp, per_ms: i64| now.since_ms(at) < per_ms;
            let walk = &mut counted.walk;
            while walk
                .front()
                .is_some_and(|(at, _)| !within(*at, count_ms.max(sum_ms)))
            {
                walk.pop_front();
            }
            let Some(before) = counted.before else {
                continue;
            };
            let count = walk.iter().filter(|(at, _)| within(*at, count_ms)).count();
            let amounts = walk.iter().filter(|(at, _)| within(*at, sum_ms));
            let used = Used {
                count: before.count + u64::try_from(count).unwrap_or(u64::MAX),
                sum: before.sum + amounts.map(|(_, amount)| amount).sum::<f64>(),
            };
            uses.insert(rule.id.clone(), used);
        }
        uses
    }
}

/// A request as the rules before and after a change judge it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// None where nothing counted before.
    pub before: Option<Evaluation>,
    /// With the change.
    pub after: Evaluation,
}

impl Judged {
    /// Who approves it after the change, where nobody did before.
    #[must_use]
    pub fn begins(&self) -> Option<By> {
        let approver = |of: &Evaluation| match of.outcome {
            Outcome::Approve(by) => Some(by),
            Outcome::Deny(_) | Outcome::Ask { .. } => None,
        };
        let before = self.before.as_ref().and_then(approver);
        approver(&self.after).filter(|_| before.is_none())
    }
}

/// Judges the next request of the past.
pub fn what_if(before: Option<&mut Trial<'_>>, after: &mut Trial<'_>, past: &Past<'_>) -> Judged {
    let situation = Situation::plain(past.at);
    Judged {
        before: before.map(|trial| trial.judge(past.asked, &situation)),
        after: after.judge(past.asked, &situation),
    }
}
