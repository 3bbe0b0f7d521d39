//! Who is there: hellos, signs of life, tools and credentials, as a person and a script see them.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, eventually};

fn hello() -> Value {
    let open = json!({"type": "object", "additionalProperties": false, "required": ["to"],
        "properties": {"to": {"type": "string"}, "cc": {"type": "string"}}});
    json!({
        "v": 1, "agent": {"name": "local", "type": "janitor", "framework": "fx\u{202e}", "framework_version": "1.2"},
        "instance_id": "copy-1",
        "tools": [
            {"name": "send_email", "risk": "high", "strict": true, "args_schema": open},
            {"description": "a tool without a name"},
            {"name": "web_search", "origin": "hosted", "risk": "odd"},
            {"name": "apply_patch", "origin": "provider_defined", "gated": true},
            {"name": "send_emai1", "description": "looks the same", "new_field": 1},
        ],
        "credentials": [{"tool_name": "send_email", "artifact_id": "a1", "status": "incomplete",
            "missing_keys": ["SMTP_PASSWORD"]}],
        "skills": [{"name": "invoicing"}],
        "setup_schema": [{"bs_name": "greeting", "bs_type": "string_short"}],
    })
}

async fn says(agent: &Agent, word: &str, payload: &Value) {
    let subject = format!("countersign.v1.{word}.{}.{}", agent.workspace, agent.name);
    let payload = payload.to_string().into_bytes();
    agent.client.publish(subject, payload.into()).await.unwrap();
    agent.client.flush().await.unwrap();
}

fn listed(desk: &Desk, ready: impl Fn(&Value) -> bool) -> Value {
    eventually(|| {
        let lines = desk.lines(&["agents", "--json"]);
        let line = lines.into_iter().find(|line| line["agent"] == "local");
        let line = line.unwrap_or_default();
        if ready(&line) { Ok(line) } else { Err(line) }
    })
}

#[tokio::test]
async fn an_agent_is_told_with_its_tools_their_faults_and_its_credentials() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let before = listed(&desk, |line| line.is_object());
    assert_eq!(
        (
            &before["presence"],
            &before["last_seen"],
            &before["enrolled"]
        ),
        (&json!("unheard"), &json!(null), &json!(true))
    );
    let agent = Agent::connect(console.agent_json()).await;
    says(&agent, "hello", &hello()).await;
    let line = listed(&desk, |line| line["hello_at"].is_string());
    assert_eq!(line["framework"], "fx⟨U+202E⟩");
    assert_eq!(
        (&line["type"], &line["presence"]),
        (&json!("janitor"), &json!("live"))
    );
    assert_eq!(line["skills"], json!(["invoicing"]));
    let tools = line["tools"].as_array().unwrap();
    let reported: Vec<_> = tools
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), &tool["gated"]))
        .collect();
    assert_eq!(
        reported,
        [
            ("send_email", &json!(true)),
            ("web_search", &json!(false)),
            ("apply_patch", &json!(true)),
            ("send_emai1", &json!(true))
        ]
    );
    assert_eq!(
        tools[0]["strict_faults"],
        json!([{"path": "/tools/0/args_schema/properties/cc", "what": "not listed in required"}])
    );
    assert_eq!(tools[1]["risk"], "critical", "an unknown word is the worst");
    assert_eq!(tools[3]["looks_like"], "send_email");
    assert_eq!(
        line["faults"],
        json!([
            {"path": "/tools/1/name", "what": "missing"},
            {"path": "/setup_schema/0/bs_group", "what": "is missing"},
            {"path": "/setup_schema/0/bs_default", "what": "is missing"},
        ])
    );
    assert_eq!(
        line["credentials"][0]["missing_keys"],
        json!(["SMTP_PASSWORD"])
    );
    assert_eq!(desk.json(&["status", "--json"])["agents"], 1);

    let shown = desk.run(&["agents"]).success().out;
    for part in [
        "default/local",
        "not strict at /tools/0/args_schema/properties/cc",
        "nobody can be asked first",
        "missing SMTP_PASSWORD",
        "looks like send_email",
        "/tools/1/name: missing",
    ] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    assert!(!shown.contains('\u{202e}'), "{shown}");
}

#[tokio::test]
async fn several_copies_of_one_agent_are_shown_and_so_is_a_hello_that_cannot_be_read() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    says(&agent, "hello", &hello()).await;
    for number in 0..40 {
        let once = json!({"v": 1, "instance_id": format!("once-{number}"), "one_shot": true});
        says(&agent, "alive", &once).await;
        let mut asks = hello();
        asks["instance_id"] = once["instance_id"].clone();
        asks["one_shot"] = json!(true);
        says(&agent, "hello", &asks).await;
    }
    for copy in ["copy-1", "copy-2", "copy-1"] {
        says(&agent, "alive", &json!({"v": 1, "instance_id": copy})).await;
    }
    let line = listed(&desk, |line| {
        line["instances"]
            .as_array()
            .is_some_and(|all| all.len() == 2)
    });
    let mut live: Vec<_> = line["instances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|copy| {
            (
                copy["instance_id"].as_str().unwrap(),
                copy["live"].as_bool().unwrap(),
            )
        })
        .collect();
    live.sort_unstable();
    assert_eq!(live, [("copy-1", true), ("copy-2", true)]);
    says(
        &agent,
        "hello",
        &json!({"v": 7, "agent": {"name": "local"}}),
    )
    .await;
    let line = listed(&desk, |line| line["hello_fault"].is_string());
    assert_eq!(
        line["tools"].as_array().unwrap().len(),
        4,
        "what was said before stands"
    );
    desk.run(&["pause", "default/local"]).success();
    let line = listed(&desk, |line| line["state"] == "paused");
    assert_eq!(line["state_by"], "Test Operator");
}

#[tokio::test]
async fn a_copy_that_names_no_tools_leaves_those_that_another_one_named() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    says(&agent, "hello", &hello()).await;
    let before = listed(&desk, |line| line["hello_at"].is_string());
    let silent =
        json!({"v": 1, "agent": {"name": "local"}, "instance_id": "copy-2", "skills": ["second"]});
    says(&agent, "hello", &silent).await;
    let after = listed(&desk, |line| line["skills"] == json!(["second"]));
    for part in ["tools", "credentials"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    let mut none = silent;
    none["tools"] = json!([]);
    none["skills"] = json!(["none"]);
    says(&agent, "hello", &none).await;
    let after = listed(&desk, |line| line["skills"] == json!(["none"]));
    let listed = after["tools"].as_array().unwrap().iter();
    assert!(
        listed.clone().all(|tool| tool["listed"] == false),
        "{after}"
    );
}

#[test]
fn a_control_for_a_name_that_nobody_has_is_set_and_says_so() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    for (agent, known) in [("default/lokal", false), ("default/local", true)] {
        for control in ["pause", "stop", "resume"] {
            let set = desk.json(&[control, agent, "--json"]);
            assert_eq!(set["known"], known, "{control} {agent}");
            let reported = desk.run(&[control, agent]).success().err;
            assert_eq!(
                reported.contains("countersign agents"),
                !known,
                "{agent}: {reported}"
            );
        }
        let bypass = ["bypass", agent, "--up-to", "low", "--for", "1m"];
        let set = desk.json(&[&bypass[..], &["--json"]].concat());
        assert_eq!(set["known"], known, "{agent}");
        let reported = desk.run(&bypass).success().err;
        assert_eq!(
            reported.contains("countersign agents"),
            !known,
            "{reported}"
        );
    }
}

#[tokio::test]
async fn a_pause_of_a_stopped_agent_exits_6_and_new_calls_stay_denied() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    desk.run(&["stop", "default/local"]).success();
    let (exit, code, message) = desk.run(&["pause", "default/local", "--json"]).error();
    assert_eq!((exit, code.as_str()), (6, "invalid_args"), "{message}");
    assert!(message.contains("resume it first"), "{message}");
    agent.ask(&agent.request("r1")).await;
    assert_eq!(desk.show_in_state("r1", "decided")["verdict"], "deny");
    desk.run(&["resume", "default/local"]).success();
    desk.run(&["pause", "default/local"]).success();
}
