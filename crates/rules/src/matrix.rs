//! What happens to a call of which only agent, tool and risk are known.
//!
//! Refuses to guess: what a rule says once the arguments, the thread or the hour are known is named beside
//! the answer and never in it.

use std::collections::BTreeMap;

use countersign_wire::Risk;

use super::conditions::Conditions;
use super::evaluate::{Asked, By, Evaluation, InBypass, Outcome, Setting, Uses, evaluate};
use super::rule::{Effect, Enabled, Matchers, Rule};
use super::set::{PolicySet, Replaced};
use crate::domain::Timestamp;
use crate::domain::controls::AutomaticOff;

/// Risks, the columns.
pub const RISKS: [Risk; 5] = [
    Risk::Safe,
    Risk::Low,
    Risk::Medium,
    Risk::High,
    Risk::Critical,
];

/// A tool as its agent describes it.
#[derive(Debug, Clone, Copy)]
pub struct DescribedTool<'a> {
    /// Agent.
    pub agent: &'a str,
    /// Its framework.
    pub framework: Option<&'a str>,
    /// Tool.
    pub tool: &'a str,
    /// Where it comes from.
    pub origin: Option<&'a str>,
    /// When its definition took the place of another one.
    pub redefined_at: Option<Timestamp>,
    /// Why no approve counts for this agent.
    pub approves_off: Option<AutomaticOff>,
    /// Whether who signed the rules may let calls run, in the order of [`RISKS`].
    pub author_may: [bool; RISKS.len()],
    /// A bypass of this agent, whose signer may let such calls run, in the order of [`RISKS`].
    pub bypass: [Option<InBypass>; RISKS.len()],
}

/// What happens now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// What the rules say.
    pub outcome: Effect,
    /// The rule that says so; none when nothing matched.
    pub rule: Option<String>,
    /// The agent's bypass says so.
    pub bypass: bool,
    /// How many operators it asks for.
    pub approvals: u8,
    /// Rules that may say something else once more is known.
    pub depends: Vec<String>,
    /// Why an approve does not count.
    pub held: Option<AutomaticOff>,
}

/// A rule set, divided into what is certain and what depends on more.
pub struct Matrix {
    certain: PolicySet,
    /// Rules that depend on more, without what they depend on.
    widened: PolicySet,
    /// What is in their place does not count; these are the rules before it.
    replaced: Option<Replaced>,
    now: Timestamp,
    conditions: Conditions,
}

impl Matrix {
    /// Divides rules that are in force, or those that were before what cannot be read.
    ///
    /// # Errors
    /// Why the set has no canonical form.
    pub fn new(
        rules: Vec<Rule>,
        now: Timestamp,
        replaced: Option<Replaced>,
    ) -> Result<Self, String> {
        let on = rules.into_iter().filter(|rule| rule.enabled == Enabled::On);
        let (widened, certain): (Vec<Rule>, Vec<Rule>) = on.partition(depends);
        let widened = widened.into_iter().map(widen).collect();
        Ok(Self {
            certain: PolicySet::new(certain, BTreeMap::new())?,
            widened: PolicySet::new(widened, BTreeMap::new())?,
            replaced,
            now,
            conditions: Conditions::default(),
        })
    }

    /// One cell for each of [`RISKS`].
    #[must_use]
    pub fn cells(&self, of: &DescribedTool<'_>) -> Vec<Cell> {
        (0..RISKS.len()).map(|place| self.cell(of, place)).collect()
    }

    fn cell(&self, of: &DescribedTool<'_>, place: usize) -> Cell {
        let (risk, author_may) = (RISKS[place], of.author_may[place]);
        let asked = Asked {
            origin: of.origin,
            framework: of.framework,
            risk,
            tool_changed_at: of.redefined_at,
            ..Asked::bare(of.agent, of.tool, None)
        };
        let by = (author_may, of.bypass[place]);
        let found = self.judge(&self.certain, &asked, of.approves_off, by);
        let id = |set: &PolicySet, place: usize| {
            let rule = set.rules().get(place);
            rule.map(|of| of.rule.id.clone())
        };
        let denied =
            self.replaced == Some(Replaced::Unsigned) && matches!(found.outcome, Outcome::Deny(_));
        if self.replaced.is_some() && !denied {
            let (approvals, place) = found.most_asked();
            return Cell {
                outcome: Effect::Ask,
                rule: place.and_then(|place| id(&self.certain, place)),
                bypass: false,
                approvals,
                depends: Vec::new(),
                held: Some(AutomaticOff::RulesUnreadable),
            };
        }
        let effect = found.outcome.effect();
        let (rule, approvals, held) = match found.outcome {
            Outcome::Approve(By::Rule(place)) | Outcome::Deny(place) => (Some(place), 1, None),
            Outcome::Approve(_) => (None, 1, None),
            Outcome::Ask {
                rule,
                approvals,
                held,
            } => (rule, approvals, held),
        };
        let rule = rule.and_then(|place| id(&self.certain, place));
        let bypass = matches!(found.outcome, Outcome::Approve(By::Bypass));
        // Nothing outweighs a deny.
        let depends = match effect {
            Effect::Deny => Vec::new(),
            _ => {
                let widened = self.judge(&self.widened, &asked, None, (author_may, None));
                let places = widened.matched.iter().map(|(place, _)| *place);
                places
                    .filter_map(|place| id(&self.widened, place))
                    .collect()
            }
        };
        Cell {
            outcome: effect,
            rule,
            bypass,
            approvals,
            depends,
            held,
        }
    }

    fn judge(
        &self,
        set: &PolicySet,
        asked: &Asked<'_>,
        approves_off: Option<AutomaticOff>,
        (author_may, bypass): (bool, Option<InBypass>),
    ) -> Evaluation {
        let setting = Setting {
            now: self.now,
            approves_off,
            author_may,
            bypass,
            uses: &Uses::new(),
            explain: false,
            conditions: &self.conditions,
        };
        evaluate(set, asked, &setting)
    }
}

/// Whether a rule looks at more than agent, tool, risk, kind, origin and framework.
fn depends(rule: &Rule) -> bool {
    let of = &rule.matchers;
    !(of.skill.is_empty()
        && of.thread_id.is_empty()
        && of.args_digest.is_empty()
        && of.args.is_empty()
        && rule.when.is_none()
        && rule.limit.is_none()
        && rule.sum.is_none())
}

fn widen(rule: Rule) -> Rule {
    let mut of = rule.matchers;
    // A digest means one call, critical or not: without it only a rule that names the risk does.
    if !of.args_digest.is_empty() && of.risk.is_empty() {
        of.risk = RISKS.to_vec();
    }
    Rule {
        matchers: Matchers {
            skill: Vec::new(),
            thread_id: Vec::new(),
            args_digest: Vec::new(),
            args: BTreeMap::new(),
            only_args: false,
            ..of
        },
        when: None,
        limit: None,
        sum: None,
        ..rule
    }
}
