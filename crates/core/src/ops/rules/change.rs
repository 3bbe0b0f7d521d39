//! Changes of a workspace's rules, and their effect.

use super::signed::Shift;
use crate::Fault;
use crate::ops::regrets::Regret;
use crate::ops::waiting_calls::{AcceptWaiting, WaitingCall};
use crate::policy::{Enabled, Rule};

/// How to change a set.
#[derive(Debug, Clone)]
pub enum RulesChange {
    /// These rules instead of all others; refused when the set has another revision than the given one.
    Replace {
        /// The rules.
        rules: Vec<Rule>,
        /// The revision that was seen; none writes over any.
        seen: Option<u64>,
    },
    /// These rules beside the others; one whose id is there already is left as it is.
    Add(Vec<Rule>),
    /// This rule in the place of the one with its id; refused when that one has another version than was
    /// seen, or when there is one and none was seen.
    Put {
        /// The rule.
        rule: Box<Rule>,
        /// The version that was seen; none for a new rule.
        seen: Option<u64>,
    },
    /// Without this rule.
    Remove(String),
    /// This rule on, off or in the shadow.
    Enable(String, Enabled),
    /// A decision of this rule was wrong: it is off.
    Regret(String, Regret),
}

/// What a change did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesChanged {
    /// Revision in the shared policy.
    pub revision: u64,
    /// The rules with the change.
    pub rules: Vec<Rule>,
    /// Ids.
    pub added: Vec<String>,
    /// Ids.
    pub changed: Vec<String>,
    /// Ids.
    pub removed: Vec<String>,
    /// Ids.
    pub unchanged: Vec<String>,
    /// Ids of rules that existed and act again.
    pub turned_on: Vec<String>,
    /// Whether it put rules in the place of what did not count: nothing need be added or changed for that.
    pub restored: bool,
    /// What it did to rules that it left as they were.
    pub shift: Shift,
    /// Calls that waited and are approved by it.
    pub decides_waiting: Vec<WaitingCall>,
}

/// What a person was asked about and accepted; a change is refused for what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Rules that it leaves as they are approve something else under the limits of this operator, who signs them
    /// with it.
    pub limits: bool,
    /// A file turns on what was switched off because people called what it decided wrong.
    pub regrets: bool,
    /// Calls that wait are approved by it.
    pub waiting: AcceptWaiting,
}

/// Why the rules of a workspace stay as they are.
#[derive(Debug, thiserror::Error)]
pub enum RulesFault {
    /// A file turns on rules whose decisions people called wrong.
    #[error(
        "people reported decisions of these rules as wrong, and the file turns the rules on again: {0}"
    )]
    Regretted(String),
    /// It would approve calls that wait, and nobody has accepted that.
    #[error("this would approve {} still waiting: {}", calls(.0.len()), named(.0))]
    DecidesWaiting(Vec<WaitingCall>),
    /// Anything else.
    #[error(transparent)]
    Other(#[from] Fault),
}

impl From<RulesFault> for Fault {
    fn from(error: RulesFault) -> Self {
        match error {
            RulesFault::Regretted(_) | RulesFault::DecidesWaiting(_) => {
                Self::verdict_not_allowed(error.to_string())
            }
            RulesFault::Other(fault) => fault,
        }
    }
}

/// Waiting calls that a message names; the others are counted.
const NAMED: usize = 5;

fn calls(count: usize) -> String {
    match count {
        1 => "1 call that is".to_owned(),
        more => format!("{more} calls that are"),
    }
}

fn named(calls: &[WaitingCall]) -> String {
    let first: Vec<String> = calls
        .iter()
        .take(NAMED)
        .map(|of| of.key.to_string())
        .collect();
    match calls.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
