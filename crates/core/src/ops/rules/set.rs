//! The rules of a workspace as one value of the shared policy.
//!
//! A version always has the same words. Under the id of a deleted rule its versions, uses and regrets go on.

use std::collections::BTreeMap;

use countersign_wire::read_json_value;
use serde_json::{Value, json};

use super::change::{RulesChange, RulesChanged, RulesFault};
use crate::Fault;
use crate::domain::Timestamp;
use crate::ops::regrets::Regrets;
use crate::policy::read::{RULES_MAX, SCHEMA, read_stored};
use crate::policy::{Effect, Enabled, Rule};

/// The rules of a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleSet {
    /// Revision in the shared policy; 0 when there are none.
    pub revision: u64,
    /// By id.
    pub rules: Vec<Rule>,
    /// Ids of rules that are gone, with their last version: drafts choose none of them, and its versions go on where
    /// a person does.
    pub(super) gone: BTreeMap<String, u64>,
    /// Decisions of a rule that people called wrong, by its id, also of one that is gone.
    pub regrets: BTreeMap<String, Regrets>,
}

pub(super) fn unreadable(why: &str) -> Fault {
    Fault::invalid_args(format!(
        "the rules on the bus cannot be read ({why}); replace them with `countersign rules apply FILE`"
    ))
}

pub(super) fn read(payload: &[u8], revision: u64) -> Result<RuleSet, Fault> {
    let mut value: Value =
        serde_json::from_slice(payload).map_err(|error| unreadable(&error.to_string()))?;
    let gone = value.as_object_mut().and_then(|map| map.remove("gone"));
    let gone = read_json_value(gone.unwrap_or_else(|| json!({})))
        .map_err(|error| unreadable(&format!("gone: {error}")))?;
    let regrets = value.as_object_mut().and_then(|map| map.remove("regrets"));
    let regrets = read_json_value(regrets.unwrap_or_else(|| json!({})))
        .map_err(|error| unreadable(&format!("regrets: {error}")))?;
    let mut rules = read_stored(&value).map_err(|problems| {
        let first = problems.first();
        let reported = first.map_or(String::new(), |of| {
            format!("{}: {}", of.place(), of.message)
        });
        unreadable(&reported)
    })?;
    rules.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(RuleSet {
        revision,
        rules,
        gone,
        regrets,
    })
}

fn too_many() -> Fault {
    Fault::invalid_args(format!("a workspace has at most {RULES_MAX} rules"))
}

/// Refuses a rule that is new or changed and would never be in force.
fn not_late(rules: &[Rule], done: &RulesChanged, now: Timestamp) -> Result<(), Fault> {
    let touched = |rule: &&Rule| done.added.contains(&rule.id) || done.changed.contains(&rule.id);
    let Some(over) = rules.iter().filter(touched).find(|rule| rule.is_late(now)) else {
        return Ok(());
    };
    let at = over.expires_at.map(Timestamp::rfc3339).unwrap_or_default();
    Err(Fault::invalid_args(format!(
        "the rule {} would approve nothing: it expired at {at}; give it a later expires_at, or remove it",
        over.id
    )))
}

impl RuleSet {
    /// The set after a change, and what that did.
    pub(in crate::ops) fn after(
        &self,
        change: &RulesChange,
        now: Timestamp,
    ) -> Result<(Self, RulesChanged), Fault> {
        let mut rules = self.changed(change)?;
        let mut regrets = self.regrets.clone();
        if let RulesChange::Regret(id, regret) = change {
            regrets.entry(id.clone()).or_default().add(regret.clone());
        }
        let mut gone = self.gone.clone();
        let mut done = self.versioned(&mut rules, &mut gone, now);
        not_late(&rules, &done, now)?;
        for before in &self.rules {
            if !rules.iter().any(|rule| rule.id == before.id) {
                gone.insert(before.id.clone(), before.version);
                done.removed.push(before.id.clone());
            }
        }
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        Ok((
            Self {
                revision: self.revision,
                rules,
                gone,
                regrets,
            },
            done,
        ))
    }

    /// The rules as a change wants them, with the versions that it names.
    fn changed(&self, change: &RulesChange) -> Result<Vec<Rule>, Fault> {
        match change {
            RulesChange::Replace { rules, seen } => {
                if seen.is_some_and(|seen| seen != self.revision) {
                    let why = "somebody else changed the rules meanwhile; look at them again";
                    return Err(Fault::invalid_args(why));
                }
                Ok(rules.clone())
            }
            RulesChange::Add(more) => {
                let new = more.iter().filter(|rule| self.rule(&rule.id).is_none());
                let rules: Vec<Rule> = self.rules.iter().chain(new).cloned().collect();
                match rules.len() > RULES_MAX {
                    true => Err(too_many()),
                    false => Ok(rules),
                }
            }
            RulesChange::Put { rule, seen } => self.put(rule, *seen),
            RulesChange::Remove(id) => {
                self.known(id)?;
                let others = self.rules.iter().filter(|rule| rule.id != *id);
                Ok(others.cloned().collect())
            }
            RulesChange::Enable(id, enabled) => {
                self.known(id)?;
                Ok(self.with(id, *enabled))
            }
            RulesChange::Regret(id, _) => {
                self.known(id)?;
                Ok(self.with(id, Enabled::Off))
            }
        }
    }

    /// The rules with one put in the place of its version `seen`, or new.
    fn put(&self, rule: &Rule, seen: Option<u64>) -> Result<Vec<Rule>, Fault> {
        let current = self.rule(&rule.id);
        if current.map(|other| other.version) != seen {
            return Err(Fault::invalid_args(match current {
                Some(_) if seen.is_none() => {
                    format!("a rule {} exists already; choose another id", rule.id)
                }
                _ => format!(
                    "somebody else changed the rule {} meanwhile; look at it again",
                    rule.id
                ),
            }));
        }
        if current.is_none() && self.rules.len() >= RULES_MAX {
            return Err(too_many());
        }
        let others = self.rules.iter().filter(|other| other.id != rule.id);
        Ok(others.cloned().chain([rule.clone()]).collect())
    }

    /// Gives each rule its version and since when it says what it says; a rule that comes again goes on from its last.
    fn versioned(
        &self,
        rules: &mut [Rule],
        gone: &mut BTreeMap<String, u64>,
        now: Timestamp,
    ) -> RulesChanged {
        let mut done = RulesChanged::default();
        for rule in rules {
            match self.rule(&rule.id) {
                Some(before) if before.says_the_same(rule) => {
                    *rule = before.clone();
                    done.unchanged.push(rule.id.clone());
                }
                Some(before) => {
                    (rule.version, rule.since) = (before.version.saturating_add(1), now);
                    if rule.enabled == Enabled::On && before.enabled != Enabled::On {
                        done.turned_on.push(rule.id.clone());
                    }
                    done.changed.push(rule.id.clone());
                }
                None => {
                    let last = gone.remove(&rule.id).unwrap_or(0);
                    (rule.version, rule.since) = (last.saturating_add(1), now);
                    done.added.push(rule.id.clone());
                }
            }
        }
        done
    }

    /// Refuses a file with an approve that people called wrong and that does not act now: the file is from before
    /// they did. A change of one rule is a person's word on that rule.
    pub(super) fn may_act_again(
        &self,
        after: &Self,
        change: &RulesChange,
    ) -> Result<(), RulesFault> {
        if !matches!(change, RulesChange::Replace { .. } | RulesChange::Add(_)) {
            return Ok(());
        }
        let acts = |rule: &&Rule| rule.effect == Effect::Approve && rule.enabled == Enabled::On;
        let acted = |rule: &Rule| self.rule(&rule.id).as_ref().is_some_and(acts);
        let again: Vec<String> = after
            .rules
            .iter()
            .filter(|rule| acts(rule) && !acted(rule))
            .filter_map(|rule| {
                let last = self.regrets.get(&rule.id)?.last.last()?;
                Some(format!("{} (by {} at {})", rule.id, last.by, last.at))
            })
            .collect();
        match again.is_empty() {
            true => Ok(()),
            false => Err(RulesFault::Regretted(again.join(", "))),
        }
    }

    fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    fn known(&self, id: &str) -> Result<(), Fault> {
        match self.rule(id) {
            Some(_) => Ok(()),
            None => Err(Fault::unknown(format!("rule {id}"), "rules list")),
        }
    }

    /// The rules with one of them on, off or in the shadow.
    fn with(&self, id: &str, enabled: Enabled) -> Vec<Rule> {
        let mut rules = self.rules.clone();
        let named = rules.iter_mut().filter(|rule| rule.id == id);
        named.for_each(|rule| rule.enabled = enabled);
        rules
    }

    /// The set without its rules: their ids stay taken, and their versions go on.
    pub(super) fn emptied(self) -> Self {
        let mut gone = self.gone;
        gone.extend(self.rules.into_iter().map(|rule| (rule.id, rule.version)));
        Self {
            gone,
            revision: self.revision,
            ..Self::default()
        }
    }

    /// Whether an id was ever given out.
    #[must_use]
    pub fn is_taken(&self, id: &str) -> bool {
        self.gone.contains_key(id) || self.rules.iter().any(|rule| rule.id == id)
    }

    pub(super) fn payload(&self, by: &str, at: Timestamp) -> Value {
        let rules: Vec<Value> = self.rules.iter().map(Rule::to_json).collect();
        json!({
            "v": 1, "schema": SCHEMA, "rules": rules, "gone": self.gone,
            "regrets": self.regrets, "by": by, "at": at.rfc3339(),
        })
    }
}
