//! How a workspace's rules are changed, and what a change did.

use super::signed::Shift;
use crate::ops::regrets::Regret;
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
    /// These rules beside the others; one whose id is there already is left as it stands.
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RulesChanged {
    /// Revision in the shared policy.
    pub revision: u64,
    /// Ids.
    pub added: Vec<String>,
    /// Ids.
    pub changed: Vec<String>,
    /// Ids.
    pub removed: Vec<String>,
    /// Ids.
    pub unchanged: Vec<String>,
    /// Whether it put rules in the place of what did not count: nothing need be added or changed for that.
    pub restored: bool,
    /// What it did to rules that it left as they were.
    pub shift: Shift,
}

/// What may happen to rules that a change leaves as they are, when another operator signs them with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signing {
    /// Nothing: the change is refused.
    Careful,
    /// Whatever follows from the limits of this operator: a person was asked.
    Accepted,
}
