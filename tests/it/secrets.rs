//! What looks like a secret is hidden from whoever reads, wherever an agent or a person wrote it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::desk::{Agent, Console, Desk, Request, Running, digest_of, ended, eventually};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Letters and digits that nobody can guess from their place.
fn letters(place: &str, count: usize) -> String {
    digest_of(&json!(place)).trim_start_matches("sha256:")[..count].to_owned()
}

/// Secrets that are known by their shape alone, one of each kind for a place.
fn tokens(place: &str) -> Vec<String> {
    let l = |count| letters(place, count);
    let upper = l(16).to_uppercase();
    let seed: String = l(56)
        .to_uppercase()
        .chars()
        .map(|c| if "0189".contains(c) { 'Q' } else { c })
        .collect();
    vec![
        format!("sk-{}", l(32)),
        format!("ghp_{}", l(36)),
        format!("github_pat_{}", l(40)),
        format!("AKIA{upper}"),
        format!("xoxb-{}", l(30)),
        format!("eyJ{}.eyJ{}.{}", l(20), l(24), l(28)),
        format!("SU{seed}"),
        format!(
            "-----BEGIN PRIVATE KEY-----\nMII{}\n-----END PRIVATE KEY-----",
            l(40)
        ),
    ]
}

/// What must not be seen of a token: a private key is more than one line.
fn tell_tale(token: &str) -> &str {
    token.split('\n').nth(1).unwrap_or(token)
}

/// Secrets in a sentence, and the sentence.
fn sentence(place: &str, all: &mut Vec<String>) -> String {
    let mut text = format!("{place}:");
    for token in tokens(place) {
        text.push_str(&format!(" use {token} now"));
        all.push(tell_tale(&token).to_owned());
    }
    for (before, after) in [
        ("https://ada:", "@host.example/x"),
        ("curl -H 'Authorization: Bearer ", "' x"),
        ("mysql --password ", " -e x"),
        ("{\"api_key\": \"", "\"}"),
        ("PGPASSWORD=", "; psql"),
    ] {
        let secret = format!("w{}", letters(&format!("{place}{before}"), 16));
        text.push_str(&format!("\n{before}{secret}{after}"));
        all.push(secret);
    }
    text
}

/// A request with secrets in every field that takes text, and the secrets.
fn full_of_secrets(agent: &Agent, id: &str) -> (Request, Vec<String>) {
    let mut all = Vec::new();
    let mut named = |place: &str| {
        let secret = letters(place, 14);
        all.push(secret.clone());
        secret
    };
    let args = json!({
        "password": named("args.password"),
        "deep": [{"clientSecret": [named("args.deep")]}],
        "note": "to be filled",
        "to": "maria@acme.example",
    });
    let native = json!({"api_key": named("native")});
    let mut args = args;
    let mut words = |place: &str| json!(sentence(place, &mut all));
    args["note"] = words("args.note");
    let raw = json!(args.to_string());
    let request = agent.request(id).args(args);
    let request = request
        .set("title", words("title"))
        .set("reason", words("reason"))
        .set("preview", words("preview"))
        .set(
            "confirm",
            json!({"command": words("command"), "explanation": words("explanation")}),
        )
        .set("args_raw", raw)
        .set(
            "tool",
            json!({"name": "send_mail", "description": words("description")}),
        )
        .set("effective", json!({"fixed": {"x": words("fixed")}}))
        .set(
            "history",
            json!([{"role": "user", "content": words("history")}]),
        )
        .set("metadata", json!({"m": words("metadata")}))
        .set("native", native)
        .set("run_id", words("run"))
        .set("field_of_tomorrow", words("tomorrow"))
        .set(
            "traceparent",
            json!(format!("00-{TRACE}-b7ad6b7169203331-01")),
        );
    (request, all)
}

fn holds_none(text: &str, secrets: &[String], what: &str) {
    for secret in secrets {
        assert!(!text.contains(secret), "{what} tells {secret}: {text}");
    }
}

/// `show --json` without what the contract calls exact.
fn for_people(desk: &Desk, id: &str) -> String {
    let mut shown = desk.json(&["show", id, "--json"]);
    for exact in ["request", "request_text", "decision"] {
        shown.as_object_mut().unwrap().remove(exact);
    }
    shown.to_string()
}

async fn rows(desk: &Desk, action: &str) -> i64 {
    let mut db = SqliteConnectOptions::new()
        .filename(desk.path().join("countersign.db"))
        .read_only(true)
        .connect()
        .await
        .unwrap();
    let count = sqlx::query_scalar("SELECT count(*) FROM audit WHERE action = ?")
        .bind(action)
        .fetch_one(&mut db)
        .await
        .unwrap();
    db.close().await.unwrap();
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_shows_a_secret_to_a_person() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let mut watch = Running(desk.start(&["watch"], Stdio::null()));
    let mut watched = BufReader::new(watch.0.stdout.take().unwrap());
    let mut announced = BufReader::new(watch.0.stderr.take().unwrap());
    announced.read_line(&mut String::new()).unwrap();

    let (request, mut secrets) = full_of_secrets(&agent, "r1");
    agent.ask(&request).await;
    let shown = desk.show_in_state("r1", "pending");
    assert_eq!(shown["request"], request.0, "exact, as the contract says");
    // A rejected message holds some too, and so does the name of a tool.
    let broken = sentence("broken", &mut secrets);
    let broken = format!("{{\"v\": 1, \"note\": {}", json!(broken));
    agent.publish("request", "r2", broken).await;
    desk.show_in_state("r2", "rejected");
    let token = &tokens("tool")[0];
    secrets.push(token.clone());
    let odd = agent.request("r3").set("tool", json!({ "name": token }));
    agent.ask(&odd).await;
    desk.show_in_state("r3", "pending");
    let span = json!({
        "v": 1, "type": "span", "trace_id": TRACE, "span_id": "b7ad6b7169203331", "name": sentence("span", &mut secrets),
        "kind": "tool", "started_at": "2026-11-21T12:00:00.000Z", "status": "waiting",
        "input": {"x": sentence("input", &mut secrets), "api_key": "k"}, "error": {"message": sentence("error", &mut secrets)},
    });
    let subject = format!("countersign.v1.event.{}.{}", agent.workspace, agent.name);
    let reported = agent.client.request(subject, span.to_string().into()).await;
    reported.unwrap();
    eventually(|| {
        let shown = desk.run(&["trace", TRACE, "--json"]);
        (shown.code == 0 && shown.lines()[0]["spans"] == 1)
            .then_some(())
            .ok_or(shown)
    });

    let message = sentence("message", &mut secrets);
    let edited = json!({"to": "x", "password": letters("edited", 14)}).to_string();
    secrets.push(letters("edited", 14));
    let approved = desk.run_with(
        &edited,
        &["approve", "r1", "--args", "-", "--message", &message],
    );
    holds_none(&approved.out, &secrets, "approve");
    assert_eq!(approved.code, 0, "{approved:?}");
    let decision = desk.show_in_state("r1", "decided")["decision"].clone();
    let receipt = json!({
        "v": 1, "decision_id": decision["decision_id"], "stage": "failed", "at": "2026-11-21T12:00:00.000Z",
        "message": sentence("receipt", &mut secrets), "degraded": [tokens("degraded")[1]],
    });
    secrets.push(tokens("degraded")[1].clone());
    agent
        .client
        .request(
            "countersign.v1.receipt.default.local.r1",
            receipt.to_string().into(),
        )
        .await
        .unwrap();
    desk.show_when("r1", |shown| shown["delivery"] == "failed");

    for arguments in [
        &["show", "r1"][..],
        &["show", "r2"],
        &["show", "r3"],
        &["inbox"],
        &["inbox", "--json"],
        &["history"],
        &["history", "--json"],
        &["trace", TRACE],
        &["trace", "r1", "--json"],
        &["status"],
        &["status", "--json"],
        &["doctor"],
    ] {
        let ran = desk.run(arguments);
        holds_none(&ran.out, &secrets, &arguments.join(" "));
        holds_none(&ran.err, &secrets, &arguments.join(" "));
    }
    for id in ["r1", "r2", "r3"] {
        holds_none(&for_people(&desk, id), &secrets, "show --json");
    }
    let mut line = String::new();
    let mut lines = String::new();
    while !line.contains("receipt") {
        line.clear();
        assert!(watched.read_line(&mut line).unwrap() > 0, "{lines}");
        lines.push_str(&line);
    }
    holds_none(&lines, &secrets, "watch");
    // One value, one placeholder: in each run and place.
    let password = request.0["args"]["password"].as_str().unwrap();
    let shown = desk.run(&["show", "r1"]).success().out;
    let stand_in = shown.split("\"password\": ").nth(1).unwrap();
    let stand_in = &stand_in[..stand_in.find('⟩').unwrap()];
    assert!(
        stand_in.starts_with("⟨hidden: 14 characters, "),
        "{stand_in}"
    );
    assert!(desk.run(&["show", "r1"]).out.contains(stand_in));
    assert!(!shown.contains(password));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reveal_shows_the_values_and_is_audited_before() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let (request, secrets) = full_of_secrets(&agent, "r1");
    agent.ask(&request).await;
    agent.ask(&agent.request("r2")).await;
    desk.show_in_state("r2", "pending");
    desk.run(&["show", "r2", "--reveal"]).success();
    assert_eq!(rows(&desk, "reveal").await, 0, "nothing was hidden");
    let shown = desk.run(&["show", "r1", "--reveal"]).success().out;
    for secret in &secrets {
        assert!(shown.contains(secret), "{secret} is not in {shown}");
    }
    assert_eq!(rows(&desk, "reveal").await, 1);
    let verified = desk.json(&["audit", "verify", "--json"]);
    assert_eq!(verified["ok"], true, "{verified}");
    // Without a console too.
    console.stop(Signal::SIGTERM);
    desk.run(&["show", "r1", "--reveal"]).success();
    assert_eq!(rows(&desk, "reveal").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_in_a_script_leaves_no_secret_in_its_log() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let child = desk.start(&["ask", "--tool", "t", "--args", "{}"], Stdio::null());
    let line: Value = eventually(|| {
        let listed = desk.run(&["inbox", "--json"]);
        listed.lines().pop().ok_or(listed.code)
    });
    let mut secrets = Vec::new();
    let message = sentence("denied", &mut secrets);
    let id = line["request_id"].as_str().unwrap();
    desk.run(&["deny", id, "--message", &message]).success();
    let asked = ended(child.wait_with_output().unwrap());
    assert_eq!(asked.code, 1);
    assert!(
        asked.err.contains("denied by Test Operator"),
        "{}",
        asked.err
    );
    holds_none(&asked.err, &secrets, "ask");
    // Neither does a command that was written wrongly.
    let wrong = desk.run(&["inbox", "nats://ada:pw-of-ada@host"]);
    assert_eq!(wrong.code, 2);
    holds_none(&wrong.err, &["pw-of-ada".to_owned()], "usage");
}
