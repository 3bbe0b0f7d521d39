//! Text of an agent never reaches the terminal, or anybody's eyes, as it came.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, Running};

/// Clears the screen, turns text around, hides, and forges a mark.
const EVIL: &str = "a\u{1b}[2J\u{202e}b\u{200b}\u{7}\n\u{feff}\u{e0041}\u{85}⟨U+0041⟩";

fn is_clean(text: &str) {
    let bad = |c: &char| *c != '\n' && *c != '⟨' && countersign_wire::is_hostile(*c);
    let found: Vec<char> = text.chars().filter(bad).collect();
    assert!(found.is_empty(), "{found:?} in {text:?}");
}

#[tokio::test]
async fn no_command_prints_a_hostile_character() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let watch = desk.start(&["watch"], Stdio::null());
    let mut watch = Running(watch);
    let mut watched = BufReader::new(watch.0.stdout.take().unwrap());
    let mut announced = BufReader::new(watch.0.stderr.take().unwrap());
    announced.read_line(&mut String::new()).unwrap();
    let request = agent
        .request("r1")
        .args(json!({ EVIL: EVIL, "list": [EVIL] }));
    let request = request
        .set("tool", json!({ "name": EVIL, "description": EVIL }))
        .set("title", json!(EVIL))
        .set("reason", json!(EVIL))
        .set("preview", json!(EVIL))
        .set("risk", json!(EVIL));
    agent.ask(&request).await;
    desk.show_in_state("r1", "pending");
    let mut line = String::new();
    watched.read_line(&mut line).unwrap();
    assert!(line.contains("r1"), "{line}");
    is_clean(&line);
    let show = desk.run(&["show", "r1"]).success();
    for mark in ["⟨U+001B⟩", "⟨U+202E⟩", "⟨U+200B⟩", "⟨U+27E8⟩"] {
        assert!(show.out.contains(mark), "{mark} is not in {}", show.out);
    }
    for arguments in [
        &["inbox"][..],
        &["inbox", "--json"],
        &["show", "r1"],
        &["show", "r1", "--json"],
        &["history"],
        &["history", "--json"],
        &["status", "--json"],
    ] {
        is_clean(&desk.run(arguments).success().out);
    }
    let ended = desk.run(&["show", EVIL, "--json"]);
    is_clean(&ended.err);
    let deny = desk
        .run(&["deny", "r1", "--message", EVIL, "--json"])
        .success();
    is_clean(&deny.out);
    is_clean(&desk.run(&["show", "r1"]).success().out);
    is_clean(&desk.run(&["history", "--json"]).success().out);
}

#[tokio::test]
async fn in_json_the_request_keeps_its_exact_values_and_human_fields_carry_marks() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let args = json!({ EVIL: EVIL });
    let request = agent
        .request("r1")
        .args(args.clone())
        .set("risk", json!("extreme\u{202e}"))
        .set("tool", json!({ "name": "a\u{202e}b" }));
    let pretty = serde_json::to_vec_pretty(&request.0).unwrap();
    agent.publish("request", "r1", pretty).await;
    let shown = desk.show_in_state("r1", "pending");
    assert_eq!(shown["request"], request.0);
    assert_eq!(shown["request"]["args"], args);
    assert_eq!(shown["tool"], "a⟨U+202E⟩b");
    assert_eq!(desk.json(&["inbox", "--json"])["tool"], "a⟨U+202E⟩b");
    let warnings = shown["warnings"].as_array().unwrap();
    for warning in warnings {
        for field in ["code", "at", "message"] {
            assert!(warning[field].is_string(), "{field} of {warning}");
        }
    }
    let unknown = warnings
        .iter()
        .find(|warning| warning["code"] == "unknown_risk");
    let words =
        "The agent's word for the risk is not known and counts as critical: extreme⟨U+202E⟩.";
    assert_eq!(unknown.unwrap()["message"], words);
    let person = desk.run(&["show", "r1"]).success().out;
    assert!(
        person.contains(&format!("{words} (unknown_risk)")),
        "{person}"
    );
    let codes: Vec<&Value> = warnings.iter().map(|warning| &warning["code"]).collect();
    assert!(codes.contains(&&json!("hidden_characters")), "{codes:?}");
}

#[tokio::test]
async fn metadata_that_no_value_can_hold_hides_nothing_else() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for (id, kept) in [
        ("r1", r#""metadata":{"s":"\ud800"}"#),
        ("r2", r#""native":{"n":1e999}"#),
    ] {
        let request = agent
            .request(id)
            .args(json!({ "path": "/etc/\u{202e}dwssap" }))
            .set("title", json!("findable"));
        let mut text = String::from_utf8(request.bytes()).unwrap();
        text.insert_str(1, &format!("{kept},"));
        agent.publish("request", id, text.as_str()).await;
        let shown = desk.show_in_state(id, "pending");
        assert_eq!(shown["request"]["args"], request.0["args"]);
        assert_eq!(shown["request_text"], text);
        let warned = |warning: &Value| {
            warning["code"] == "hidden_characters" && warning["at"] == "/args/path"
        };
        assert!(
            shown["warnings"].as_array().unwrap().iter().any(warned),
            "{shown}"
        );
        let person = desk.run(&["show", id]).success().out;
        for words in ["Arguments", "/etc/⟨U+202E⟩dwssap", "hidden_characters"] {
            assert!(person.contains(words), "{words} is not in {person}");
        }
        assert!(!person.contains("not JSON"), "{person}");
    }
    let found = desk.lines(&["history", "--query", "findable", "--json"]);
    assert_eq!(found.len(), 3, "two requests and the end: {found:?}");
}

/// Text that plain serde_json reads as JSON of a thousand levels.
fn bomb() -> Value {
    (0..10).fold(json!(1), |inside, _| {
        let nested = format!("{}{inside}{}", "[".repeat(100), "]".repeat(100));
        json!({ "$serde_json::private::RawValue": nested })
    })
}

#[tokio::test]
async fn json_that_unfolds_without_end_ends_no_console() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let bomb = bomb();
    agent
        .ask(&agent.request("r1").set("args", bomb.clone()))
        .await;
    agent
        .ask(&agent.request("r2").set("metadata", bomb.clone()))
        .await;
    for (word, id) in [("withdraw", "r3"), ("tighten", "r4"), ("receipt", "r2")] {
        let body = json!({ "v": 1, "reason": bomb, "expires_at": bomb, "message": bomb });
        agent.publish(word, id, body.to_string()).await;
    }
    for word in ["hello", "event", "alive"] {
        let body = json!({ "v": 1, "agent": { "name": "local" }, "setup_schema": bomb, "type": "span", "error": bomb });
        let subject = format!("countersign.v1.{word}.default.local");
        agent
            .client
            .publish(subject, body.to_string().into())
            .await
            .unwrap();
    }
    // Behind something that a hello may have.
    let twice = format!(
        r#"{{"v":1,"x":1,"x":1,"agent":{{"name":"local"}},"setup_schema":{bomb},"skills":{bomb},"tools":[{{"name":"t","args_schema":{bomb}}}]}}"#
    );
    let subject = "countersign.v1.hello.default.local";
    agent.client.publish(subject, twice.into()).await.unwrap();
    agent.ask(&agent.request("r5")).await;
    desk.show_in_state("r5", "pending");
    let shown = desk.show_in_state("r1", "rejected");
    assert_eq!(shown["error_code"], "not_json");
    assert_eq!(shown["request"], Value::Null);
    assert_eq!(
        desk.show_in_state("r2", "pending")["request"]["metadata"],
        bomb.to_string()
    );
    for arguments in [
        &["show", "r1"][..],
        &["show", "r2"],
        &["approve", "r2"],
        &["history"],
        &["agents"],
        &["status"],
    ] {
        desk.run(arguments).success();
    }
}

#[tokio::test]
async fn a_large_request_is_shown_whole() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let text: String = (0..40_000).map(|number| format!("{number} ")).collect();
    let request = agent
        .request("r1")
        .args(json!({ "text": text, "end": "here" }));
    agent.ask(&request).await;
    assert_eq!(desk.show_in_state("r1", "pending")["request"], request.0);
    let shown = desk.run(&["show", "r1"]).success().out;
    assert!(shown.contains("39999") && shown.contains("\"end\": \"here\""));
}

#[tokio::test]
async fn ten_thousand_marks_on_one_letter_are_told_and_not_drawn() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let stacked = format!("e{}", "\u{301}".repeat(10_000));
    let request = agent.request("r1").args(json!({ "note": &stacked }));
    let request = request
        .set("tool", json!({ "name": &stacked }))
        .set("title", json!(&stacked));
    agent.ask(&request).await;
    desk.show_in_state("r1", "pending");
    for arguments in [
        &["show", "r1"][..],
        &["show", "r1", "--json"],
        &["inbox"],
        &["inbox", "--json"],
        &["history", "--json"],
        &["deny", "r1", "--message", &stacked, "--json"],
        &["show", "r1"],
    ] {
        let reported = desk.run(arguments).success().out;
        let drawn = reported
            .split(|c| c != '\u{301}')
            .map(|run| run.chars().count());
        assert!(drawn.max().is_some_and(|most| most <= 8), "{arguments:?}");
        assert!(reported.contains("e\u{301}"), "{arguments:?}");
    }
    let shown = desk.json(&["show", "r1", "--json"]);
    assert_eq!(shown["request"]["args"]["note"], stacked, "its exact value");
}
