//! The one function that judges a request: live, in a simulation, and to explain why.
//!
//! Refuses to let an approve reach what no rule may approve, and to let an order of rules matter:
//! the strongest match wins.

mod found;
mod probe;

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_wire::{
    Effective, KeptJson, ParsedRequest, RequestKind, Risk, Sha256Digest, Verdict, args_digest,
};
use serde_json::Value;

use self::probe::{Cover, Probe, probe};
use super::arguments::same;
use super::conditions::{Conditions, Facts, STEPS_MAX};
use super::effective::args_that_run;
use super::rule::{Effect, Enabled, Rule};
use super::set::{PolicySet, Prepared, SetupInForce};
use crate::domain::Timestamp;
use crate::domain::controls::AutomaticOff;

pub use self::found::{
    By, Evaluation, Instead, Matcher, NearMiss, Outcome, Says, SetupSays, Trouble,
};

/// A finding for which nothing approves a call automatically, but for a rule that names its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// JSON pointer into the arguments; empty for the whole call.
    pub at: String,
    /// No rule approves it, whatever it names.
    pub always: bool,
    /// What the rule's pattern at this place must write; empty where it is enough to name the place.
    pub written: Vec<String>,
}

/// What a request says, as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The agent's name, from the subject.
    pub agent: &'a str,
    /// What is asked.
    pub kind: RequestKind,
    /// The tool's name.
    pub tool: Option<&'a str>,
    /// Where the tool comes from.
    pub origin: Option<&'a str>,
    /// The agent's framework.
    pub framework: Option<&'a str>,
    /// The active skill.
    pub skill: Option<&'a str>,
    /// The tools that the active skill may call.
    pub skill_tools: Option<&'a [String]>,
    /// The agent's thread.
    pub thread_id: Option<&'a str>,
    /// The agent's run.
    pub run_id: Option<&'a str>,
    /// The arguments at the gate.
    pub args: Option<&'a Value>,
    /// Their digest.
    pub args_digest: Option<&'a Sha256Digest>,
    /// What the framework changes after the gate: rules look at the arguments that run too.
    pub effective: Option<&'a Effective>,
    /// What the framework says of the call itself: where it runs (`cwd`, `home`).
    pub native: Option<&'a KeptJson>,
    /// The effective risk.
    pub risk: Risk,
    /// Whether the agent takes an approval.
    pub takes_approval: bool,
    /// How many operators must agree.
    pub approvals_required: u8,
    /// The setup key that could spare the question.
    pub setup_key: Option<&'a str>,
    /// When the tool's definition changed; none when it never did.
    pub tool_changed_at: Option<Timestamp>,
    /// What the console found in it that weighs `stop`.
    pub stops: &'a [Stop],
}

impl<'a> Asked<'a> {
    /// A call that is made up: nothing is known but this.
    #[must_use]
    pub fn bare(agent: &'a str, tool: &'a str, args: Option<&'a Value>) -> Self {
        Self {
            agent,
            kind: RequestKind::ToolCall,
            tool: Some(tool),
            origin: None,
            framework: None,
            skill: None,
            skill_tools: None,
            thread_id: None,
            run_id: None,
            args,
            args_digest: None,
            effective: None,
            native: None,
            risk: Risk::Low,
            takes_approval: true,
            approvals_required: 1,
            setup_key: None,
            tool_changed_at: None,
            stops: &[],
        }
    }

    /// What a request says.
    #[must_use]
    pub fn of(parsed: &'a ParsedRequest) -> Self {
        let request = &parsed.request;
        let tool = request.tool.as_ref();
        let skill = request.skill.as_ref();
        Self {
            agent: parsed.key.agent.as_ref(),
            kind: request.kind,
            tool: tool.map(|tool| tool.name.as_str()),
            origin: tool.and_then(|tool| tool.origin.as_deref()),
            framework: request.agent.framework.as_deref(),
            skill: skill.and_then(|skill| skill.name.as_deref()),
            skill_tools: skill.and_then(|skill| skill.allowed_tools.as_deref()),
            thread_id: request.thread_id.as_deref(),
            run_id: request.run_id.as_deref(),
            args: request.args.as_ref(),
            args_digest: parsed.args_digest.as_ref(),
            effective: request.effective.as_ref(),
            native: request.native.as_ref(),
            risk: request.effective_risk(),
            takes_approval: request.allowed().contains(Verdict::Approve),
            approvals_required: request.approvals_required(),
            setup_key: request
                .confirm
                .as_ref()
                .and_then(|confirm| confirm.setup_key.as_deref()),
            tool_changed_at: None,
            stops: &[],
        }
    }
}

/// What a limited rule has approved in its windows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    /// Calls in the window of `limit`.
    pub count: u64,
    /// The amounts in the window of `sum`.
    pub sum: f64,
}

/// By rule id.
pub type Uses = BTreeMap<String, Used>;

/// A bypass of the agent that is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InBypass {
    /// The highest risk that it covers.
    pub up_to: Risk,
    /// When it was set: a tool that changed later is not covered.
    pub since: Timestamp,
}

/// What else counts.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The server's time.
    pub now: Timestamp,
    /// Why no approve counts.
    pub approves_off: Option<AutomaticOff>,
    /// Whether who signed the set may let such a request run.
    pub author_may: bool,
    /// The agent's bypass that is not over, of a signer who may let such a request run.
    pub bypass: Option<InBypass>,
    /// What limited rules have approved.
    pub uses: &'a Uses,
    /// Whether near misses are wanted; the outcome is the same.
    pub explain: bool,
    /// Where conditions run.
    pub conditions: &'a Conditions,
}

/// Judges one request.
#[must_use]
pub fn evaluate(policy: &PolicySet, asked: &Asked<'_>, setting: &Setting<'_>) -> Evaluation {
    let run = args_that_run(asked.args, asked.effective);
    let cover = Cover::of(asked, setting, run.as_ref());
    let rules = policy.rules();
    let mut left = STEPS_MAX;
    let mut probes = look(policy, &cover, &mut left);
    if let Some(args) = &run {
        let digest = args_digest(args).ok().filter(|_| !args.is_null());
        let changed = Asked {
            args: Some(args),
            args_digest: digest.as_ref(),
            ..*asked
        };
        let cover = Cover::of(&changed, setting, None);
        probes = both(policy, probes, look(policy, &cover, &mut left));
    }
    let mut found = Evaluation {
        outcome: Outcome::Ask {
            rule: None,
            approvals: 1,
            held: None,
        },
        matched: Vec::new(),
        shadows: Vec::new(),
        near: Vec::new(),
        troubles: Vec::new(),
        setup: None,
        unknown_uses: Vec::new(),
    };
    for (place, probe) in probes {
        let rule = &rules[place].rule;
        if let (1, Some(matcher)) = (probe.failures, probe.failed)
            && setting.explain
        {
            found.near.push(NearMiss {
                rule: place,
                matcher,
            });
        }
        let says = (probe.failures == 0).then(|| say(rule, &probe, asked, setting));
        let limited = match &says {
            Some(Says::Ask {
                instead: Some(Instead::Trouble(trouble)),
                ..
            }) => Some(trouble.clone()),
            _ => None,
        };
        if limited == Some(Trouble::UsesUnknown) {
            found.unknown_uses.push(place);
        }
        let matters = probe.failures == 0 || probe.only_unsure(rule.effect);
        if let Some(trouble) = probe.trouble.or(limited).filter(|_| matters) {
            found.troubles.push((place, trouble));
        }
        match (says, rule.enabled) {
            (Some(says), Enabled::Shadow) => found.shadows.push((place, says)),
            (Some(says), _) => found.matched.push((place, says)),
            (None, _) => {}
        }
    }
    found.setup = setup_says(policy, asked, &cover);
    let beneath = match found.setup {
        Some(SetupSays::Passes { .. }) => Some(By::SetupKey),
        _ => bypassed(asked, &cover).then_some(By::Bypass),
    };
    found.outcome = strongest(&found.matched, beneath, setting.approves_off);
    found
}

/// What the rules find, those aside that are far from matching.
fn look(policy: &PolicySet, cover: &Cover<'_>, left: &mut u64) -> Vec<(usize, Probe)> {
    let (asked, setting) = (cover.asked, cover.setting);
    let most = u8::from(setting.explain);
    let mut probes: Vec<(usize, Probe)> = Vec::new();
    for &place in policy.places(asked.tool, setting.explain).iter() {
        let rule = &policy.rules()[place].rule;
        let probe = probe(rule, cover);
        // A rule that only failed because it could not be read is informed of, though it does not match.
        if probe.failures <= most || probe.only_unsure(rule.effect) {
            probes.push((place, probe));
        }
    }
    run_conditions(policy, (asked, setting), &mut probes, left);
    probes
}

/// What the rules find in the arguments at the gate and in those that run: an approve needs both, a deny or an
/// ask one of them.
fn both(
    policy: &PolicySet,
    at_gate: Vec<(usize, Probe)>,
    run: Vec<(usize, Probe)>,
) -> Vec<(usize, Probe)> {
    let approves = |place: usize| policy.rules()[place].rule.effect == Effect::Approve;
    let mut run: BTreeMap<usize, Probe> = run.into_iter().collect();
    let mut found = BTreeMap::new();
    for (place, probe) in at_gate {
        match (run.remove(&place), approves(place)) {
            (Some(other), true) => found.insert(place, probe.and(other)),
            (Some(other), false) => found.insert(place, probe.or(other)),
            (None, true) => None,
            (None, false) => found.insert(place, probe),
        };
    }
    found.extend(run.into_iter().filter(|(place, _)| !approves(*place)));
    found.into_iter().collect()
}

/// Deny over ask over approve, the most approvals among asks, the first id among equals; `beneath` is what
/// approves where no rule says anything.
fn strongest(
    matched: &[(usize, Says)],
    beneath: Option<By>,
    approves_off: Option<AutomaticOff>,
) -> Outcome {
    let first = |says: &Says| {
        matched
            .iter()
            .find(|(_, other)| other == says)
            .map(|(place, _)| *place)
    };
    if let Some(rule) = first(&Says::Deny) {
        return Outcome::Deny(rule);
    }
    let mut ask: Option<(usize, u8)> = None;
    for (place, says) in matched {
        if let Says::Ask { approvals, .. } = says
            && ask.is_none_or(|(_, most)| *approvals > most)
        {
            ask = Some((*place, *approvals));
        }
    }
    if let Some((rule, approvals)) = ask {
        return Outcome::Ask {
            rule: Some(rule),
            approvals,
            held: None,
        };
    }
    let by = match first(&Says::Approve) {
        Some(rule) => Some(By::Rule(rule)),
        None => beneath,
    };
    match (by, approves_off) {
        (Some(by), None) => Outcome::Approve(by),
        (Some(_), held) => Outcome::Ask {
            rule: None,
            approvals: 1,
            held,
        },
        (None, _) => Outcome::Ask {
            rule: None,
            approvals: 1,
            held: None,
        },
    }
}

/// Runs the conditions of the rules that are left, all at once.
fn run_conditions(
    policy: &PolicySet,
    (asked, setting): (&Asked<'_>, &Setting<'_>),
    probes: &mut [(usize, Probe)],
    left: &mut u64,
) {
    let mut waiting = Vec::new();
    let mut conditions = Vec::new();
    for (number, (place, probe)) in probes.iter_mut().enumerate() {
        if probe.failures > u8::from(setting.explain) {
            continue;
        }
        let Prepared { rule, condition } = &policy.rules()[*place];
        match condition {
            None => {}
            Some(Err(_)) => probe.unsure(rule.effect, Matcher::When, Trouble::BadCondition),
            Some(Ok(condition)) => {
                waiting.push(number);
                conditions.push(Arc::clone(condition));
            }
        }
    }
    if conditions.is_empty() {
        return;
    }
    let setup = policy
        .setup_of(asked.agent)
        .map(|setup| setup.values.clone());
    let facts = Facts {
        args: asked.args.cloned(),
        tool: asked.tool.map(str::to_owned),
        agent: asked.agent.to_owned(),
        risk: asked.risk.as_str(),
        run: asked.run_id.map(str::to_owned),
        thread: asked.thread_id.map(str::to_owned),
        setup: Value::Object(setup.unwrap_or_default()),
        now: Some(setting.now),
    };
    let answers = setting.conditions.run(&conditions, &Arc::new(facts), left);
    for (number, answer) in waiting.into_iter().zip(answers) {
        let (place, probe) = &mut probes[number];
        let effect = policy.rules()[*place].rule.effect;
        match answer {
            Ok(true) => {}
            Ok(false) => probe.fail(Matcher::When),
            Err(why) => probe.unsure(effect, Matcher::When, Trouble::Condition(why)),
        }
    }
}

/// What a rule that matches comes to.
fn say(rule: &Rule, probe: &Probe, asked: &Asked<'_>, setting: &Setting<'_>) -> Says {
    // Operators agree by approving: what is answered takes no votes.
    let approvals = match asked.kind {
        RequestKind::ToolCall => rule.approvals.unwrap_or(1),
        RequestKind::Question | RequestKind::Form => 1,
    };
    let ask = |instead| Says::Ask { approvals, instead };
    match rule.effect {
        Effect::Ask => ask(probe.trouble.clone().map(Instead::Trouble)),
        Effect::Deny => match &probe.trouble {
            Some(trouble) => ask(Some(Instead::Trouble(trouble.clone()))),
            None => Says::Deny,
        },
        Effect::Approve => match beyond(rule, asked, setting) {
            Some(instead) => ask(Some(instead)),
            None => Says::Approve,
        },
    }
}

/// Whether one more call goes past what the rule may approve.
fn beyond(rule: &Rule, asked: &Asked<'_>, setting: &Setting<'_>) -> Option<Instead> {
    if rule.limit.is_none() && rule.sum.is_none() {
        return None;
    }
    let amount = match &rule.sum {
        None => 0.0,
        Some(sum) => match amount(asked.args, asked.effective, &sum.pointer) {
            Some(amount) => amount,
            None => return Some(Instead::Trouble(Trouble::Amount)),
        },
    };
    let Some(used) = setting.uses.get(&rule.id) else {
        return Some(Instead::Trouble(Trouble::UsesUnknown));
    };
    if rule.limit.is_some_and(|limit| used.count >= limit.count) {
        return Some(Instead::Limit);
    }
    let sum = rule.sum.as_ref().filter(|sum| used.sum + amount > sum.max);
    sum.map(|_| Instead::Sum)
}

/// The amount that a call adds to a rule's sum, the larger one where another runs than is asked for; none where
/// it cannot count: a negative one would make room for others.
#[must_use]
pub fn amount(args: Option<&Value>, effective: Option<&Effective>, pointer: &str) -> Option<f64> {
    let of = |args: &Value| {
        let amount = args.pointer(pointer)?.as_f64()?;
        (amount.is_finite() && amount >= 0.0).then_some(amount)
    };
    let at_gate = of(args?)?;
    match args_that_run(args, effective) {
        None => Some(at_gate),
        Some(run) => Some(at_gate.max(of(&run)?)),
    }
}

fn setup_says(policy: &PolicySet, asked: &Asked<'_>, cover: &Cover<'_>) -> Option<SetupSays> {
    let key = asked.setup_key.filter(|key| !key.is_empty())?;
    let declared = |setup: &&SetupInForce| setup.values.contains_key(key);
    let Some(setup) = policy.setup_of(asked.agent).filter(declared) else {
        return Some(SetupSays::Undeclared);
    };
    let value = setup.values.get(key).cloned().unwrap_or_default();
    let Some(binding) = setup.bindings.get(key) else {
        return Some(SetupSays::Unbound);
    };
    if same(&binding.skips_when, &value) != Ok(true) {
        let skips_when = binding.skips_when.clone();
        return Some(SetupSays::Differs { value, skips_when });
    }
    if asked.risk == Risk::Critical && !binding.critical {
        return Some(SetupSays::NotCovered(Matcher::CriticalRisk));
    }
    if binding.redeclared {
        return Some(SetupSays::NotCovered(Matcher::SetupChanged));
    }
    if cover.is_stopped(None) {
        return Some(SetupSays::NotCovered(Matcher::Stop));
    }
    Some(
        match cover.never(binding.since).or_else(|| cover.author()) {
            Some(never) => SetupSays::NotCovered(never),
            None => SetupSays::Passes {
                revision: setup.revision,
                value,
            },
        },
    )
}

/// Whether a bypass lets the call run: as little as any approve, and no critical call.
fn bypassed(asked: &Asked<'_>, cover: &Cover<'_>) -> bool {
    cover.setting.bypass.is_some_and(|bypass| {
        asked.risk != Risk::Critical
            && asked.risk <= bypass.up_to
            && cover.never(bypass.since).is_none()
            && !cover.is_stopped(None)
    })
}
