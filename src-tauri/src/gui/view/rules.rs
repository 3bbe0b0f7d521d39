//! A rule in the list, and a judgement as the page explains it.

use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::{RequestSummary, StoredDecision};
use countersign_core::ops::regrets::{Regret, Regrets};
use countersign_core::ops::rules::RuleRecord;
use countersign_core::ops::why::Why;
use countersign_core::policy::Rule;
use countersign_core::policy::rule::per;
use countersign_view::{
    MatchedRule, NearRule, RegretView, RuleRow, SetupReasonView, WhyDecided, WhyNow,
};
use countersign_wire::{Shown, json_value};
use serde_json::Value;

use countersign_view::window::{escape, escape_lines, json_shown};

/// One line of the list. `today` counts approvals of the last 24 hours.
pub(crate) fn rule_row(
    rule: &Rule,
    record: &RuleRecord,
    today: u64,
    regrets: Option<&Regrets>,
) -> RuleRow {
    RuleRow {
        id: rule.id.clone(),
        name: escape(&rule.name),
        effect: rule.effect,
        approvals: rule.approvals,
        state: rule.enabled,
        version: rule.version,
        since_ms: rule.since.0,
        about: escape(&about(rule)),
        uses: record.uses,
        today,
        last_used_ms: record.last_used.map(|at| at.0),
        shadows: record.shadows,
        last_error: record.last_error.as_deref().map(escape),
        regrets: regrets.map_or(0, |of| of.count),
        last_regrets: regrets
            .map_or_else(Vec::new, |of| of.last.iter().rev().map(regret).collect()),
        expires_ms: rule.expires_at.map(|at| at.0),
        thread: !rule.matchers.thread_id.is_empty(),
        limit: rule
            .limit
            .map(|limit| format!("{} {}", limit.count, each(limit.per_ms))),
    }
}

fn regret(of: &Regret) -> RegretView {
    RegretView {
        key: of.request.clone(),
        version: of.version,
        reason: of.reason.as_deref().map(escape_lines),
        by: escape(&of.by),
        at_ms: Timestamp::parse(&of.at).map_or(0, |at| at.0),
    }
}

/// The window of a limit, as a person says it.
fn each(window_ms: i64) -> String {
    let word = per(window_ms);
    match word.as_str() {
        "1m" => "a minute".to_owned(),
        "1h" => "an hour".to_owned(),
        "1d" => "a day".to_owned(),
        "1w" => "a week".to_owned(),
        _ => format!("in {word}"),
    }
}

/// Tools, then agents: `delete_invoice, billing-*`.
pub(super) fn about(rule: &Rule) -> String {
    let names = |list: &[countersign_core::policy::glob::Glob], any: &str| match list {
        [] => any.to_owned(),
        list if list.iter().any(|glob| glob.as_str() == "*") => any.to_owned(),
        list => {
            let words: Vec<&str> = list.iter().map(|glob| glob.as_str()).collect();
            words.join(", ")
        }
    };
    let of = &rule.matchers;
    let tools = names(&of.tool, "any tool");
    format!("{tools}; {}", names(&of.agent, "any agent"))
}

/// What the rules in force say now.
pub(crate) fn why_now(why: Why) -> WhyNow {
    WhyNow {
        policy_digest: why.policy_digest,
        outcome: why.outcome,
        rule: why.rule,
        approvals: why.approvals,
        held: why.held.as_deref().map(escape),
        matched: why
            .matched
            .into_iter()
            .map(|rule| MatchedRule {
                id: rule.id,
                version: rule.version,
                name: escape(&rule.name),
                says: rule.says,
                instead: rule.instead.as_deref().map(escape),
            })
            .collect(),
        near: why
            .near_misses
            .into_iter()
            .map(|rule| NearRule {
                id: rule.id,
                version: rule.version,
                name: escape(&rule.name),
                effect: rule.effect,
                matcher: escape(&rule.matcher),
                detail: rule.detail.as_deref().map(escape),
            })
            .collect(),
        setup: why.setup.map(|setup| SetupReasonView {
            key: escape(&setup.key),
            state: setup.state.to_owned(),
            value: setup.value.as_ref().map(json_shown),
            skips_when: setup.skips_when.as_ref().map(json_shown),
        }),
    }
}

/// What decided automatically; none where a person or nobody did. Its words are added by who can read them.
pub(crate) fn why_decided(
    line: &RequestSummary,
    decision: Option<&StoredDecision>,
) -> Option<WhyDecided> {
    let origin = line.origin.as_deref()?;
    line.rule_id.as_deref()?;
    let payload: Value = decision
        .and_then(|decision| json_value(&decision.payload))
        .unwrap_or_default();
    Some(WhyDecided {
        origin: escape(origin),
        rule: line.rule_id.as_deref().map(escape),
        version: line.rule_version,
        policy_digest: payload["policy_digest"].as_str().map(escape),
        words: None,
    })
}

/// The words of one rule in the canonical JSON of a set.
pub(crate) fn words_of(set: &[u8], id: &str) -> Option<Shown> {
    let set: Value = serde_json::from_slice(set).ok()?;
    let rules = set["rules"].as_array()?;
    let rule = rules.iter().find(|rule| rule["id"] == id)?;
    Some(json_shown(rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::policy::read_file;

    fn rule(lines: &str) -> Rule {
        let text = format!(
            "schema = 1\n[[rule]]\nid = \"r\"\neffect = \"approve\"\nexpires_at = \"2999-01-01T00:00:00Z\"\n{lines}"
        );
        read_file(&text).unwrap().remove(0)
    }

    #[test]
    fn what_a_rule_is_about_reads_the_same_whether_any_agent_is_left_out_or_a_star() {
        for (lines, words) in [
            ("tool = [\"pay\"]", "pay; any agent"),
            ("tool = [\"pay\"]\nagent = [\"*\"]", "pay; any agent"),
            (
                "tool = [\"pay\", \"crm.*\"]\nagent = [\"billing-*\"]",
                "pay, crm.*; billing-*",
            ),
        ] {
            assert_eq!(about(&rule(lines)), words, "{lines}");
        }
    }

    #[test]
    fn the_window_of_a_limit_is_told_in_words_where_there_are_some() {
        let reported: Vec<String> = [
            60_000,
            3_600_000,
            86_400_000,
            604_800_000,
            7_200_000,
            90_000,
        ]
        .into_iter()
        .map(each)
        .collect();
        let words = ["a minute", "an hour", "a day", "a week", "in 2h", "in 90s"];
        assert_eq!(reported, words);
    }
}
