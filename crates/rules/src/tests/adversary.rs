//! Commands and paths of somebody who knows the contract and wants past it, as data.

use std::collections::BTreeMap;

use countersign_wire::KeptJson;
use serde::Deserialize;

use super::*;

/// What one rule makes of many texts. Approve: `runs`, `asks`; deny: `stops` (or asks, where it is not sure), `free`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// The row of the contract.
    row: String,
    trick: String,
    shell: Option<String>,
    approve: Option<Value>,
    deny: Option<Value>,
    /// Paths that a command must not name.
    deny_in_command: Option<Value>,
    #[serde(default)]
    writes: Vec<String>,
    #[serde(default, alias = "stops")]
    asks: Vec<String>,
    #[serde(default, alias = "free")]
    runs: Vec<String>,
}

impl Group {
    /// The rule, and the argument that it reads.
    fn policy(&self, paths: bool) -> (PolicySet, &'static str) {
        let matcher = if paths { "path" } else { "command" };
        let (effect, patterns, matcher, pointer) = match (&self.approve, &self.deny) {
            (Some(patterns), _) => ("approve", patterns, matcher, "/x"),
            (_, Some(patterns)) => ("deny", patterns, matcher, "/x"),
            _ => {
                let patterns = self.deny_in_command.as_ref().unwrap();
                ("deny", patterns, "path", "/command")
            }
        };
        let mut more = json!({});
        more[matcher] = json!({ pointer: patterns });
        if !self.writes.is_empty() {
            more["writes"] = json!(self.writes);
        }
        if let Some(shell) = &self.shell {
            more["shell"] = json!(shell);
        }
        (set(vec![rule("r", effect, more)]), &pointer[1..])
    }
}

/// Every text that a rule reads otherwise than it must, and how many texts of either side each row has.
fn wrong(data: &str, paths: bool) -> (Vec<String>, BTreeMap<String, [usize; 2]>) {
    let native = KeptJson::of(&json!({ "cwd": "/srv/shop", "home": "/home/ada" })).unwrap();
    let groups: Vec<Group> = serde_json::from_str(data).unwrap();
    let mut rows = BTreeMap::new();
    let mut wrong = Vec::new();
    for group in groups {
        let (policy, pointer) = group.policy(paths);
        let found = |text: &str| {
            let args = json!({ pointer: text });
            let asked = Asked {
                native: Some(&native),
                ..pay(&args)
            };
            judge(&policy, &asked).outcome
        };
        // What is free under a deny, or runs under an approve.
        let passes = |text: &str| match found(text) {
            Outcome::Approve(_) => true,
            Outcome::Ask { rule: None, .. } => group.approve.is_none(),
            _ => false,
        };
        let count: &mut [usize; 2] = rows.entry(group.row.clone()).or_default();
        count[0] += group.runs.len();
        count[1] += group.asks.len();
        let say = |what: &str, text: &String| format!("{what}, {}: {text:?}", group.trick);
        wrong.extend(
            group
                .asks
                .iter()
                .filter(|text| passes(text))
                .map(|text| say("gets through", text)),
        );
        wrong.extend(
            group
                .runs
                .iter()
                .filter(|text| !passes(text))
                .map(|text| say("is stopped", text)),
        );
    }
    (wrong, rows)
}

fn check(data: &str, paths: bool) {
    let (wrong, rows) = wrong(data, paths);
    for (row, sides) in &rows {
        assert!(sides.iter().all(|texts| *texts >= 5), "{row}: {sides:?}");
    }
    let shown = wrong.join("\n");
    assert!(wrong.is_empty(), "{} of {rows:?}:\n{shown}", wrong.len());
}

#[test]
fn no_denied_command_gets_through() {
    check(
        include_str!("../../../../tests/data/commands/deny.json"),
        false,
    );
}

#[test]
fn nothing_dangerous_runs_by_a_prefix() {
    check(
        include_str!("../../../../tests/data/commands/approve.json"),
        false,
    );
}

#[test]
fn no_path_is_written_so_that_a_rule_misses_it() {
    check(
        include_str!("../../../../tests/data/commands/paths.json"),
        true,
    );
}

#[test]
fn powershell_is_read_as_it_reads_itself() {
    check(
        include_str!("../../../../tests/data/commands/powershell.json"),
        false,
    );
}
