//! What a change of one rule keeps of what others changed.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::policy::body::read_rule;

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
