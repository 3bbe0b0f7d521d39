//! Programs, options and places that no table of dangerous ones has: what asks, and what runs.

use countersign_wire::KeptJson;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    what: String,
    effect: String,
    patterns: Value,
    runs: Vec<String>,
    asks: Vec<String>,
}

/// Whether a call runs: by the rule, or under a deny by a bypass.
fn runs(policy: &PolicySet, text: &str) -> bool {
    let native = KeptJson::of(&json!({ "cwd": "/home/ada/proj" })).unwrap();
    let args = json!({ "command": text });
    let asked = Asked {
        native: Some(&native),
        ..pay(&args)
    };
    let found = judge_in(policy, &asked, |setting| {
        let since = noon().plus_ms(-60_000);
        let deny = policy
            .rules()
            .iter()
            .all(|of| of.rule.effect == Effect::Deny);
        setting.bypass = deny.then_some(InBypass {
            up_to: Risk::Low,
            since,
        });
    });
    matches!(found.outcome, Outcome::Approve(_))
}

fn wrong(data: &str) -> Vec<String> {
    let groups: Vec<Group> = serde_json::from_str(data).unwrap();
    let mut wrong = Vec::new();
    for group in groups {
        let more = json!({ "command": { "/command": group.patterns } });
        let policy = set(vec![rule("r", &group.effect, more)]);
        let stopped = group.runs.iter().filter(|text| !runs(&policy, text));
        wrong.extend(stopped.map(|text| format!("asks, {}: {text:?}", group.what)));
        let let_go = group.asks.iter().filter(|text| runs(&policy, text));
        wrong.extend(let_go.map(|text| format!("runs, {}: {text:?}", group.what)));
    }
    wrong
}

#[test]
fn what_an_author_cannot_have_meant_asks_and_what_is_harmless_runs() {
    let wrong = wrong(include_str!("../../../../tests/data/commands/unknown.json"));
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn five_more_of_each_kind() {
    let wrong = wrong(include_str!("../../../../tests/data/commands/more.json"));
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
