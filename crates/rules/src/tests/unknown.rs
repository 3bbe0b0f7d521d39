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

#[test]
fn a_pattern_that_can_match_nothing_is_refused_with_the_place_of_its_element() {
    let check = |effect: &str, patterns: &str| {
        let head = "schema = 1\n[[rule]]\nid = \"r\"\ntool = [\"Bash\"]\nexpires_at = \"2036-01-01T00:00:00Z\"\n";
        read_file(&format!(
            "{head}effect = \"{effect}\"\ncommand.\"/command\" = [\n  \"git log *\",\n  {patterns},\n]\n"
        ))
    };
    for (effect, pattern) in [
        ("deny", "'FOO=1'"),
        ("ask", "'A=1 B=2'"),
        ("deny", "'> x'"),
        ("deny", "'ls > /etc/x'"),
        ("approve", "'ls > /etc/x'"),
        ("approve", "'ls < x'"),
        ("deny", "'git push?'"),
        ("approve", "'git pu?h *'"),
        ("deny", "'ls ?'"),
        ("deny", "\"\\u200Brm *\""),
        ("deny", "\"rm\\u00A0*\""),
        ("approve", "\"git\\u2060 log\""),
        ("approve", "'ls $(rm x)'"),
        ("deny", "'echo $HOME'"),
        ("deny", "''"),
        ("deny", "1"),
    ] {
        let problems = check(effect, pattern).unwrap_err();
        let at: Vec<_> = problems.iter().map(|of| (of.line, of.column)).collect();
        assert_eq!(at, [(9, 3)], "{effect} {pattern}: {problems:?}");
    }
    for (effect, pattern) in [
        ("deny", "'FOO=1 rm *'"),
        ("deny", "'git push *'"),
        ("approve", "'FOO=1'"),
        ("approve", "'[ -f x ]'"),
        ("deny", "\"echo 'a > b' *\""),
        ("deny", "\"grep 'a?' *\""),
        ("ask", "'*--force*'"),
        ("approve", "'git log \\? *'"),
    ] {
        assert!(check(effect, pattern).is_ok(), "{effect} {pattern}");
    }
}

#[test]
fn a_command_of_many_words_is_judged_in_time() {
    let policy = set(vec![rule(
        "r",
        "deny",
        json!({ "command": { "/command": ["git push *"] } }),
    )]);
    for text in ["git ", "$X git ", "'git x' "] {
        assert!(
            !runs(
                &policy,
                &format!("foo {}", text.repeat(50_000 / text.len()))
            ) || text == "'git x' "
        );
    }
}
