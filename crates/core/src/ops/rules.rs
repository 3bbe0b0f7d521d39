//! Changes a workspace's rules.
//!
//! Refuses to write over what it has not seen, and to give an old version to other words.

mod signed;

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_wire::{PolicyKey, Risk, WorkspaceName};
use serde_json::{Value, json};

pub use self::signed::Shift;
use super::regrets::{Regret, Regrets};
use crate::domain::Timestamp;
use crate::error::OpError;
use crate::policy::read::{RULES_MAX, SCHEMA, read_set};
use crate::policy::{Enabled, Rule};
use crate::runtime::App;
use crate::store::{policy, rule_uses};

const TRIES: u32 = 10;

/// The rules of a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleSet {
    /// Revision in the shared policy; 0 when there are none.
    pub revision: u64,
    /// By id.
    pub rules: Vec<Rule>,
    /// Ids of rules that are gone, with their last version: none is given out again.
    gone: BTreeMap<String, u64>,
    /// Decisions of a rule that people called wrong, by its id.
    pub regrets: BTreeMap<String, Regrets>,
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

/// What a rule did so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleRecord {
    /// Requests that it decided.
    pub uses: u64,
    /// The last one.
    pub last_used: Option<Timestamp>,
    /// Requests that it would have decided in the shadow.
    pub shadows: u64,
    /// Why it could not be read for sure the last time.
    pub last_error: Option<String>,
}

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

fn read(payload: &[u8], revision: u64) -> Result<RuleSet, OpError> {
    let unreadable = |why: String| {
        OpError::InvalidArgs(format!(
            "the rules on the bus cannot be read ({why}); replace them with `countersign rules apply FILE`"
        ))
    };
    let mut value: Value =
        serde_json::from_slice(payload).map_err(|error| unreadable(error.to_string()))?;
    let gone = value.as_object_mut().and_then(|map| map.remove("gone"));
    let gone = serde_json::from_value(gone.unwrap_or_else(|| json!({})));
    let regrets = value.as_object_mut().and_then(|map| map.remove("regrets"));
    let regrets = serde_json::from_value(regrets.unwrap_or_else(|| json!({})));
    let mut rules = read_set(&value, "rules").map_err(|problems| {
        let first = problems.first();
        unreadable(first.map_or(String::new(), |of| {
            format!("{}: {}", of.place(), of.message)
        }))
    })?;
    rules.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(RuleSet {
        revision,
        rules,
        gone: gone.unwrap_or_default(),
        regrets: regrets.unwrap_or_default(),
    })
}

impl RuleSet {
    /// The set after a change, and what that did.
    ///
    /// # Errors
    /// [`OpError::NotFound`], [`OpError::InvalidArgs`].
    fn after(&self, change: &RulesChange, now: Timestamp) -> Result<(Self, RulesChanged), OpError> {
        let known = |id: &String| match self.rules.iter().any(|rule| rule.id == *id) {
            true => Ok(()),
            false => Err(OpError::Unknown {
                what: format!("rule {id}"),
                see: "rules list",
            }),
        };
        let mut rules = match change {
            RulesChange::Replace { rules, seen } => {
                if seen.is_some_and(|seen| seen != self.revision) {
                    let why = "somebody else changed the rules meanwhile; look at them again";
                    return Err(OpError::InvalidArgs(why.to_owned()));
                }
                rules.clone()
            }
            RulesChange::Add(more) => {
                let new = more.iter().filter(|rule| known(&rule.id).is_err());
                let rules: Vec<Rule> = self.rules.iter().chain(new).cloned().collect();
                if rules.len() > RULES_MAX {
                    let why = format!("a workspace has at most {RULES_MAX} rules");
                    return Err(OpError::InvalidArgs(why));
                }
                rules
            }
            RulesChange::Put { rule, seen } => {
                let stands = self.rules.iter().find(|other| other.id == rule.id);
                if stands.map(|other| other.version) != *seen {
                    return Err(OpError::InvalidArgs(match stands {
                        Some(_) if seen.is_none() => {
                            format!("there is a rule {} already; choose another id", rule.id)
                        }
                        _ => format!(
                            "somebody else changed the rule {} meanwhile; look at it again",
                            rule.id
                        ),
                    }));
                }
                if stands.is_none() && self.rules.len() >= RULES_MAX {
                    let why = format!("a workspace has at most {RULES_MAX} rules");
                    return Err(OpError::InvalidArgs(why));
                }
                let others = self.rules.iter().filter(|other| other.id != rule.id);
                others.cloned().chain([(**rule).clone()]).collect()
            }
            RulesChange::Remove(id) => {
                known(id)?;
                self.rules
                    .iter()
                    .filter(|rule| rule.id != *id)
                    .cloned()
                    .collect()
            }
            RulesChange::Enable(id, enabled) => {
                known(id)?;
                self.with(id, *enabled)
            }
            RulesChange::Regret(id, _) => {
                known(id)?;
                self.with(id, Enabled::Off)
            }
        };
        let mut regrets = self.regrets.clone();
        if let RulesChange::Regret(id, regret) = change {
            regrets.entry(id.clone()).or_default().add(regret.clone());
        }
        let mut done = RulesChanged::default();
        let mut gone = self.gone.clone();
        for rule in &mut rules {
            let before = self.rules.iter().find(|other| other.id == rule.id);
            match before {
                Some(before) if before.says_the_same(rule) => {
                    *rule = before.clone();
                    done.unchanged.push(rule.id.clone());
                }
                Some(before) => {
                    (rule.version, rule.since) = (before.version.saturating_add(1), now);
                    done.changed.push(rule.id.clone());
                }
                None => {
                    let last = gone.remove(&rule.id).unwrap_or(0);
                    (rule.version, rule.since) = (last.saturating_add(1), now);
                    done.added.push(rule.id.clone());
                }
            }
        }
        for before in &self.rules {
            if !rules.iter().any(|rule| rule.id == before.id) {
                gone.insert(before.id.clone(), before.version);
                done.removed.push(before.id.clone());
            }
        }
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        regrets.retain(|id, _| rules.iter().any(|rule| rule.id == *id));
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

    /// The rules with one of them on, off or in the shadow.
    fn with(&self, id: &str, enabled: Enabled) -> Vec<Rule> {
        let mut rules = self.rules.clone();
        let named = rules.iter_mut().filter(|rule| rule.id == id);
        named.for_each(|rule| rule.enabled = enabled);
        rules
    }

    /// Whether an id was ever given out.
    #[must_use]
    pub fn is_taken(&self, id: &str) -> bool {
        self.gone.contains_key(id) || self.rules.iter().any(|rule| rule.id == id)
    }

    fn payload(&self, by: &str, at: Timestamp) -> Value {
        let rules: Vec<Value> = self.rules.iter().map(Rule::to_json).collect();
        json!({
            "v": 1, "schema": SCHEMA, "rules": rules, "gone": self.gone,
            "regrets": self.regrets, "by": by, "at": at.rfc3339(),
        })
    }
}

pub(super) fn record(row: rule_uses::RuleRecord) -> RuleRecord {
    RuleRecord {
        uses: u64::try_from(row.uses).unwrap_or(0),
        last_used: row.last_used.map(Timestamp),
        shadows: u64::try_from(row.shadows).unwrap_or(0),
        last_error: row.last_error,
    }
}

impl App {
    /// The rules of a workspace as this folder's console knows them.
    ///
    /// # Errors
    /// [`OpError::Store`]; [`OpError::InvalidArgs`] for a set that cannot be read.
    pub async fn rules(&self, workspace: &WorkspaceName) -> Result<RuleSet, OpError> {
        let key = PolicyKey::Rules(workspace.clone()).to_string();
        match policy::get(self.reader(), &key).await? {
            None => Ok(RuleSet::default()),
            Some(row) => read(&row.payload, u64::try_from(row.revision).unwrap_or(0)),
        }
    }

    /// What a rule did so far.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn rule_record(
        &self,
        workspace: &WorkspaceName,
        id: &str,
    ) -> Result<RuleRecord, OpError> {
        let row = rule_uses::record_of(self.reader(), workspace.as_ref(), id).await?;
        Ok(record(row))
    }

    /// The words of a rule set by the digest that a decision of this console named: canonical JSON.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn policy_version(&self, digest: &str) -> Result<Option<Vec<u8>>, OpError> {
        Ok(rule_uses::version(self.reader(), digest).await?)
    }

    /// Changes the rules of a workspace. It stands on the bus when this returns; what others changed
    /// meanwhile is kept, or the change is made anew on top of it.
    ///
    /// # Errors
    /// [`OpError::NotFound`], [`OpError::InvalidArgs`], [`OpError::BusUnreachable`],
    /// [`OpError::ReadOnly`]; [`OpError::VerdictNotAllowed`] where it would change what other rules
    /// approve ([`Shift`]). Nothing is changed then.
    pub async fn change_rules(
        &self,
        workspace: &WorkspaceName,
        change: &RulesChange,
    ) -> Result<RulesChanged, OpError> {
        self.change_rules_signing(workspace, change, Signing::Careful)
            .await
    }

    /// As [`App::change_rules`], and says what may happen to rules that are left as they are. A regret is
    /// never refused for that: what is wrong must be off.
    ///
    /// # Errors
    /// As [`App::change_rules`].
    pub async fn change_rules_signing(
        &self,
        workspace: &WorkspaceName,
        change: &RulesChange,
        signing: Signing,
    ) -> Result<RulesChanged, OpError> {
        let key = PolicyKey::Rules(workspace.clone());
        for attempt in 0..TRIES {
            let stands = self.policy_stands(&key).await?;
            let revision = stands.revision;
            let before = match (&stands.payload, change) {
                (Some(payload), RulesChange::Replace { .. }) => {
                    read(payload, revision).unwrap_or(RuleSet {
                        revision,
                        ..RuleSet::default()
                    })
                }
                (Some(payload), _) => read(payload, revision)?,
                (None, _) => RuleSet {
                    revision,
                    ..RuleSet::default()
                },
            };
            let now = self.now();
            let (after, mut done) = before.after(change, now)?;
            if after == before && revision > 0 {
                done.revision = revision;
                return Ok(done);
            }
            done.shift = self.shift(workspace, (&before, &stands.author), &after, now);
            let refuses = signing == Signing::Careful && !matches!(change, RulesChange::Regret(..));
            if refuses && !done.shift.is_empty() {
                return Err(OpError::VerdictNotAllowed(done.shift.words()));
            }
            let payload = after.payload(&self.identity().operator, now);
            if let Some(revision) = self.put_policy(&key, revision, &payload).await? {
                done.revision = revision;
                return Ok(done);
            }
            tokio::time::sleep(Duration::from_millis(20 << attempt.min(5))).await;
        }
        let why = "others change the rules all the time; try again";
        Err(OpError::BusUnreachable(why.to_owned()))
    }
}

impl App {
    fn shift(
        &self,
        workspace: &WorkspaceName,
        (before, author): (&RuleSet, &Option<(String, Timestamp)>),
        after: &RuleSet,
        now: Timestamp,
    ) -> Shift {
        let Some((signer, at)) = author else {
            return Shift::default();
        };
        let trusted = &self.inner.shared.trusted;
        let own = self.identity().human_key();
        signed::shift(
            &before.rules,
            &after.rules,
            |risk: Risk| trusted.may_allow(signer, *at, workspace, risk),
            |risk: Risk| trusted.may_allow(own.as_str(), now, workspace, risk),
        )
    }
}

#[cfg(test)]
mod tests;
