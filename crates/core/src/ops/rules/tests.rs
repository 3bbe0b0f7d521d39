//! A change of one rule keeps what others changed.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::policy::body::read_rule;
use crate::policy::{Enabled, Rule};

fn rule(id: &str, effect: &str) -> Rule {
    read_rule(&format!("id = \"{id}\"\neffect = \"{effect}\"\n")).unwrap()
}

fn put(rule: Rule, seen: Option<u64>) -> RulesChange {
    RulesChange::Put {
        rule: Box::new(rule),
        seen,
    }
}

#[test]
fn one_rule_is_put_beside_what_others_changed_and_never_over_a_version_that_was_not_seen() {
    let now = Timestamp(1_000);
    let (set, _) = RuleSet::default()
        .after(&put(rule("a", "ask"), None), now)
        .unwrap();
    let (set, done) = set.after(&put(rule("b", "deny"), None), now).unwrap();
    assert_eq!(done.added, ["b"]);
    let (set, done) = set.after(&put(rule("a", "deny"), Some(1)), now).unwrap();
    assert_eq!(
        (done.changed, done.unchanged),
        (vec!["a".to_owned()], vec!["b".to_owned()])
    );
    let versions =
        |set: &RuleSet| -> Vec<u64> { set.rules.iter().map(|rule| rule.version).collect() };
    assert_eq!(versions(&set), [2, 1]);
    for (seen, says) in [
        (Some(1), "somebody else"),
        (Some(3), "somebody else"),
        (None, "choose another id"),
    ] {
        let refused = set.after(&put(rule("a", "ask"), seen), now).unwrap_err();
        assert!(refused.to_string().contains(says), "{seen:?}: {refused}");
    }
    let gone = set.after(&put(rule("c", "ask"), Some(1)), now).unwrap_err();
    assert!(gone.to_string().contains("somebody else"), "{gone}");
}

#[test]
fn an_id_stays_taken_when_its_rule_is_gone() {
    let now = Timestamp(1_000);
    let (set, _) = RuleSet::default()
        .after(&put(rule("a", "ask"), None), now)
        .unwrap();
    let (set, _) = set
        .after(&RulesChange::Remove("a".to_owned()), now)
        .unwrap();
    assert!(set.rules.is_empty() && set.is_taken("a") && !set.is_taken("b"));
}

#[test]
fn an_approval_whose_time_is_over_is_refused_and_one_that_stands_can_still_be_switched_off() {
    let until = |year: u32, enabled: &str| {
        read_rule(&format!(
            "id = \"a\"\neffect = \"approve\"\ntool = \"pay\"\nenabled = {enabled}\nexpires_at = \"{year}-01-01T00:00:00Z\"\n"
        ))
        .unwrap()
    };
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let (before, now) = (at("2025-06-01T00:00:00Z"), at("2026-01-01T00:00:00Z"));
    let replace = |rules: Vec<Rule>| RulesChange::Replace { rules, seen: None };
    let none = RuleSet::default();
    for change in [
        put(until(2026, "true"), None),
        put(until(2026, "\"shadow\""), None),
        replace(vec![until(2026, "true")]),
        RulesChange::Add(vec![until(2026, "true")]),
    ] {
        let refused = none.after(&change, now).unwrap_err().to_string();
        assert!(
            refused.contains("rule a") && refused.contains("2026-01-01"),
            "{refused}"
        );
    }
    assert!(none.after(&put(until(2026, "false"), None), now).is_ok());
    assert!(none.after(&put(until(2027, "true"), None), now).is_ok());
    assert!(none.after(&put(rule("b", "ask"), None), now).is_ok());
    // It was good when it was made.
    let (current, _) = none.after(&put(until(2026, "true"), None), before).unwrap();
    assert!(current.after(&replace(current.rules.clone()), now).is_ok());
    assert!(current.after(&put(rule("b", "ask"), None), now).is_ok());
    for (enabled, accepted) in [(Enabled::Off, true), (Enabled::Shadow, false)] {
        let done = current.after(&RulesChange::Enable("a".to_owned(), enabled), now);
        assert_eq!(done.is_ok(), accepted, "{enabled:?}");
    }
    assert!(
        current
            .after(&RulesChange::Remove("a".to_owned()), now)
            .is_ok()
    );
}

#[test]
fn what_people_called_wrong_is_not_forgotten_with_the_rule() {
    let now = Timestamp(1_000);
    let add = put(rule("a", "ask"), None);
    let (mut set, _) = RuleSet::default().after(&add, now).unwrap();
    set.regrets.entry("a".to_owned()).or_default().count = 1;
    let (set, _) = set
        .after(&RulesChange::Remove("a".to_owned()), now)
        .unwrap();
    let (set, _) = set.after(&add, now).unwrap();
    assert_eq!((set.rules[0].version, set.regrets["a"].count), (2, 1));
}
