//! Why a request asks: which rule, which nearly let it pass, which setup key would have.
//!
//! Refuses to judge in another way than the console that decides.

use std::sync::Arc;

use countersign_wire::{AgentKey, parse_request, request_subject};
use serde::Serialize;
use serde_json::Value;

use super::bypass;
use super::used::added;
use crate::domain::brakes::Braked;
use crate::error::OpError;
use crate::policy::evaluate::Instead;
use crate::policy::{
    Asked, By, Conditions, Evaluation, Matcher, Outcome, PolicySet, Says, Setting, SetupSays, Used,
    Uses, evaluate,
};
use crate::runtime::App;
use crate::store::lines::LineRow;
use crate::store::{redefined, rule_uses};

/// A rule in an explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedRule {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its name.
    pub name: String,
    /// What it says of this request: `approve`, `ask`, `deny`.
    pub says: &'static str,
    /// Why it asks instead of what it says otherwise.
    pub instead: Option<String>,
}

/// A rule of which exactly one matcher failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Nearly {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its name.
    pub name: String,
    /// What it would have said.
    pub effect: &'static str,
    /// The one that failed, such as `risk`, `args./amount` or `critical_risk`.
    pub matcher: String,
}

/// What the setup says about the key that the request names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetupReason {
    /// The key.
    pub key: String,
    /// `undeclared`, `unbound`, `differs`, `redeclared`, `not_covered` or `passes`.
    pub state: &'static str,
    /// Its value.
    pub value: Option<Value>,
    /// The value that would have spared the question.
    pub skips_when: Option<Value>,
}

/// Why a request asks, by the rules in force now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// Digest of the set in force now; where that cannot be read, of the last one that could.
    pub policy_digest: String,
    /// `approve`, `ask` or `deny`: what the set says now.
    pub outcome: &'static str,
    /// The rule that says so; none when nothing matched.
    pub rule: Option<String>,
    /// How many operators it asks for.
    pub approvals: u8,
    /// Why an approve does not count now.
    pub held: Option<String>,
    /// Every rule that matches.
    pub matched: Vec<NamedRule>,
    /// Every rule that nearly did; those that name another tool or agent last.
    pub near_misses: Vec<Nearly>,
    /// What the setup says, where the request names a key.
    pub setup: Option<SetupReason>,
}

impl App {
    /// Why a request asks, by the rules in force now; none where there are neither rules nor a setup key
    /// to tell of.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn why(&self, line: &LineRow) -> Result<Option<Why>, OpError> {
        let Some(key) = line.key() else {
            return Ok(None);
        };
        let Ok(parsed) = parse_request(&request_subject(&key), &line.raw) else {
            return Ok(None);
        };
        let named = parsed
            .request
            .confirm
            .as_ref()
            .and_then(|of| of.setup_key.clone());
        let named = named.filter(|key| !key.is_empty());
        let in_force = self.judged_by(&key.workspace).await?;
        let now = self.now();
        let brakes = self.brakes().await?;
        let (agent, risk) = (key.agent_key(), parsed.request.effective_risk());
        let trusted = &self.inner.shared.trusted;
        let bypass = bypass::standing(trusted, &brakes, (&agent, risk), now);
        let nothing = in_force.set.rules().is_empty() && !in_force.broken;
        if nothing && named.is_none() && bypass.is_none() {
            return Ok(None);
        }
        let author_may = in_force.may_allow(trusted, &key.workspace, risk);
        let failed = |why: String| OpError::Failed(format!("the rules: {why}"));
        let mut uses = Uses::new();
        for of in in_force.set.rules() {
            let rule = &of.rule;
            if rule.limit.is_none() && rule.sum.is_none() {
                continue;
            }
            let since = |per_ms: i64| now.plus_ms(-per_ms);
            let count_since = rule.limit.map_or(now, |limit| since(limit.per_ms));
            let sum = rule.sum.clone();
            let sum_since = sum.as_ref().map_or(now, |sum| since(sum.per_ms));
            let add = |raw: Vec<u8>| {
                let pointer = sum.as_ref().map_or("", |sum| sum.pointer.as_str());
                added(&raw, pointer)
            };
            let of = (key.workspace.as_ref(), rule.id.as_str());
            let used = rule_uses::used(self.reader(), of, (count_since, sum_since), add).await?;
            uses.insert(
                rule.id.clone(),
                Used {
                    count: used.0,
                    sum: used.1,
                },
            );
        }
        let tool_changed_at = redefined::of_request(self.reader(), line.id).await?;
        let approves_off = brakes.may_approve(&agent, true).err();
        let judged = Arc::clone(&in_force);
        let judging = tokio::task::spawn_blocking(move || {
            let setting = Setting {
                now,
                approves_off,
                author_may,
                bypass,
                uses: &uses,
                explain: true,
                conditions: &Conditions::default(),
            };
            let asked = Asked {
                tool_changed_at,
                ..Asked::of(&parsed)
            };
            evaluate(&judged.set, &asked, &setting)
        });
        let found = judging.await.map_err(|error| failed(error.to_string()))?;
        Ok(Some(match in_force.broken {
            true => unreadable(&in_force.set, &found),
            false => told(&in_force.set, found, named, &agent),
        }))
    }
}

/// What becomes of a request while the rules cannot be read: people are asked, as many as the last good ones
/// wanted.
fn unreadable(set: &PolicySet, found: &Evaluation) -> Why {
    let (approvals, place) = found.most_asked();
    let rule = place.and_then(|place| set.rules().get(place));
    Why {
        policy_digest: set.digest().to_string(),
        outcome: "ask",
        rule: rule.map(|of| of.rule.id.clone()),
        approvals,
        held: Some(Braked::RulesUnreadable.to_string()),
        matched: Vec::new(),
        near_misses: Vec::new(),
        setup: None,
    }
}

fn told(set: &PolicySet, found: Evaluation, named: Option<String>, agent: &AgentKey) -> Why {
    let rules = set.rules();
    let id = |place: usize| rules.get(place).map(|of| of.rule.id.clone());
    let (outcome, rule, approvals, held) = match found.outcome {
        Outcome::Approve(By::Rule(place)) => ("approve", id(place), 1, None),
        Outcome::Approve(By::SetupKey) => ("approve", named.clone(), 1, None),
        Outcome::Approve(By::Bypass) => ("approve", Some(bypass::rule_id(agent)), 1, None),
        Outcome::Deny(place) => ("deny", id(place), 1, None),
        Outcome::Ask {
            rule,
            approvals,
            held,
        } => ("ask", rule.and_then(id), approvals, held),
    };
    let matched = found.matched.iter().filter_map(|(place, says)| {
        let rule = &rules.get(*place)?.rule;
        let (says, instead) = match says {
            Says::Approve => ("approve", None),
            Says::Deny => ("deny", None),
            Says::Ask { instead, .. } => ("ask", instead.as_ref().map(reason)),
        };
        let (id, name) = (rule.id.clone(), rule.name.clone());
        Some(NamedRule {
            id,
            version: rule.version,
            name,
            says,
            instead,
        })
    });
    let near = found.near.iter().filter_map(|near| {
        let rule = &rules.get(near.rule)?.rule;
        Some(Nearly {
            id: rule.id.clone(),
            version: rule.version,
            name: rule.name.clone(),
            effect: rule.effect.as_str(),
            matcher: near.matcher.word(rule),
        })
    });
    let mut near: Vec<Nearly> = near.collect();
    // A rule for one tool alone is nearly meant by every other call of every agent: that tells least.
    near.sort_by_key(|near| ["tool", "agent"].contains(&near.matcher.as_str()));
    let setup = found.setup.zip(named).map(|(says, key)| {
        let (state, value, skips_when) = match says {
            SetupSays::Undeclared => ("undeclared", None, None),
            SetupSays::Unbound => ("unbound", None, None),
            SetupSays::Differs { value, skips_when } => ("differs", Some(value), Some(skips_when)),
            SetupSays::NotCovered(Matcher::SetupChanged) => ("redeclared", None, None),
            SetupSays::NotCovered(_) => ("not_covered", None, None),
            SetupSays::Passes { value, .. } => ("passes", Some(value), None),
        };
        SetupReason {
            key,
            state,
            value,
            skips_when,
        }
    });
    Why {
        policy_digest: set.digest().to_string(),
        outcome,
        rule,
        approvals,
        held: held.map(|held| held.to_string()),
        matched: matched.collect(),
        near_misses: near,
        setup,
    }
}

fn reason(instead: &Instead) -> String {
    match instead {
        Instead::Limit => "it has approved as often as it may".to_owned(),
        Instead::Sum => "it has approved as much as it may".to_owned(),
        Instead::Trouble(trouble) => trouble.to_string(),
    }
}
