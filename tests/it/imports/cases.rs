//! Settings of Claude Code from public reports through the real program: import, then ask.

use std::time::Duration;

use tokio::time::Instant;

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk};

const FILES: [(&str, &str); 4] = [
    ("1", include_str!("../../data/import/claude-1.json")),
    ("2", include_str!("../../data/import/claude-2.json")),
    ("3", include_str!("../../data/import/claude-3-bypass.json")),
    ("4", include_str!("../../data/import/claude-4-reading.json")),
];
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
const SOON: Duration = Duration::from_millis(300);
/// Decisions reach the bus one after the other.
const LATE: Duration = Duration::from_secs(3);
/// Claude Code lets these run nothing by a prefix; what the others run has to be allowed itself.
const WRAPPERS: &str = "watch setsid ionice flock sudo rtk npx xargs env bash timeout";

struct Desktop {
    desk: Desk,
    agent: Agent,
    case: usize,
}

impl Desktop {
    fn import(&self, settings: &str) -> bool {
        let folder = self.desk.path().join(".claude");
        std::fs::create_dir_all(&folder).expect("our folder");
        let path = folder.join("settings.json");
        std::fs::write(&path, settings).expect("our folder");
        let path = path.display().to_string();
        let import = [
            "rules",
            "import",
            "--from",
            "claude-code",
            &path,
            "--apply",
            "--json",
        ];
        let accept = ["--accept-waiting", "--accept-flips"];
        let ended = self.desk.run(&[&import[..], &accept].concat());
        if ended.code != 0 {
            assert_eq!(ended.error().0, 6, "{settings}");
        }
        ended.code == 0
    }

    /// Brings a case's rules in force; those of the case before are gone. Whether its file could be read.
    async fn begin(&mut self, settings: &Value) -> bool {
        self.case += 1;
        let ready = format!("Ready{}", self.case);
        let with_ready = |mut whole: Value| {
            let deny = &mut whole["permissions"]["deny"];
            if deny.is_null() {
                *deny = json!([]);
            }
            deny.as_array_mut().expect("a list").push(json!(ready));
            whole.to_string()
        };
        let text = match settings.as_str() {
            None => with_ready(settings.clone()),
            // Nothing but the text says what is wrong with it.
            Some(text) => text.replacen(
                "{\"allow\"",
                &format!("{{\"ask\":[],\"deny\":[\"{ready}\"],\"allow\""),
                1,
            ),
        };
        let is_read = self.import(&text);
        if !is_read {
            assert!(self.import(&with_ready(json!({ "permissions": {} }))));
        }
        for attempt in 0.. {
            let id = format!("ready-{}-{attempt}", self.case);
            self.agent
                .ask(
                    &self
                        .agent
                        .request(&id)
                        .set("tool", json!({ "name": ready })),
                )
                .await;
            if self.settled(&id, SOON).await.is_some() {
                return is_read;
            }
        }
        unreachable!("it is looked for until it is there")
    }

    /// What the console made of a call; none where it left it to people.
    async fn settled(&self, id: &str, within: Duration) -> Option<String> {
        let until = Instant::now() + within;
        loop {
            if let Some(decision) = self.agent.decision(id).await {
                return decision["verdict"].as_str().map(str::to_owned);
            }
            if Instant::now() > until {
                return None;
            }
        }
    }

    /// `approve`, `deny` or `ask` for each call: (tool, arguments).
    async fn say(&self, calls: &[(String, Value)], decided: impl Fn(usize) -> bool) -> Vec<String> {
        for (number, (tool, args)) in calls.iter().enumerate() {
            let request = self.agent.request(&format!("c{}-{number}", self.case));
            let request = request
                .set("tool", json!({ "name": tool }))
                .args(args.clone());
            self.agent.ask(&request.set("risk", json!("low"))).await;
        }
        // What was asked before it is judged before it.
        let last = format!("last-{}", self.case);
        let ready = format!("Ready{}", self.case);
        self.agent
            .ask(
                &self
                    .agent
                    .request(&last)
                    .set("tool", json!({ "name": ready })),
            )
            .await;
        while self.settled(&last, SOON).await.is_none() {}
        let mut said = Vec::new();
        for number in 0..calls.len() {
            let id = format!("c{}-{number}", self.case);
            let within = if decided(number) {
                LATE
            } else {
                Duration::ZERO
            };
            let verdict = self.settled(&id, within).await;
            said.push(verdict.unwrap_or_else(|| "ask".to_owned()));
        }
        said
    }
}

fn bash(command: &str) -> (String, Value) {
    ("Bash".to_owned(), json!({ "command": command }))
}

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
    if words
        .split(' ')
        .next()
        .is_some_and(|first| WRAPPERS.split(' ').any(|of| of == first))
    {
        return Vec::new();
    }
    match (USES.iter().find(|(known, _)| *known == words), base) {
        (Some((_, uses)), Some(_)) => uses.iter().map(|&of| of.to_owned()).collect(),
        (_, None) => vec![words.to_owned()],
        (None, Some(_)) if words == "NODE_ENV=test" => vec!["NODE_ENV=test npm test".to_owned()],
        (None, Some(_)) => vec![words.to_owned(), format!("{words} x")],
    }
}

#[tokio::test]
async fn every_case_from_a_public_report_ends_as_a_careful_user_wants() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let mut desktop = Desktop {
        desk,
        agent,
        case: 0,
    };
    let (mut wrong, mut waiting, mut allowed) = (Vec::new(), Vec::new(), 0);
    for (name, cases) in FILES {
        let name_of_agent = format!("{}/{}", desktop.agent.workspace, desktop.agent.name);
        // What is denied or asked holds under a bypass too.
        if name == "3" {
            let bypass = [
                "bypass",
                &name_of_agent,
                "--up-to",
                "high",
                "--for",
                "1h",
                "--json",
            ];
            desktop.desk.json(&bypass);
        } else {
            desktop.desk.run(&["bypass", "off", &name_of_agent]);
        }
        let cases: Vec<Value> = serde_json::from_str(cases).expect("JSON");
        for case in cases {
            let is_read = desktop.begin(&case["settings"]).await;
            let asked = case["calls"].as_array().expect("a list");
            let mut calls: Vec<(String, Value)> = asked
                .iter()
                .map(|call| match &call["args"] {
                    Value::Null => bash(call["command"].as_str().expect("a text")),
                    args => ("Bash".to_owned(), args.clone()),
                })
                .zip(asked)
                .map(|((tool, args), call)| {
                    (call["tool"].as_str().unwrap_or(&tool).to_owned(), args)
                })
                .collect();
            let entries = case["settings"]["permissions"]["allow"].as_array();
            let uses = entries
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .flat_map(commands_of);
            let uses: Vec<String> = uses.filter(|_| is_read).collect();
            calls.extend(uses.iter().map(|of| bash(of)));
            // One that has to run is waited for; one that may ask is looked at once.
            let decided = |number: usize| {
                let expect = asked.get(number).map(|call| &call["expect"]);
                expect.is_none_or(|expect| expect == "approve" || expect == "deny")
            };
            let said = desktop.say(&calls, decided).await;
            for (call, said) in asked.iter().zip(&said) {
                let expect = call["expect"].as_str().expect("a text");
                if !expect.split('|').any(|word| word == said) {
                    wrong.push(format!("{}: {call} is {said}", case["id"]));
                }
            }
            for (command, said) in uses.iter().zip(&said[asked.len()..]) {
                // What a deny beside it stops is not allowed there either.
                if said != "deny" {
                    allowed += 1;
                    waiting.extend((said == "ask").then(|| format!("{}: {command}", case["id"])));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let run = allowed - waiting.len();
    println!(
        "{run} of {allowed} allowed commands run; these ask:\n{}",
        waiting.join("\n")
    );
    assert!(
        run * 100 >= allowed * RUN_MIN,
        "{run} of {allowed} run: {}",
        waiting.join("\n")
    );
}
