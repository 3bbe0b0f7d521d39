//! Settings from public reports: what an import of each lets run, asks and denies.

use super::*;
use crate::InBypass;

const FILES: [(&str, &str); 4] = [
    (
        "1",
        include_str!("../../../../../tests/data/import/claude-1.json"),
    ),
    (
        "2",
        include_str!("../../../../../tests/data/import/claude-2.json"),
    ),
    (
        "3",
        include_str!("../../../../../tests/data/import/claude-3-bypass.json"),
    ),
    (
        "4",
        include_str!("../../../../../tests/data/import/claude-4-reading.json"),
    ),
];

/// The rules of a settings file; none where it is refused whole.
fn rules(settings: &Value) -> Vec<Rule> {
    let file = match settings.as_str() {
        Some(text) => read_json(text).map_err(|faults| faults.join("; ")),
        None => Ok(settings.clone()),
    };
    let read = |file| read_one(Source::ClaudeCode, &file, &[]).map_err(|faults| faults.join("; "));
    let found = file.and_then(read);
    found.map_or_else(|_| Vec::new(), |found| found.rules)
}

#[test]
fn every_case_from_a_public_report_ends_as_a_careful_user_wants() {
    let conditions = Conditions::default();
    let mut wrong = Vec::new();
    for (name, file) in FILES {
        let cases: Vec<Value> = serde_json::from_str(file).unwrap();
        // What is denied or asked holds under a bypass too.
        let bypass = (name == "3").then_some(InBypass {
            up_to: Risk::High,
            since: now(),
        });
        for case in cases {
            let policy = PolicySet::new(rules(&case["settings"]), BTreeMap::new()).unwrap();
            for call in case["calls"].as_array().unwrap() {
                let tool = call["tool"].as_str().unwrap_or("Bash");
                let args = match &call["args"] {
                    Value::Null => json!({ "command": call["command"] }),
                    args => args.clone(),
                };
                let said = says_under(&policy, &conditions, tool, &args, bypass);
                let expect = call["expect"].as_str().unwrap();
                if !expect.split('|').any(|word| word == said) {
                    wrong.push(format!(
                        "{}: {tool} {args} is {said}, not {expect}",
                        case["id"]
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
