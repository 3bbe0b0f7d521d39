//! The reasons why a request asks: which rule, which nearly let it pass, which setup key would have.
//!
//! It uses the same evaluation as automatic decisions.

use std::sync::Arc;

use countersign_realm::setup::schema_of;
use countersign_wire::{AgentKey, WorkspaceName, parse_request, request_subject};
use serde::Serialize;
use serde_json::Value;

use super::bypass;
use super::rule_usage::{Amounts, used};
use super::scrutiny::{Code, Finding, findings_of, stops_of};
use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::controls::AutomaticOff;
use crate::policy::commands::why_not;
use crate::policy::evaluate::Instead;
use crate::policy::{
    Asked, By, Conditions, Effect, Evaluation, Matcher, Outcome, PolicySet, Rule, Says, Setting,
    SetupSays, Used, Uses, evaluate,
};
use crate::runtime::App;
use crate::store::request_list::RequestSummary;
use crate::store::{Reader, StoreError, agents, redefined};

/// How often payloads are read for one sum, 4 MiB each time: the rest is reported as unknown.
const READS: usize = 16;

const UNDECLARED: &str = "undeclared";
const UNBOUND: &str = "unbound";

/// A rule in an explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedRule {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its name.
    pub name: String,
    /// What it says of this request.
    pub says: Effect,
    /// Why it asks instead of what it says otherwise.
    pub instead: Option<String>,
}

/// A rule that failed by exactly one matcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Nearly {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its name.
    pub name: String,
    /// What it would have said.
    pub effect: Effect,
    /// The one that failed, such as `risk`, `args./amount` or `critical_risk`.
    pub matcher: String,
    /// Of a command: the part of it that the rule does not allow, in words.
    pub detail: Option<String>,
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
    /// What the set says now.
    pub outcome: Effect,
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
    /// Why a request asks, by the rules in force now; none where there are neither rules nor a setup key.
    pub async fn why(&self, line: &RequestSummary) -> Result<Option<Why>, Fault> {
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
        let in_force = self.policy_in_force(&key.workspace).await?;
        let now = self.now();
        let controls = self.controls().await?;
        let (agent, risk) = (key.agent_key(), parsed.request.effective_risk());
        let trusted = &self.inner.shared.trusted;
        let bypass = bypass::standing(trusted, &controls, (&agent, risk), now);
        let nothing = in_force.set.rules().is_empty() && in_force.replaced.is_none();
        if nothing && named.is_none() && bypass.is_none() {
            return Ok(None);
        }
        let author_may = in_force.may_allow(trusted, &key.workspace, risk);
        let failed = |why: String| Fault::failed(format!("the rules: {why}"));
        let tool_changed_at = redefined::of_request(self.reader(), line.id).await?;
        let approves_off = controls.may_approve(&agent, true).err();
        let judged = Arc::clone(&in_force);
        let (reader, runtime) = (self.reader().clone(), tokio::runtime::Handle::current());
        let workspace = key.workspace.clone();
        let findings = findings_of(line).unwrap_or_default();
        let stops = stops_of(&findings, &parsed.request);
        // What past calls add to a sum is read from their payloads: no other task waits for that.
        let judging = tokio::task::spawn_blocking(move || {
            let asked = Asked {
                tool_changed_at,
                stops: &stops,
                ..Asked::of(&parsed)
            };
            let unstopped = Asked {
                stops: &[],
                ..asked
            };
            let mut uses = Uses::new();
            loop {
                let setting = Setting {
                    now,
                    approves_off,
                    author_may,
                    bypass,
                    uses: &uses,
                    explain: true,
                    conditions: &Conditions::default(),
                };
                let mut found = evaluate(&judged.set, &asked, &setting);
                let free = (!stops.is_empty()).then(|| evaluate(&judged.set, &unstopped, &setting));
                let stopped = matches!(found.outcome, Outcome::Ask { .. })
                    && free
                        .as_ref()
                        .is_some_and(|free| matches!(free.outcome, Outcome::Approve(_)));
                // What the key itself says; `held` says that a finding holds the call.
                if let Some(free) = free {
                    found.setup = free.setup;
                }
                let known = uses.len();
                for place in &found.unknown_uses {
                    let rule = &judged.set.rules()[*place].rule;
                    let used = runtime.block_on(used_so_far(&reader, &workspace, rule, now))?;
                    uses.extend(used.map(|used| (rule.id.clone(), used)));
                }
                if uses.len() == known {
                    let details = details(&judged.set, &found, &asked);
                    return Ok::<_, StoreError>((found, details, stopped));
                }
            }
        });
        let (found, details, stopped) =
            judging.await.map_err(|error| failed(error.to_string()))??;
        let denied = in_force.decides() && matches!(found.outcome, Outcome::Deny(_));
        let mut why = match in_force.replaced.is_some() && !denied {
            true => replaced(&in_force.set, &found),
            false => explanation(&in_force.set, (found, details), named, &agent),
        };
        if stopped {
            why.held = findings.first().map(held_by);
        }
        // Where nobody set or bound anything of an agent, the set knows none of its keys.
        if let Some(setup) = &mut why.setup
            && setup.state == UNDECLARED
            && self.declares(&agent, &setup.key).await?
        {
            setup.state = UNBOUND;
        }
        Ok(Some(why))
    }

    async fn declares(&self, agent: &AgentKey, key: &str) -> Result<bool, Fault> {
        let declared = agents::setup_schemas(self.reader()).await?;
        let own = declared.iter().find(|(of, _)| of == agent);
        let schema = own.and_then(|(_, declared)| schema_of(declared));
        Ok(schema.is_some_and(|schema| schema.field(key).is_some()))
    }
}

/// Why an approve does not count although nothing is paused: the strongest finding.
fn held_by(finding: &Finding) -> String {
    let code = finding.code.as_str();
    match (finding.code, finding.at.as_str()) {
        (Code::DeniedBefore, _) => {
            format!("a person denied a call like this before, so no rule approves it ({code})")
        }
        (own, at) if own.is_own() => format!(
            "a finding at {at} stops it ({code}): only a rule whose pattern there writes the subcommand, the switch or the path approves it"
        ),
        (_, "") => format!("a finding stops it, so a person decides ({code})"),
        (_, at) => format!(
            "a finding at {at} stops it ({code}): only a rule that names {at} in args, command or path approves it"
        ),
    }
}

/// What a rule has approved in its windows; none where too much would have to be read for it.
pub(super) async fn used_so_far(
    reader: &Reader,
    workspace: &WorkspaceName,
    rule: &Rule,
    now: Timestamp,
) -> Result<Option<Used>, StoreError> {
    let (workspace, rule) = (workspace.clone(), rule.clone());
    let read = reader.direct(move |sqlite| {
        let amounts = Amounts::default();
        for _ in 0..READS {
            amounts.begin();
            let counted = used((sqlite, now), &amounts, workspace.as_ref(), &rule)?;
            if !counted.reads_on {
                return Ok::<_, StoreError>(Some(counted.used));
            }
        }
        Ok(None)
    });
    read.await
}

/// What becomes of a request while the value in the place of the rules does not count: people are asked, as many as the
/// last good ones wanted.
fn replaced(set: &PolicySet, found: &Evaluation) -> Why {
    let (approvals, place) = found.most_asked();
    let rule = place.and_then(|place| set.rules().get(place));
    Why {
        policy_digest: set.digest().to_string(),
        outcome: Effect::Ask,
        rule: rule.map(|of| of.rule.id.clone()),
        approvals,
        held: Some(AutomaticOff::RulesUnreadable.to_string()),
        matched: Vec::new(),
        near_misses: Vec::new(),
        setup: None,
    }
}

/// Of each near miss the part of its command that the rule does not allow.
fn details(set: &PolicySet, found: &Evaluation, asked: &Asked<'_>) -> Vec<Option<String>> {
    let near = found.near.iter().map(|near| match near.matcher {
        Matcher::Command(place) => {
            let rule = &set.rules().get(near.rule)?.rule;
            why_not(rule, place, (asked.args?, asked.native))
        }
        _ => None,
    });
    near.collect()
}

fn explanation(
    set: &PolicySet,
    (found, details): (Evaluation, Vec<Option<String>>),
    named: Option<String>,
    agent: &AgentKey,
) -> Why {
    let rules = set.rules();
    let id = |place: usize| rules.get(place).map(|of| of.rule.id.clone());
    let outcome = found.outcome.effect();
    let (rule, approvals, held) = match found.outcome {
        Outcome::Approve(By::Rule(place)) | Outcome::Deny(place) => (id(place), 1, None),
        Outcome::Approve(By::SetupKey) => (named.clone(), 1, None),
        Outcome::Approve(By::Bypass) => (Some(bypass::rule_id(agent)), 1, None),
        Outcome::Ask {
            rule,
            approvals,
            held,
        } => (rule.and_then(id), approvals, held),
    };
    let matched = found.matched.iter().filter_map(|(place, says)| {
        let rule = &rules.get(*place)?.rule;
        let instead = match says {
            Says::Ask { instead, .. } => instead.as_ref().map(reason),
            Says::Approve | Says::Deny => None,
        };
        let (id, name) = (rule.id.clone(), rule.name.clone());
        Some(NamedRule {
            id,
            version: rule.version,
            name,
            says: says.effect(),
            instead,
        })
    });
    let near = found.near.iter().zip(details).filter_map(|(near, detail)| {
        let rule = &rules.get(near.rule)?.rule;
        Some(Nearly {
            id: rule.id.clone(),
            version: rule.version,
            name: rule.name.clone(),
            effect: rule.effect,
            matcher: near.matcher.word(rule),
            detail,
        })
    });
    let mut near: Vec<Nearly> = near.collect();
    // A rule for one tool alone nearly matches every other call of every agent: it explains least.
    near.sort_by_key(|near| ["tool", "agent"].contains(&near.matcher.as_str()));
    let setup = found.setup.zip(named).map(|(says, key)| {
        let (state, value, skips_when) = match says {
            SetupSays::Undeclared => (UNDECLARED, None, None),
            SetupSays::Unbound => (UNBOUND, None, None),
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
        Instead::Limit => "it has reached its limit of approvals".to_owned(),
        Instead::Sum => "it has reached its limit on the amount".to_owned(),
        Instead::Trouble(trouble) => trouble.to_string(),
    }
}
