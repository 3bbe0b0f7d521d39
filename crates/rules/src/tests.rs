//! What rules decide, as tables.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use countersign_wire::{RequestKind, Risk};
use serde_json::{Value, json};

use super::read::{read_set, read_stored};
use super::*;
use crate::domain::Timestamp;
use crate::domain::controls::AutomaticOff;
use crate::evaluate::{Instead, NearMiss, Trouble};

mod adversary;
mod bypass;
mod commands;
mod covers;
mod drafts;
mod effective;
mod guide;
mod history;
mod in_force;
mod limits;
mod matrices;
mod patches;
mod previews;
mod setup_keys;
mod stops;
mod strongest;
mod unknown;

const NOON: &str = "2026-11-22T12:00:00Z";

fn noon() -> Timestamp {
    Timestamp::parse(NOON).unwrap()
}

/// A rule as JSON: `id`, `effect` and what else is given; an approve gets an end and a tool.
fn rule(id: &str, effect: &str, more: Value) -> Rule {
    let mut map = json!({ "id": id, "effect": effect });
    if effect == "approve" {
        map["expires_at"] = json!("2027-01-01T00:00:00Z");
        map["tool"] = json!(["pay"]);
    }
    for (name, value) in more.as_object().unwrap() {
        map[name] = value.clone();
    }
    let set = json!({ "schema": 1, "rules": [map] });
    read_set(&set, "rules").unwrap().remove(0)
}

fn set(rules: Vec<Rule>) -> PolicySet {
    PolicySet::new(rules, BTreeMap::new()).unwrap()
}

/// `pay` with an amount, low risk, by `billing-bot`.
fn pay(args: &Value) -> Asked<'_> {
    Asked {
        agent: "billing-bot",
        kind: RequestKind::ToolCall,
        tool: Some("pay"),
        origin: Some("local"),
        framework: Some("selectools"),
        skill: None,
        skill_tools: None,
        thread_id: Some("T1"),
        run_id: Some("R1"),
        args: Some(args),
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

/// Judged at noon, limits unused.
fn judge_in(
    policy: &PolicySet,
    asked: &Asked<'_>,
    change: impl Fn(&mut Setting<'_>),
) -> Evaluation {
    let conditions = Conditions::default();
    let limited = policy
        .rules()
        .iter()
        .map(|of| (of.rule.id.clone(), Used::default()));
    let uses: Uses = limited.collect();
    let mut setting = Setting {
        now: noon(),
        approves_off: None,
        author_may: true,
        bypass: None,
        uses: &uses,
        explain: false,
        conditions: &conditions,
    };
    change(&mut setting);
    evaluate(policy, asked, &setting)
}

fn judge(policy: &PolicySet, asked: &Asked<'_>) -> Evaluation {
    judge_in(policy, asked, |_| {})
}

/// `approve ID`, `deny ID`, `ask ID N` or `ask`.
fn word(policy: &PolicySet, found: &Evaluation) -> String {
    let id = |place: usize| policy.rules()[place].rule.id.clone();
    match found.outcome {
        Outcome::Approve(By::Rule(place)) => format!("approve {}", id(place)),
        Outcome::Approve(By::SetupKey) => "approve by setup".to_owned(),
        Outcome::Approve(By::Bypass) => "approve by bypass".to_owned(),
        Outcome::Deny(place) => format!("deny {}", id(place)),
        Outcome::Ask {
            rule: Some(place),
            approvals,
            ..
        } => format!("ask {} {approvals}", id(place)),
        Outcome::Ask { rule: None, .. } => "ask".to_owned(),
    }
}
