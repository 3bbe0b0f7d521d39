//! The limits that bind a rule: whoever changes one signs the whole set, and an approve counts only as far as that
//! operator may allow. Pure.

use countersign_wire::Risk;

use crate::policy::{Effect, Enabled, Rule};

/// Rules that nobody touched and that approve something else because another operator signs the set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shift {
    /// Ids of those that no longer approve all that they did.
    pub loses: Vec<String>,
    /// Ids of those that approve more than they did.
    pub gains: Vec<String>,
}

impl Shift {
    /// Whether nothing shifts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.loses.is_empty() && self.gains.is_empty()
    }

    /// What shifts, for a person.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        if !self.loses.is_empty() {
            let ids = self.loses.join(", ");
            words.push(format!(
                "your key is limited, so these rules would no longer approve all that they do now: {ids}"
            ));
        }
        if !self.gains.is_empty() {
            let ids = self.gains.join(", ");
            words.push(format!(
                "they were signed under a limit that you do not have, so these rules would approve more than they do now: {ids}"
            ));
        }
        format!(
            "whoever changes one rule signs them all; {}",
            words.join("; ")
        )
    }
}

/// What a change does to rules that it leaves as they are. The two functions say what the signer before could
/// allow, and what the one now can.
pub(super) fn shift(
    before: &[Rule],
    after: &[Rule],
    could: impl Fn(Risk) -> bool,
    can: impl Fn(Risk) -> bool,
) -> Shift {
    let mut shift = Shift::default();
    let acts = |rule: &&Rule| rule.effect == Effect::Approve && rule.enabled == Enabled::On;
    for rule in after.iter().filter(acts) {
        let earlier = before.iter().find(|other| other.id == rule.id);
        if !earlier.is_some_and(|earlier| earlier.says_the_same(rule)) {
            continue;
        }
        let risks: Vec<Risk> = Risk::ALL
            .iter()
            .copied()
            .filter(|risk| covers(rule, *risk))
            .collect();
        if risks.iter().any(|risk| could(*risk) && !can(*risk)) {
            shift.loses.push(rule.id.clone());
        }
        if risks.iter().any(|risk| can(*risk) && !could(*risk)) {
            shift.gains.push(rule.id.clone());
        }
    }
    shift
}

/// Whether a rule speaks of a risk; of critical ones only where it says so.
fn covers(rule: &Rule, risk: Risk) -> bool {
    let matchers = &rule.matchers;
    match matchers.risk.is_empty() {
        true => risk != Risk::Critical || !matchers.args_digest.is_empty(),
        false => matchers.risk.contains(&risk),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::policy::body::read_rule;

    fn rule(id: &str, more: &str) -> Rule {
        let text = format!(
            "id = \"{id}\"\neffect = \"approve\"\ntool = \"t\"\nexpires_at = \"2999-01-01T00:00:00Z\"\n{more}"
        );
        read_rule(&text).unwrap()
    }

    #[test]
    fn only_rules_that_nobody_touched_shift_and_only_by_risks_that_they_cover() {
        let before = [
            rule("any", ""),
            rule("low", "risk = \"low\"\n"),
            rule("high", "risk = \"high\"\n"),
            rule("off", "enabled = false\n"),
            rule("shadow", "enabled = \"shadow\"\n"),
            rule("touched", ""),
        ];
        let mut after = before.to_vec();
        after[5] = rule("touched", "name = \"another\"\n");
        after.push(rule("new", ""));
        let anything = |_: Risk| true;
        let up_to_medium = |risk: Risk| risk <= Risk::Medium;
        let reported = shift(&before, &after, anything, up_to_medium);
        assert_eq!(
            (reported.loses, reported.gains),
            (vec!["any".to_owned(), "high".to_owned()], vec![])
        );
        let reported = shift(&before, &after, up_to_medium, anything);
        assert_eq!(
            (reported.loses, reported.gains),
            (vec![], vec!["any".to_owned(), "high".to_owned()])
        );
        for same in [anything, up_to_medium as fn(Risk) -> bool] {
            assert!(shift(&before, &after, same, same).is_empty());
        }
        let up_to_high = |risk: Risk| risk <= Risk::High;
        assert!(
            shift(&before, &after, anything, up_to_high).is_empty(),
            "no rule here covers critical calls"
        );
    }
}
