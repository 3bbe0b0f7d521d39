//! What one rule's matchers find in a request.
//!
//! Refuses to let an approve reach what no rule may approve.

use std::cell::OnceCell;

use countersign_wire::{RequestKind, Risk};
use serde_json::Value;

use super::{Asked, Matcher, Setting, Stop, Trouble};
use crate::arguments::{all_named, has_hidden, holds, is_hidden};
use crate::commands::Reading;
use crate::domain::Timestamp;
use crate::glob::{Glob, Reach};
use crate::rule::{Effect, Rule};
use crate::unsure::Unsure;

/// What one rule's matchers found.
#[derive(Default)]
pub(super) struct Probe {
    pub(super) failures: u8,
    /// The first matcher that failed.
    pub(super) failed: Option<Matcher>,
    pub(super) trouble: Option<Trouble>,
}

impl Probe {
    pub(super) fn fail(&mut self, matcher: Matcher) {
        self.failures = self.failures.saturating_add(1);
        self.failed.get_or_insert(matcher);
    }

    /// Whether an approve would match but for what could not be read. A deny or an ask does not fail for that:
    /// what failed there is another matcher, and the request is none of the rule's.
    pub(super) fn only_unsure(&self, effect: Effect) -> bool {
        effect == Effect::Approve && self.failures == 1 && self.trouble.is_some()
    }

    /// Both must match; where each misses something else, nothing nearly matches.
    pub(super) fn and(mut self, other: Self) -> Self {
        if self.failures < other.failures {
            return other;
        }
        if self.failures == other.failures && self.failed != other.failed {
            self.failures = self.failures.saturating_add(1);
        }
        self
    }

    /// One of them matches, the one that is sure of it where there is one.
    pub(super) fn or(self, other: Self) -> Self {
        let rank = |of: &Self| (of.failures, of.trouble.is_some());
        if rank(&other) < rank(&self) {
            return other;
        }
        self
    }

    /// An error makes an approve not match; of the others it makes an ask.
    fn take(&mut self, effect: Effect, matcher: Matcher, answer: Result<bool, Unsure>) {
        match answer {
            Ok(true) => {}
            Ok(false) => self.fail(matcher),
            Err(why) => self.unsure(effect, matcher, Trouble::Matcher(matcher, why)),
        }
    }

    pub(super) fn unsure(&mut self, effect: Effect, matcher: Matcher, trouble: Trouble) {
        self.trouble.get_or_insert(trouble);
        if effect == Effect::Approve {
            self.fail(matcher);
        }
    }
}

/// What no approve covers, looked at once for all rules.
pub(super) struct Cover<'a> {
    pub(super) asked: &'a Asked<'a>,
    pub(super) setting: &'a Setting<'a>,
    /// Other arguments that run instead.
    also: Option<&'a Value>,
    hidden: OnceCell<bool>,
    /// Its commands and paths, read once for all rules.
    reading: Reading<'a>,
}

impl<'a> Cover<'a> {
    pub(super) fn of(
        asked: &'a Asked<'a>,
        setting: &'a Setting<'a>,
        also: Option<&'a Value>,
    ) -> Self {
        Self {
            asked,
            setting,
            also,
            hidden: OnceCell::new(),
            reading: Reading::of(asked.native).of_tool(asked.tool),
        }
    }

    /// Whether who signed the rules and the setup may not let this run.
    pub(super) fn author(&self) -> Option<Matcher> {
        (!self.setting.author_may).then_some(Matcher::AuthorLimit)
    }

    /// Whether a finding keeps this from being approved automatically: by a rule that does not name its place, or by
    /// anything that names none.
    pub(super) fn is_stopped(&self, rule: Option<&Rule>) -> bool {
        let named = |stop: &Stop| {
            let value = self.asked.args.and_then(|args| args.pointer(&stop.at));
            let of = rule.map(|rule| &rule.matchers);
            of.is_some_and(|of| of.writes(&stop.at, &stop.written, value, &self.reading))
        };
        let mut stops = self.asked.stops.iter();
        stops.any(|stop| stop.always || !named(stop))
    }

    /// The first reason for which nothing may approve this, critical calls aside.
    pub(super) fn never(&self, since: Timestamp) -> Option<Matcher> {
        let asked = self.asked;
        let hidden = || {
            let mut args = asked.args.into_iter().chain(self.also);
            args.any(has_hidden) || asked.tool.is_some_and(is_hidden)
        };
        let outside =
            |tools: &[String]| !tools.iter().any(|tool| Some(tool.as_str()) == asked.tool);
        let a_plan = asked.tool == Some("ExitPlanMode");
        if asked.kind != RequestKind::ToolCall || !asked.takes_approval || a_plan {
            return Some(Matcher::NotApprovable);
        }
        if asked.approvals_required > 1 {
            return Some(Matcher::SeveralApprovals);
        }
        if asked.skill_tools.is_some_and(outside) {
            return Some(Matcher::OutsideSkill);
        }
        if asked
            .tool_changed_at
            .is_some_and(|changed| changed >= since)
        {
            return Some(Matcher::ToolChanged);
        }
        (*self.hidden.get_or_init(hidden)).then_some(Matcher::HiddenCharacters)
    }
}

pub(super) fn probe(rule: &Rule, cover: &Cover<'_>) -> Probe {
    let (asked, of, effect) = (cover.asked, &rule.matchers, rule.effect);
    if !of.empty.is_empty() {
        return Probe {
            failures: u8::MAX,
            ..Probe::default()
        };
    }
    let mut probe = Probe::default();
    let reach = Reach::from(effect);
    let globs = [
        (Matcher::Agent, &of.agent, Some(asked.agent)),
        (Matcher::Tool, &of.tool, asked.tool),
        (Matcher::Framework, &of.framework, asked.framework),
        (Matcher::Skill, &of.skill, asked.skill),
    ];
    for (matcher, globs, name) in globs {
        if globs.is_empty() {
            continue;
        }
        let answer = name.ok_or(Unsure::Missing);
        let answer = answer.map(|name| globs.iter().any(|glob| glob.matches_name(name, reach)));
        probe.take(effect, matcher, answer);
        if probe.failures > 1 {
            return probe;
        }
    }
    if !of.risk.is_empty() {
        probe.take(effect, Matcher::Risk, Ok(of.risk.contains(&asked.risk)));
    }
    if !of.kind.is_empty() {
        probe.take(effect, Matcher::Kind, Ok(of.kind.contains(&asked.kind)));
    }
    let words = [
        (Matcher::Origin, &of.origin, asked.origin),
        (Matcher::ThreadId, &of.thread_id, asked.thread_id),
    ];
    for (matcher, list, word) in words {
        if !list.is_empty() {
            let answer = word.ok_or(Unsure::Missing);
            probe.take(
                effect,
                matcher,
                answer.map(|word| list.iter().any(|known| known == word)),
            );
        }
    }
    if !of.args_digest.is_empty() {
        let digest = asked.args_digest.ok_or(Unsure::Missing);
        probe.take(
            effect,
            Matcher::ArgsDigest,
            digest.map(|digest| of.args_digest.contains(digest)),
        );
    }
    if rule.is_over(cover.setting.now) {
        probe.fail(Matcher::ExpiresAt);
    }
    if probe.failures > 1 {
        return probe;
    }
    for (place, (pointer, test)) in of.args.iter().enumerate() {
        let value = asked.args.and_then(|args| args.pointer(pointer));
        probe.take(effect, Matcher::Arg(place), holds(test, value, reach));
    }
    let value = |pointer: &str| asked.args.and_then(|args| args.pointer(pointer));
    for (place, (pointer, list)) in of.command.iter().enumerate() {
        let answer = of.command_holds(effect, (pointer, list), value(pointer), &cover.reading);
        probe.take(effect, Matcher::Command(place), answer);
    }
    for (place, (pointer, list)) in of.path.iter().enumerate() {
        let answer = of.path_holds(effect, (pointer, list), value(pointer), &cover.reading);
        probe.take(effect, Matcher::Path(place), answer);
    }
    if of.only_args {
        let named = of
            .args
            .keys()
            .chain(of.command.keys())
            .chain(of.path.keys());
        let named = named.map(|pointer| (pointer.clone(), ())).collect();
        let answer = asked
            .args
            .ok_or(Unsure::Missing)
            .map(|args| all_named(args, &named));
        probe.take(effect, Matcher::OnlyArgs, answer);
    }
    if effect == Effect::Approve && probe.failures < 2 {
        if asked.risk == Risk::Critical && !names_critical(rule, asked) {
            probe.fail(Matcher::CriticalRisk);
        }
        if let Some(never) = cover.never(rule.since).or_else(|| cover.author()) {
            probe.fail(never);
        }
        if cover.is_stopped(Some(rule)) {
            probe.fail(Matcher::Stop);
        }
    }
    probe
}

/// Whether a rule means this very critical call: by the digest of its arguments, or by the tool's whole
/// name and the word `critical`.
fn names_critical(rule: &Rule, asked: &Asked<'_>) -> bool {
    let literal = |glob: &Glob| glob.is_literal() && Some(glob.as_str()) == asked.tool;
    let named =
        rule.matchers.risk.contains(&Risk::Critical) && rule.matchers.tool.iter().any(literal);
    !rule.matchers.args_digest.is_empty() || named
}
