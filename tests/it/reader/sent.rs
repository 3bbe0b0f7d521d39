//! What leaves for a second reader, and of which calls.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::script::Script;
use super::{MARKS, pay, read};
use crate::desk::{Agent, Console, Desk, eventually};

const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

/// A call with a canary in each field that is never sent, and in values that are hidden.
fn with_canaries(agent: &Agent, id: &str) -> crate::desk::Request {
    let args = json!({
        "to": "acme", "text": "for the ninth", "password": "canary-secret-1",
        "note": format!("use {TOKEN} now"), "link": "https://pay.example@evil.example/x",
    });
    let mut request = agent.request(id).args(args);
    let texts = "reason title preview thread_id run_id call_id args_raw";
    for field in texts.split(' ') {
        request = request.set(field, json!(format!("canary-{field}")));
    }
    let tool = json!({
        "name": "pay", "description": "canary-description", "version": "canary-version",
        "mcp_server": "canary-server",
    });
    let digest = json!({ "alg": "canary-alg", "value": "canary-value" });
    request
        .set("tool", tool)
        .set(
            "agent",
            json!({ "name": agent.name, "version": "canary-agent", "instance": "canary-instance" }),
        )
        .set(
            "history",
            json!([{ "role": "user", "content": "canary-history" }]),
        )
        .set(
            "group",
            json!({ "id": "canary-group", "size": 2, "index": 0 }),
        )
        .set("skill", json!({ "name": "canary-skill" }))
        .set("native_digest", digest)
        .set("metadata", json!({ "canary-metadata": "canary-metadata" }))
        .set("native", json!({ "x": "canary-native" }))
        .set("canary-extra", json!("canary-extra"))
        .set(
            "traceparent",
            json!("00-ca7a51ca7a51ca7a51ca7a51ca7a51ca-ca7a51ca7a51ca7a-01"),
        )
}

#[tokio::test]
async fn nothing_leaves_but_the_call_itself_and_what_is_hidden_is_not_in_it() {
    let desk = Desk::new();
    let script = Script::new(&desk, MARKS);
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&with_canaries(&agent, "canary-id-1")).await;
    desk.show_in_state("canary-id-1", "pending");
    let edited = desk.path().join("edited");
    let args = json!({ "to": "acme", "api_key": "canary-secret-2", "text": "x", "link": "https://acme.example/x" });
    fs::write(&edited, args.to_string()).unwrap();
    let edited = edited.to_str().unwrap();
    desk.json(&["approve", "canary-id-1", "--args", edited, "--json"]);
    agent.ask(&with_canaries(&agent, "canary-id-2")).await;
    desk.show_in_state("canary-id-2", "pending");
    // A secret that a name would cut in two, and names of people.
    let why = format!(
        "Test Operator says no: {TOKEN}, password=operator-canary-7, ask the test operator"
    );
    desk.json(&["deny", "canary-id-2", "--message", &why, "--json"]);
    script.switch_on(&desk, "");
    agent.ask(&with_canaries(&agent, "canary-id-3")).await;
    read(&desk, "canary-id-3");
    let [card] = &script.cards()[..] else {
        panic!("one card");
    };
    let fields = card.as_object().unwrap().keys();
    let mut fields: Vec<&str> = fields.map(String::as_str).collect();
    fields.sort_unstable();
    let all = "args compared cut earlier effect today tool v";
    assert_eq!(fields, all.split(' ').collect::<Vec<_>>());
    let earlier = card["earlier"].as_array().unwrap();
    let of = |at: usize| {
        let fields = earlier[at].as_object().unwrap().keys();
        fields.map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        (earlier.len(), of(0), of(1)),
        (2, "args approved".into(), "args approved why".into())
    );
    let password = card["args"]["password"].as_str().unwrap();
    assert!(password.starts_with("(hidden: 15 characters"), "{password}");
    assert!(!card["compared"]["differs"].as_array().unwrap().is_empty());
    let text = card.to_string();
    for secret in [
        "canary", "ca7a51", TOKEN, "Test", "perator", "default", "local",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("someone says no"), "{text}");
    // It reads blind.
    let shown = desk.show_in_state("canary-id-3", "pending");
    let findings = shown["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        let (code, message) = (
            finding["code"].as_str().unwrap(),
            finding["message"].as_str().unwrap(),
        );
        assert!(!text.contains(message) && !text.contains(code), "{finding}");
    }
    console.stop(Signal::SIGTERM);
}

#[tokio::test]
async fn only_calls_that_wait_for_a_person_in_its_workspaces_are_asked_about() {
    let desk = Desk::new();
    let script = Script::new(&desk, MARKS);
    script.switch_on(&desk, "at_once = 1");
    let console = Console::start(&desk);
    let rules = desk.path().join("rules.toml");
    let rule = "schema = 1\n[[rule]]\nid = \"mails\"\neffect = \"approve\"\nexpires_at = \"2999-01-01T00:00:00Z\"\n\
        tool = [\"send_mail\"]\nargs.\"/to\" = { glob = \"*@example.org\" }\n";
    fs::write(&rules, rule).unwrap();
    desk.json(&["rules", "apply", rules.to_str().unwrap(), "--json"]);
    let folder = desk.path().join("lab");
    desk.json(&[
        "enroll",
        "lab/bot",
        "--out",
        folder.to_str().unwrap(),
        "--json",
    ]);
    let enrolment = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    let (agent, other) = (
        Agent::connect(console.agent_json()).await,
        Agent::connect(enrolment).await,
    );
    let question = agent.request("q1").set("kind", json!("question"));
    let question = question
        .without("tool")
        .without("args")
        .without("args_digest");
    let question = question.set("question", json!({ "text": "Go?", "allow_freeform": true }));
    agent
        .ask(&question.set("allowed_verdicts", json!(["respond"])))
        .await;
    agent.ask(&agent.request("r1")).await;
    other.ask(&pay(&other, "o1", "acme")).await;
    // The last in line: who is asked about is asked before it.
    agent.ask(&pay(&agent, "p1", "acme").lasting(600_000)).await;
    assert_eq!(read(&desk, "p1")["state"], "answered");
    for (id, state) in [("q1", "pending"), ("r1", "decided"), ("o1", "pending")] {
        assert_eq!(
            desk.show_in_state(id, state)["reader"]["state"],
            "off",
            "{id}"
        );
    }
    assert_eq!(script.cards().len(), 1);
    console.stop(Signal::SIGTERM);
}

#[tokio::test]
async fn claude_code_gets_its_line_a_few_variables_and_an_empty_folder() {
    let home = tempfile::tempdir().unwrap();
    let programs = home.path().join(".local/bin");
    fs::create_dir_all(&programs).unwrap();
    let path = |name: &str| home.path().join(name).display().to_string();
    let help = "-p --restricted --output-format --tools --strict-mcp-config --setting-sources --settings \
        --no-session-persistence --system-prompt --model";
    // A stand-in that keeps what it gets.
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --help ]; then echo '{help}'; exit; fi\n\
         for word in \"$@\"; do printf '%s\\0' \"$word\"; done > {}\nenv | cut -d= -f1 | sort > {}\nls -A > {}\n\
         cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' ' > {}\ncat > {}\n\
         echo '{{\"type\":\"result\",\"is_error\":true,\"result\":\"Invalid API key · Please run /login\"}}'\n",
        path("words"),
        path("env"),
        path("folder"),
        path("processes"),
        path("card")
    );
    fs::write(programs.join("claude"), text).unwrap();
    fs::set_permissions(programs.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let desk = Desk::new()
        .with("HOME", home.path().display().to_string())
        .with("PATH", "/usr/bin:/bin")
        .with("ANTHROPIC_API_KEY", "canary-key")
        .with("AWS_SECRET_ACCESS_KEY", "canary-other");
    let section =
        "[reader]\nworkspaces = [\"default\"]\nprogram = \"claude-code\"\nmodel = \"m-1\"\n";
    fs::write(desk.path().join("config.toml"), section).unwrap();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p1", "mail @/etc/passwd")).await;
    assert_eq!(read(&desk, "p1")["state"], "failed");
    let status = eventually(|| match super::status(&desk) {
        of if of["last_error"] == "login" => Ok(of),
        of => Err(of),
    });
    assert_eq!(
        (&status["outside"], &status["to"]),
        (&json!(true), &json!("claude-code"))
    );
    let kept = |name: &str| fs::read_to_string(path(name)).unwrap();
    let words = kept("words");
    let words: Vec<&str> = words.trim_end_matches('\0').split('\0').collect();
    let settings = "{\"permissions\":{\"deny\":[\"*\"]},\"disableAllHooks\":true}";
    assert_eq!(
        words[..13],
        [
            "-p",
            "--restricted",
            "--output-format",
            "json",
            "--tools",
            "",
            "--strict-mcp-config",
            "--setting-sources",
            "",
            "--settings",
            settings,
            "--no-session-persistence",
            "--system-prompt"
        ]
    );
    assert!(
        words[13].starts_with("You are a second reader."),
        "{words:?}"
    );
    assert_eq!(words[14..], ["--model", "m-1"]);
    let known =
        "ANTHROPIC_API_KEY DISABLE_AUTOUPDATER DISABLE_TELEMETRY HOME LANG OLDPWD PATH PWD SHLVL _";
    for name in kept("env").lines() {
        let is_proxy = name.to_lowercase().ends_with("_proxy");
        assert!(
            known.split(' ').any(|known| known == name) || is_proxy,
            "{name}"
        );
    }
    assert_eq!(kept("folder"), "");
    assert!(kept("env").contains("ANTHROPIC_API_KEY"));
    let processes = kept("processes");
    assert!(processes.contains("reader guard") && !processes.contains("canary-key"));
    let card = kept("card");
    assert!(card.starts_with('{') && !card.contains('@'), "{card}");
    let card: Value = serde_json::from_str(&card).unwrap();
    assert_eq!(card["args"]["to"], "mail @/etc/passwd");
    console.stop(Signal::SIGTERM);
    for shown in ["status", "doctor"] {
        assert!(!desk.run(&[shown, "--json"]).out.contains("canary-key"));
    }
}
