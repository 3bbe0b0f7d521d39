//! Rules and setup keys: what need not ask.
//!
//! Refuses at the first doubt: a missing field, a wrong type or any error makes an approve not match, and
//! a deny or an ask become an ask. Nothing here reads the store, the bus or a clock.

use countersign_domain as domain;

pub mod arguments;
pub mod body;
mod by_tool;
pub mod changes;
pub mod commands;
pub mod condition;
pub mod conditions;
mod declared;
pub mod draft;
mod effect;
pub mod effective;
pub mod evaluate;
pub mod file;
pub mod glob;
pub mod import;
mod leaves;
pub mod matrix;
pub mod preview;
pub mod read;
pub mod remarks;
pub mod rule;
pub mod set;
pub mod setup;
pub mod simulate;
pub mod suggest;
#[cfg(test)]
mod tests;
pub mod unsure;
pub mod what_if;

pub use condition::{Condition, ConditionFault};
pub use conditions::{ConditionError, Conditions, Facts};
pub use evaluate::{
    Asked, By, Evaluation, InBypass, Matcher, Outcome, Says, Setting, SetupSays, Stop, Used, Uses,
    evaluate,
};
pub use file::{FileProblem, read_file};
pub use rule::{Effect, Enabled, Rule};
pub use set::{Binding, PolicySet, Replaced, SetupInForce};
