//! A second reader: what leaves for it, what it may add, and how it ends.

mod http;
mod limits;
mod script;
mod sent;

use std::fs;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, Request, eventually};
use script::Script;

const MARKS: &str = r#"echo '{"findings":[{"at":"/to","code":"other","message":"not like the text","weight":"stop"}]}'"#;

fn pay(agent: &Agent, id: &str, to: &str) -> Request {
    agent
        .request(id)
        .args(json!({ "to": to, "text": "for the ninth" }))
}

fn read(desk: &Desk, id: &str) -> Value {
    let state =
        |shown: &Value| !["asked", "off"].contains(&shown["reader"]["state"].as_str().unwrap());
    desk.show_when(id, state)["reader"].take()
}

fn status(desk: &Desk) -> Value {
    desk.json(&["status", "--json"])["reader"].take()
}

fn rows(desk: &Desk) -> Vec<(String, Value)> {
    let lines = desk.lines(&["audit", "export", "--json"]);
    let rows = lines.into_iter().filter(|row| {
        row["action"]
            .as_str()
            .is_some_and(|of| of.starts_with("reader_"))
    });
    rows.map(|mut row| {
        let detail = match row["detail"].take() {
            Value::String(text) => serde_json::from_str(&text).unwrap(),
            other => other,
        };
        (row["action"].as_str().unwrap().to_owned(), detail)
    })
    .collect()
}

#[tokio::test]
async fn a_mark_stands_apart_and_changes_nothing_else() {
    let desk = Desk::new();
    let script = Script::new(&desk, MARKS);
    script.switch_on(&desk, "");
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p1", "acme")).await;
    let marked = read(&desk, "p1");
    let mark =
        json!({ "at": "/to", "code": "other", "weight": "look", "message": "not like the text" });
    assert_eq!(marked, json!({ "state": "answered", "findings": [mark] }));
    let shown = desk.show_in_state("p1", "pending");
    assert_eq!(shown["findings"], json!([]));
    let text = desk.run(&["show", "p1"]).success().out;
    assert!(
        text.contains("added by the reader, a machine: other /to: \"not like the text\""),
        "{text}"
    );
    // An edit of the marked value is named, and what ran is what the next card has.
    let edited = desk.path().join("edited");
    fs::write(&edited, r#"{"to": "acme", "text": "for the tenth"}"#).unwrap();
    desk.json(&[
        "approve",
        "p1",
        "--args",
        edited.to_str().unwrap(),
        "--json",
    ]);
    agent.ask(&pay(&agent, "p2", "bolt")).await;
    read(&desk, "p2");
    desk.json(&["deny", "p2", "--message", "not bolt", "--json"]);
    fs::write(&edited, r#"{"to": "other", "text": "for the ninth"}"#).unwrap();
    agent.ask(&pay(&agent, "p3", "crow")).await;
    read(&desk, "p3");
    desk.json(&[
        "approve",
        "p3",
        "--args",
        edited.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(
        desk.show_in_state("p3", "decided")["reader"]["findings"][0]["edited"],
        true
    );
    assert_eq!(
        desk.show_in_state("p1", "decided")["reader"]["findings"][0].get("edited"),
        None
    );
    let cards = script.cards();
    let earlier = json!([{ "args": { "to": "acme", "text": "for the tenth" }, "approved": true }]);
    assert_eq!(cards[1]["earlier"], earlier);
    assert_eq!(cards[2]["earlier"][1]["why"], "not bolt");
    let of = status(&desk);
    let counts = [
        "asked",
        "answered",
        "failed",
        "skipped",
        "dropped",
        "marked",
        "marked_denied",
    ];
    assert_eq!(
        counts.map(|name| of[name].as_i64().unwrap()),
        [3, 3, 0, 0, 0, 3, 1],
        "{of}"
    );
    assert_eq!(
        (&of["on"], &of["to"], &of["outside"]),
        (&json!(true), &json!("command"), &json!(false))
    );
    console.stop(Signal::SIGTERM);
    desk.run(&["audit", "verify"]).success();
}

#[tokio::test]
async fn however_it_ends_no_process_is_left_and_nothing_is_asked_twice() {
    let desk = Desk::new();
    let script = Script::new(&desk, "sleep 60 & sleep 60");
    script.switch_on(&desk, "timeout_s = 60");
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p1", "acme")).await;
    eventually(|| (script.cards().len() == 1).then_some(()).ok_or("not asked"));
    console.kill9();
    script.has_ended();
    script.does(MARKS);
    let console = Console::start(&desk);
    assert_eq!(
        read(&desk, "p1"),
        json!({ "state": "failed", "findings": [] })
    );
    script.does("sleep 60 & sleep 60");
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p2", "bolt")).await;
    eventually(|| (script.cards().len() == 2).then_some(()).ok_or("not asked"));
    desk.json(&["reader", "off", "--json"]);
    script.has_ended();
    agent.ask(&pay(&agent, "p3", "crow")).await;
    eventually(|| match status(&desk)["on"] == false {
        true => Ok(()),
        false => Err(status(&desk)),
    });
    assert_eq!(
        desk.show_in_state("p3", "pending")["reader"]["state"],
        "off"
    );
    // What waits without a row is asked once one is on; SIGTERM ends it too.
    script.switch_on(&desk, "timeout_s = 60");
    eventually(|| (script.cards().len() == 3).then_some(()).ok_or("not asked"));
    console.stop(Signal::SIGTERM);
    script.has_ended();
    let to: Vec<Value> = script
        .cards()
        .iter()
        .map(|card| card["args"]["to"].clone())
        .collect();
    assert_eq!(to, ["acme", "bolt", "crow"]);
    let words: Vec<String> = rows(&desk)
        .into_iter()
        .map(|(action, of)| match of["failed"].as_str() {
            Some(failed) => format!("{action} {failed}"),
            None => action,
        })
        .collect();
    let read = ["reader_on", "reader_asked", "reader_answered stopped"];
    assert_eq!(words[..3], read);
    assert_eq!(words[3..6], read);
    assert_eq!(
        words[6..],
        [
            "reader_off",
            "reader_on",
            "reader_asked",
            "reader_answered stopped"
        ]
    );
}

#[tokio::test]
async fn faulty_settings_stop_a_start_and_switch_a_running_reader_off() {
    let desk = Desk::new();
    let script = Script::new(&desk, MARKS);
    script.switch_on(&desk, "");
    let console = Console::start(&desk);
    eventually(|| match status(&desk)["on"] == true {
        true => Ok(()),
        false => Err(status(&desk)),
    });
    script.switch_on(&desk, "per_hours = 3");
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p1", "acme")).await;
    assert_eq!(
        desk.show_in_state("p1", "pending")["reader"]["state"],
        "off"
    );
    let of = status(&desk);
    assert_eq!(
        (&of["on"], &of["last_error"]),
        (&json!(false), &json!("config"))
    );
    console.stop(Signal::SIGTERM);
    assert_eq!(script.cards().len(), 0);
    let ended = desk.run(&["serve", "--json"]);
    let (code, word, message) = ended.error();
    assert_eq!((code, word.as_str()), (2, "environment"));
    assert!(
        message.contains("config.toml, line 4: [reader] per_hours "),
        "{message}"
    );
    // A program that is not there keeps nothing from starting.
    fs::write(
        desk.path().join("config.toml"),
        "[reader]\nworkspaces = [\"default\"]\ncommand = [\"/no/such\"]\n",
    )
    .unwrap();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p2", "acme")).await;
    assert_eq!(read(&desk, "p2")["state"], "skipped");
    let of = status(&desk);
    assert_eq!(
        (&of["on"], &of["last_error"]),
        (&json!(true), &json!("missing"))
    );
    let found = desk.run(&["doctor", "--json"]).lines();
    let check = found
        .iter()
        .find(|check| check["check"] == "reader")
        .unwrap();
    assert_eq!(check["verdict"], "warning", "{check}");
    console.stop(Signal::SIGTERM);
}

#[tokio::test]
async fn made_up_cards_are_in_no_figure_and_in_the_log() {
    let desk = Desk::new();
    let script = Script::new(&desk, MARKS);
    script.switch_on(&desk, "");
    let console = Console::start(&desk);
    let tried = desk.json(&["reader", "try", "--json"]);
    let counts = ["found", "of", "of_good", "failed"];
    assert_eq!(
        counts.map(|name| tried[name].as_i64().unwrap()),
        [0, 6, 6, 0],
        "{tried}"
    );
    assert_eq!(
        (script.cards().len(), &status(&desk)["asked"]),
        (12, &json!(0))
    );
    script.does("exit 1");
    let failed = desk.run(&["reader", "try", "--json"]);
    assert_eq!((failed.code, &failed.lines()[0]["failed"]), (1, &json!(12)));
    console.stop(Signal::SIGTERM);
    let asked = rows(&desk)
        .into_iter()
        .filter(|row| row.0 == "reader_asked");
    assert!(asked.clone().count() >= 12 && asked.into_iter().all(|row| row.1["try"] == true));
    let none = desk.run(&[
        "reader",
        "use",
        "ollama",
        "--workspaces",
        "default",
        "--model",
        "m",
        "--json",
    ]);
    assert_eq!(none.error().0, 1);
    let kept = fs::read_to_string(desk.path().join("config.toml")).unwrap();
    assert!(
        kept.contains("command"),
        "nothing is written where it fails: {kept}"
    );
}
