//! What bypasses and setup keys let run, and whether every automatic approval is in the audit logs.

use countersign_wire::{
    AgentKey, ApprovalDecision, Origin, ParsedRequest, RequestKey, Risk, RuleRef, decision_subject,
    parse_decision, parse_request, request_subject,
};
use serde_json::Value;
use time::{Duration, OffsetDateTime};

use super::Check;
use super::automatic::{ESTIMATE, ON_ITS_WAY, UNHEARD};
use super::stream::Judged;
use crate::agent::PAY;
use crate::facts::{Facts, Stored};
use crate::grants::{Bypass, Found, Version, find};

/// The longest bypass (rules, "Controls").
const LONGEST: Duration = Duration::hours(8);
/// What an agent's key says where nobody chose a value.
pub(crate) const DEFAULT: Value = Value::Bool(true);

/// An approval that no person gave.
struct Automatic<'a> {
    name: &'a str,
    agent: AgentKey,
    decision: ApprovalDecision,
    by: RuleRef,
    request: ParsedRequest,
    stored_at: OffsetDateTime,
}

impl Automatic<'_> {
    fn is_by_bypass(&self) -> bool {
        self.decision.origin == Origin::Rule && self.by.id == format!("bypass.{}", self.dotted())
    }

    fn dotted(&self) -> String {
        self.agent.to_string().replace('/', ".")
    }

    fn made_at(&self) -> OffsetDateTime {
        self.decision.decided_at.get()
    }

    /// Whether it was made while this version was in force, as far as its console can have known.
    fn was_made_in(&self, since: OffsetDateTime, until: Option<OffsetDateTime>) -> bool {
        let made_at = self.made_at();
        made_at >= since - ESTIMATE && until.is_none_or(|until| made_at < until + UNHEARD)
    }

    /// What asks whatever spares other calls; critical ones, unless somebody said that they are spared too.
    fn asks_always(&self, spares_critical: bool) -> Option<&'static str> {
        let tool = self.request.request.tool.as_ref();
        if tool.is_some_and(|tool| tool.name == PAY) {
            return Some("a rule asks for this tool");
        }
        if self.request.request.effective_risk() == Risk::Critical && !spares_critical {
            return Some("it is critical");
        }
        (self.request.request.approvals_required() > 1).then_some("several operators must agree")
    }
}

fn all<'a>(facts: &'a Facts, judged: impl Fn(&str) -> Option<&'a Judged>) -> Vec<Automatic<'a>> {
    let lets_run = |name: &str| judged(name).is_some_and(Judged::lets_run);
    let decisions = facts.streams.decisions.iter();
    let decisions = decisions.filter(|(name, _)| lets_run(name));
    decisions
        .filter_map(|(name, stored)| automatic(name, stored, facts.streams.requests.get(name)?))
        .collect()
}

fn automatic<'a>(name: &'a str, stored: &Stored, request: &Stored) -> Option<Automatic<'a>> {
    let key: RequestKey = name.parse().ok()?;
    let decision = parse_decision(&decision_subject(&key), &stored.payload).ok()?;
    if !matches!(decision.origin, Origin::Rule | Origin::SetupKey) {
        return None;
    }
    Some(Automatic {
        name,
        agent: key.agent_key(),
        by: decision.rule.clone()?,
        decision,
        request: parse_request(&request_subject(&key), &request.payload).ok()?,
        stored_at: stored.stamp,
    })
}

/// A bypass approves only while it is in force, up to its risk, and nothing that asks all the same.
pub(crate) fn bypasses_keep_their_limits<'a>(
    facts: &'a Facts,
    judged: impl Fn(&str) -> Option<&'a Judged>,
) -> Check {
    let mut check = Check::new("no bypass approved outside of its window or its limits");
    for one in all(facts, judged).iter().filter(|one| one.is_by_bypass()) {
        let found = find(&facts.streams.grants.bypasses, &one.agent, one.by.version);
        let why = match found {
            Found::Forgotten => continue,
            Found::Never => Some("there was no such bypass"),
            Found::Stood(bypass, next) => beyond_bypass(one, bypass, next),
        };
        check.look(why.is_none(), || {
            let (made, stored) = (one.made_at(), one.stored_at);
            let (id, revision) = (&one.by.id, one.by.version);
            format!(
                "{}: approved at {made}, stored at {stored}, by {id} of revision {revision}: {}",
                one.name,
                why.unwrap_or_default()
            )
        });
    }
    check
}

fn beyond_bypass(
    one: &Automatic<'_>,
    bypass: &Version<Bypass>,
    next: Option<OffsetDateTime>,
) -> Option<&'static str> {
    let Some((up_to, until)) = bypass.value.grant else {
        return Some("that is its end");
    };
    let until = until.min(bypass.at + LONGEST);
    let over = next.map_or(until, |next| next.min(until));
    if one.request.request.effective_risk() > up_to {
        Some("the risk is higher")
    } else if !one.was_made_in(bypass.at, next) || one.made_at() >= until + ESTIMATE {
        Some("it was made outside of the window")
    } else if one.stored_at >= over + ON_ITS_WAY {
        Some("it was stored long after the window")
    } else {
        one.asks_always(false)
    }
}

/// A setup key approves only with the value that its binding names, at the revision in the decision.
pub(crate) fn setup_keys_are_bound<'a>(
    facts: &'a Facts,
    judged: impl Fn(&str) -> Option<&'a Judged>,
) -> Check {
    let mut check = Check::new("setup keys approved only what their bindings let pass");
    let by_key = |one: &&Automatic<'_>| one.decision.origin == Origin::SetupKey;
    for one in all(facts, judged).iter().filter(by_key) {
        let found = find(&facts.streams.grants.setups, &one.agent, one.by.version);
        let why = match found {
            Found::Forgotten => continue,
            Found::Never => Some("there was no such revision"),
            Found::Stood(setup, next) => beyond_key(one, setup, next),
        };
        check.look(why.is_none(), || {
            let (id, revision) = (&one.by.id, one.by.version);
            let made = one.made_at();
            format!(
                "{}: approved at {made} by {id} of revision {revision}: {}",
                one.name,
                why.unwrap_or_default()
            )
        });
    }
    check
}

fn beyond_key(
    one: &Automatic<'_>,
    setup: &Version<Value>,
    next: Option<OffsetDateTime>,
) -> Option<&'static str> {
    let key = &one.by.id;
    let named = one.request.request.confirm.as_ref();
    let named = named.and_then(|confirm| confirm.setup_key.as_ref());
    let value = &setup.value["values"][key]["value"];
    let value = if value.is_null() { &DEFAULT } else { value };
    let binding = &setup.value["bindings"][key];
    if named != Some(key) {
        Some("the request names another key")
    } else if binding.is_null() {
        Some("the key is not bound")
    } else if binding["skips_when"] != *value {
        Some("the key asks with this value")
    } else if !one.was_made_in(setup.at, next) {
        Some("another revision stood")
    } else {
        one.asks_always(binding["critical"] == true)
    }
}

/// Who made it wrote it down before it was sent, and every console once it was stored.
pub(crate) fn are_audited<'a>(
    facts: &'a Facts,
    judged: impl Fn(&str) -> Option<&'a Judged>,
) -> Check {
    let mut check = Check::new("every automatic approval is in the audit logs");
    for one in all(facts, judged) {
        let id = one.decision.decision_id.to_string();
        let entry = |action: &str| (action.to_owned(), one.name.to_owned(), id.clone());
        let made = facts.consoles.iter().filter(|console| {
            let rows = &console.rows.audited;
            rows.contains(&entry("decide")) && !rows.contains(&entry("taken_back"))
        });
        let made = made.count();
        check.look(made == 1, || {
            format!(
                "{}: {made} consoles wrote down that they made {id}",
                one.name
            )
        });
        for console in &facts.consoles {
            let reported = console.rows.audited.contains(&entry("decision"));
            check.look(reported, || {
                format!("{}: {} did not write down {id}", one.name, console.name)
            });
        }
    }
    check
}
