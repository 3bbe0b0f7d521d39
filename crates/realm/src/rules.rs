//! `rules.{ws}`: the rules of a workspace.

mod loosened;

use countersign_rules::read::{Problem, read_stored};
use countersign_rules::{Condition, Effect, Enabled, Rule};
use countersign_wire::{PolicyKey, Risk, WorkspaceName};
use serde_json::{Value, json};

pub use self::loosened::loosened;
use crate::domain::{AlarmCode, Timestamp};
use crate::registers::kind::{Around, Kind};
use crate::signers::Right;

/// The rules of a workspace. Where the stored ones do not count, the last that were good deny and ask on.
pub struct Rules;

impl Kind for Rules {
    type Key = WorkspaceName;
    type Value = Vec<Rule>;
    const ALARM: AlarmCode = AlarmCode::RulesUnusable;
    const RIGHT: Right = Right::UpTo(Risk::Critical);

    fn name(workspace: &WorkspaceName) -> PolicyKey {
        PolicyKey::Rules(workspace.clone())
    }

    fn unset() -> Vec<Rule> {
        Vec::new()
    }

    fn read(payload: &[u8]) -> Option<Vec<Rule>> {
        read_payload(payload).ok()
    }

    fn cautious(last: &Vec<Rule>, _: Option<&Vec<Rule>>) -> Vec<Rule> {
        last.clone()
    }

    fn may_be_deleted(last: &Vec<Rule>) -> bool {
        last.is_empty()
    }

    fn relaxes(last: &Vec<Rule>, next: Option<&Vec<Rule>>, around: Around<'_>) -> bool {
        match next {
            Some(next) => !loosened(last, next, around.at).is_empty(),
            None => !last.is_empty(),
        }
    }

    fn audited(rules: Option<&Vec<Rule>>, _: &Vec<Rule>) -> Value {
        json!({ "rules": rules.map_or(0, Vec::len) })
    }
}

/// The rules in a payload.
///
/// # Errors
/// Where one cannot be read.
pub fn read_payload(payload: &[u8]) -> Result<Vec<Rule>, Vec<Problem>> {
    let value: Value = serde_json::from_slice(payload).unwrap_or_default();
    read_stored(&value)
}

/// Ids of the rules that deny or ask by what a setup key says; one whose condition cannot be read may.
#[must_use]
pub fn asking_setup(rules: &[Rule], now: Timestamp) -> Vec<&str> {
    let by_setup =
        |when: &str| Condition::compile(when).map_or(true, |condition| condition.names("setup"));
    let asks = |rule: &&Rule| {
        let when = rule.when.as_deref();
        rule.effect != Effect::Approve
            && rule.enabled == Enabled::On
            && !rule.is_over(now)
            && when.is_some_and(by_setup)
    };
    rules
        .iter()
        .filter(asks)
        .map(|rule| rule.id.as_str())
        .collect()
}
