//! Settings from public reports: what an import of each lets run, asks and denies.

use super::*;
use crate::InBypass;

const FILES: [(&str, &str); 6] = [
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
    (
        "files 1",
        include_str!("../../../../../tests/data/import/files-1.json"),
    ),
    (
        "files 2",
        include_str!("../../../../../tests/data/import/files-2.json"),
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

/// Of a hundred commands that the files allow, so many have to run.
const RUN_MIN: usize = 95;
/// What people call a program with where an entry lets everything follow it.
const USES: [(&str, &[&str]); 12] = [
    ("find", &["find . -name '*.md'", "find src -type f"]),
    (
        "rm",
        &["rm build/out.txt", "rm -rf build", "rm -f a.log b.log"],
    ),
    ("rmdir", &["rmdir build", "rmdir -p a/b"]),
    ("cd", &["cd web", "cd web/src"]),
    (
        "git",
        &[
            "git status",
            "git log --oneline -5",
            "git add src",
            "git diff main",
            "git fetch",
        ],
    ),
    (
        "git log",
        &[
            "git log",
            "git log -p src/a.rs",
            "git log --since=yesterday",
            "git log main..HEAD",
        ],
    ),
    (
        "git blame",
        &["git blame src/a.rs", "git blame -L 1,20 src/a.rs"],
    ),
    (
        "git commit",
        &["git commit -m 'fix: a'", "git commit --amend --no-edit"],
    ),
    (
        "terraform plan",
        &[
            "terraform plan",
            "terraform plan -out=x.plan",
            "terraform plan -no-color",
        ],
    ),
    (
        "npm run format",
        &["npm run format", "npm run format -- --check"],
    ),
    (
        "npm run dev",
        &["npm run dev", "npm run dev -- --port 3000"],
    ),
    ("FOO=1 rm", &["FOO=1 rm build/out.txt"]),
];
/// Claude Code lets these run nothing by a prefix; what the others run has to be allowed itself.
const WRAPPERS: &str = "watch setsid ionice flock sudo rtk npx xargs env bash timeout";

/// The commands that an entry under allow lets run, as far as people use it.
fn commands_of(entry: &str) -> Vec<String> {
    let Some(of) = entry
        .strip_prefix("Bash(")
        .and_then(|of| of.strip_suffix(')'))
    else {
        return Vec::new();
    };
    let base = of.strip_suffix(":*").or_else(|| of.strip_suffix(" *"));
    let words = base.unwrap_or(of);
    let first = words.split(' ').next().unwrap_or_default();
    if WRAPPERS.split(' ').any(|of| of == first) {
        return Vec::new();
    }
    match (USES.iter().find(|(known, _)| *known == words), base) {
        (Some((_, uses)), Some(_)) => uses.iter().map(|&of| of.to_owned()).collect(),
        (_, None) => vec![words.to_owned()],
        (None, Some(_)) if words == "NODE_ENV=test" => vec!["NODE_ENV=test npm test".to_owned()],
        (None, Some(_)) => vec![words.to_owned(), format!("{words} x")],
    }
}

#[test]
fn of_the_commands_that_the_files_allow_nearly_all_run() {
    let conditions = Conditions::default();
    let (mut asks, mut allowed) = (Vec::new(), 0);
    for case in FILES.iter().flat_map(|(_, file)| {
        let cases: Vec<Value> = serde_json::from_str(file).unwrap();
        cases
    }) {
        // The condition holds: these calls are a command alone. How long it takes is not a matter here.
        let rules = rules(&case["settings"]).into_iter();
        let rules: Vec<Rule> = rules.map(|rule| Rule { when: None, ..rule }).collect();
        let policy = PolicySet::new(rules, BTreeMap::new()).unwrap();
        let settings = match case["settings"].as_str() {
            Some(text) => read_json(text).unwrap_or_default(),
            None => case["settings"].clone(),
        };
        let entries = settings["permissions"]["allow"].as_array();
        let entries = entries.filter(|_| !policy.rules().is_empty());
        for command in entries
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .flat_map(commands_of)
        {
            let args = json!({ "command": command });
            match says(&policy, &conditions, "Bash", &args) {
                "approve" => allowed += 1,
                // What a deny beside it stops is not allowed there either.
                "deny" => {}
                _ => {
                    allowed += 1;
                    asks.push(command);
                }
            }
        }
    }
    let run = allowed - asks.len();
    println!("{run} of {allowed} allowed commands run; these ask: {asks:?}");
    assert!(
        run * 100 >= allowed * RUN_MIN,
        "{run} of {allowed} run: {asks:?}"
    );
}
