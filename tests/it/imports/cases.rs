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
const SOON: Duration = Duration::from_millis(300);
/// Decisions reach the bus one after the other.
const LATE: Duration = Duration::from_secs(10);
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

    /// Brings a case's rules in force; those of the case before are gone.
    async fn begin(&mut self, settings: &Value) {
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
        if !self.import(&text) {
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
                return;
            }
        }
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

    async fn call(&self, id: &str, (tool, args): &(String, Value)) {
        let request = self.agent.request(id).args(args.clone());
        let request = request.set("tool", json!({ "name": tool }));
        self.agent.ask(&request.set("risk", json!("low"))).await;
    }

    /// `approve`, `deny` or `ask` for each call: (tool, arguments).
    async fn say(&self, calls: &[(String, Value)], decided: impl Fn(usize) -> bool) -> Vec<String> {
        for (number, call) in calls.iter().enumerate() {
            self.call(&format!("c{}-{number}", self.case), call).await;
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
    let mut wrong = Vec::new();
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
            desktop.begin(&case["settings"]).await;
            let asked = case["calls"].as_array().expect("a list");
            let calls: Vec<(String, Value)> = asked
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
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
