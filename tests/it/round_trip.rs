//! An agent asks, an operator answers, the agent goes on.

use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, Running, digest_of, ended, eventually};

/// Starts `ask` and waits until its request is in the inbox; the child and the line.
pub(crate) fn ask(desk: &Desk, arguments: &[&str]) -> (Child, Value) {
    let before = waiting(desk).len();
    let child = desk.start(
        &[&["ask", "--tool", "delete_invoice"], arguments].concat(),
        Stdio::null(),
    );
    let line = eventually(|| {
        let mut lines = waiting(desk);
        if lines.len() > before {
            lines.pop().ok_or(before)
        } else {
            Err(before)
        }
    });
    (child, line)
}

fn waiting(desk: &Desk) -> Vec<Value> {
    desk.lines(&["inbox", "--json"])
}

pub(crate) fn id(line: &Value) -> String {
    line["request_id"].as_str().unwrap().to_owned()
}

pub(crate) fn end(child: Child) -> crate::desk::Ended {
    ended(child.wait_with_output().unwrap())
}

#[test]
fn an_approved_ask_prints_exactly_the_arguments_and_exits_0() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let args = r#"{"invoice_id":"INV-42","amount":1.50,"note":"caf\u00e9 \u202e"}"#;
    let (child, line) = ask(
        &desk,
        &["--args", args, "--risk", "high", "--explain", "a test"],
    );
    assert_eq!(
        (&line["tool"], &line["risk"]),
        (&json!("delete_invoice"), &json!("high"))
    );
    let digest = line["args_digest"].as_str().unwrap();
    desk.run(&["approve", &id(&line), "--digest", digest])
        .success();
    let asked = end(child).success();
    let printed: Value = serde_json::from_str(&asked.out).unwrap();
    assert_eq!(printed, serde_json::from_str::<Value>(args).unwrap());
    assert_eq!(digest_of(&printed), digest);
    let shown = desk.show_when(&id(&line), |shown| shown["delivery"] == "received");
    assert_eq!(shown["receipts"][0]["stage"], "received");
    assert_eq!(shown["decision"]["args_digest"], digest);
}

/// The fields of protocol, section 5.
const DECISION: &str = "v decision_id request_id request_digest verdict message args_digest edited_args \
    response scope origin rule policy_digest decided_by decided_at votes";

#[test]
fn an_ask_with_json_prints_the_decision_as_it_is_on_the_bus() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    for (arguments, verdict) in [
        (&["approve"][..], "approve"),
        (&["deny", "--message", "not\ntoday"], "deny"),
    ] {
        let (child, line) = ask(&desk, &["--args", r#"{"to":"a"}"#, "--json"]);
        let id = id(&line);
        desk.run(&[arguments, &[id.as_str()]].concat()).success();
        let printed = end(child).lines().remove(0);
        let shown = desk.show_in_state(&id, "decided");
        assert_eq!(printed["verdict"], verdict);
        for name in DECISION.split_whitespace() {
            let found = printed
                .get(name)
                .unwrap_or_else(|| panic!("{name} is not in {printed}"));
            let stored = shown["decision"].get(name).unwrap_or(&Value::Null);
            assert_eq!(found, stored, "{name}");
        }
        assert_eq!(printed["request_digest"], shown["request_digest"]);
        assert!(printed["decided_at"].is_string() && printed["stored_at"].is_string());
        assert_eq!(printed["allowed"], verdict == "approve");
        assert_eq!(printed["stream_seq"], shown["stream_seq"]);
        assert_eq!(printed["fault"], Value::Null);
    }
}

#[test]
fn a_modified_ask_prints_the_edited_arguments() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let (child, line) = ask(&desk, &["--args", r#"{"to":"a"}"#, "--json"]);
    desk.run_with(r#"{"to":"b"}"#, &["approve", &id(&line), "--args", "-"])
        .success();
    let decision = end(child).success().lines().remove(0);
    assert_eq!(decision["verdict"], "modify");
    assert_eq!(decision["args"], json!({"to": "b"}));
    assert_eq!(decision["edited_args"], json!({"to": "b"}));
    assert_eq!(decision["args_digest"], digest_of(&json!({"to": "b"})));
    assert_eq!(
        desk.json(&["show", &id(&line), "--json"])["verdict"],
        "modify"
    );
}

#[test]
fn a_denied_ask_prints_nothing_to_run_and_says_why() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let (child, line) = ask(&desk, &[]);
    desk.run(&["deny", &id(&line), "--message", "not on a Friday"])
        .success();
    let asked = end(child);
    assert_eq!((asked.code, asked.out.as_str()), (1, ""));
    assert!(
        asked
            .err
            .contains("denied by Test Operator: not on a Friday"),
        "{asked:?}"
    );
    assert_eq!(
        desk.json(&["show", &id(&line), "--json"])["message"],
        "not on a Friday"
    );
}

#[test]
fn an_ask_that_nobody_answers_expires_with_5() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let (child, line) = ask(&desk, &["--timeout", "1", "--json"]);
    let asked = end(child);
    assert_eq!(
        (asked.code, &asked.lines()[0]["verdict"]),
        (5, &json!("expired"))
    );
    let printed = asked.lines().remove(0);
    assert_eq!(printed["request_id"], line["request_id"]);
    assert_eq!(printed["allowed"], false);
    for name in DECISION.split_whitespace() {
        assert!(printed.get(name).is_some(), "{name} is not in {printed}");
    }
    let shown = desk.show_in_state(&id(&line), "expired");
    assert_eq!(
        (&shown["verdict"], &shown["origin"]),
        (&json!("expired"), &json!("timeout"))
    );
}

#[test]
fn an_ask_that_only_its_own_timer_ends_names_the_time_out_as_who_decided() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let (child, line) = ask(&desk, &["--timeout", "2", "--json"]);
    // The bus goes with its console.
    console.kill9();
    let asked = end(child);
    let printed = asked.lines().remove(0);
    // Somebody may have answered, so "nobody" would be wrong.
    assert_eq!(asked.code, 7, "{printed}");
    assert_eq!(printed["request_id"], line["request_id"]);
    assert_eq!(
        (
            &printed["verdict"],
            &printed["origin"],
            &printed["decided_by"]
        ),
        (&json!("expired"), &json!("timeout"), &json!(null))
    );
}

#[test]
fn an_interrupted_ask_is_withdrawn_and_so_is_one_whose_terminal_closes() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let (child, line) = ask(&desk, &[]);
        let mut child = Running(child);
        child.signal(signal);
        assert_eq!(child.wait(), Some(1), "{signal}");
        let shown = desk.show_in_state(&id(&line), "withdrawn");
        assert_eq!(shown["origin"], "agent");
    }
}

#[test]
fn an_interrupted_ask_that_could_not_be_withdrawn_does_not_say_that_it_was() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let (child, _) = ask(&desk, &[]);
    let mut child = Running(child);
    console.stop(Signal::SIGTERM);
    child.signal(Signal::SIGINT);
    assert_eq!(child.wait(), Some(7));
    let _console = Console::start(&desk);
    assert_eq!(desk.lines(&["inbox", "--json"]).len(), 1);
}

#[test]
fn a_console_that_was_started_to_outlive_its_terminal_does() {
    let desk = Desk::new();
    // What `nohup` does.
    let script = format!(
        "trap '' HUP; exec '{}' serve",
        env!("CARGO_BIN_EXE_countersign")
    );
    let command = desk.command::<&str>(&[]);
    let mut nohup = std::process::Command::new("sh");
    nohup.args(["-c", &script]).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => nohup.env(name, value),
            None => nohup.env_remove(name),
        };
    }
    let mut console = Running(nohup.stdout(Stdio::null()).spawn().unwrap());
    let status = || {
        let ended = desk.run(&["status", "--json"]);
        match ended.code == 0 && ended.lines()[0]["bus"]["connected"] == true {
            true => Ok(()),
            false => Err(ended),
        }
    };
    eventually(status);
    console.signal(Signal::SIGHUP);
    for _ in 0..20 {
        desk.run(&["status", "--json"]).success();
    }
    assert_eq!(console.0.try_wait().unwrap(), None);
    console.signal(Signal::SIGTERM);
    assert_eq!(console.wait(), Some(0));
}

#[test]
fn serve_prints_one_ready_line_and_ends_cleanly_on_each_signal() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let desk = Desk::new();
        let console = Console::start(&desk);
        let ready = console.ready.clone();
        let fields: Vec<&str> = ready
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let wanted = [
            "event",
            "nats_url",
            "data_dir",
            "realm",
            "operator_key",
            "trusted_keys",
            "log",
            "agent_json",
            "metrics",
        ];
        assert_eq!(fields, wanted);
        assert_eq!(ready["event"], "ready");
        assert!(
            ready["nats_url"]
                .as_str()
                .unwrap()
                .starts_with("nats://127.0.0.1:")
        );
        assert!(ready["operator_key"].as_str().unwrap().starts_with('U'));
        let keys = ready["trusted_keys"].as_array().unwrap();
        let mut roles: Vec<&str> = keys
            .iter()
            .map(|key| key["role"].as_str().unwrap())
            .collect();
        roles.sort_unstable();
        assert_eq!(roles, ["auto", "human"]);
        assert!(keys.iter().any(|key| key["key"] == ready["operator_key"]));
        assert_eq!(console.stop(signal), (Some(0), String::new()));
        assert!(!desk.path().join("runtime.json").exists());
    }
}

#[test]
fn a_second_console_in_the_same_folder_is_refused() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let (exit, code, message) = desk.run(&["serve", "--json"]).error();
    assert_eq!((exit, code.as_str()), (2, "environment"));
    assert!(message.contains("another console"), "{message}");
}

#[test]
fn a_decision_can_be_given_while_no_console_runs() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let (child, line) = ask(&desk, &["--args", "[1]"]);
    console.stop(Signal::SIGTERM);
    desk.run(&["approve", &id(&line)]).success();
    // The agent hears of it when the bus is back.
    let _console = Console::start(&desk);
    assert_eq!(end(child).success().out, "[1]\n");
}

#[tokio::test]
async fn an_enrolled_agent_can_ask_and_a_revoked_one_can_not() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let out = desk.path().join("enrolled");
    let line = desk.json(&[
        "enroll",
        "acme/billing-bot",
        "--out",
        out.to_str().unwrap(),
        "--json",
    ]);
    let file = out.join("agent.json");
    assert_eq!(line["agent_json"], file.to_str().unwrap());
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let agent = Agent::connect(&file).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("acme/billing-bot/r1", "pending");
    // A new login that nobody could be given does not end the one that is in use.
    for unfit in [file.join("below"), desk.path().join("countersign.db")] {
        let unfit = unfit.to_str().unwrap();
        let (exit, code, _) = desk
            .run(&["enroll", "acme/billing-bot", "--out", unfit, "--json"])
            .error();
        assert_eq!((exit, code.as_str()), (2, "environment"), "{unfit}");
    }
    let again = Agent::connect(&file).await;
    again.ask(&again.request("r2")).await;
    desk.run(&["revoke", "acme/billing-bot"]).success();
    let file = file.to_str().unwrap();
    let ask = [
        "ask",
        "--tool",
        "t",
        "--timeout",
        "1",
        "--agent-json",
        file,
        "--json",
    ];
    eventually(|| {
        let asked = desk.run(&ask);
        assert_ne!(asked.code, 0, "{asked:?}");
        if asked.code == 2 { Ok(()) } else { Err(asked) }
    });
}
