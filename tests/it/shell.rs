//! What a person meets in a shell: words without a match, standard input, commands given at once.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, ended, eventually};

#[test]
fn a_filter_that_can_find_nothing_is_refused_and_says_what_fits() {
    let desk = Desk::new();
    Console::start(&desk).stop(Signal::SIGTERM);
    let listing: [&[&str]; 3] = [&["inbox"], &["history"], &["export", "--format", "jsonl"]];
    for list in listing {
        for agent in ["x/y/z", "acme/", "X"] {
            let (exit, code, message) = desk
                .run(&[list, &["--agent", agent, "--json"]].concat())
                .error();
            assert_eq!((exit, code.as_str()), (2, "usage"), "{list:?} {agent:?}");
            assert!(message.contains("WORKSPACE/AGENT"), "{message}");
        }
        for agent in ["bot", "acme/bot"] {
            desk.run(&[list, &["--agent", agent]].concat()).success();
        }
    }
    for list in &listing[1..] {
        let swapped = ["--since", "1h", "--until", "2026-01-01", "--json"];
        let (exit, code, message) = desk.run(&[list, &swapped[..]].concat()).error();
        assert_eq!((exit, code.as_str()), (2, "usage"), "{list:?}");
        assert!(message.contains("swap them"), "{message}");
        for word in ["--risk", "--verdict", "--origin", "--state"] {
            let (exit, code, message) = desk
                .run(&[list, &[word, "nope", "--json"][..]].concat())
                .error();
            assert_eq!((exit, code.as_str()), (2, "usage"), "{list:?} {word}");
            assert!(message.contains(word), "{message}");
        }
    }
}

#[tokio::test]
async fn standard_input_stands_for_one_value_and_never_for_a_second_empty_one() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    for arguments in [
        &["approve", "r1", "--args", "-", "--message", "-", "--json"][..],
        &[
            "ask",
            "--tool",
            "t",
            "--args",
            "-",
            "--explain",
            "-",
            "--json",
        ],
    ] {
        let (exit, code, message) = desk.run_with("{\"to\": \"b\"}", arguments).error();
        assert_eq!((exit, code.as_str()), (2, "usage"), "{arguments:?}");
        assert!(message.contains("only one"), "{message}");
    }
    assert_eq!(desk.json(&["show", "r1", "--json"])["state"], "pending");
    let approved = ["approve", "r1", "--args", "-", "--message", "as typed"];
    desk.run_with("{\"to\": \"b\"}", &approved).success();
    let decision = agent.decision("r1").await.unwrap();
    assert_eq!(decision["message"], "as typed");
    assert_eq!(decision["edited_args"], json!({"to": "b"}));
}

#[tokio::test]
async fn a_long_or_secret_setup_value_comes_from_standard_input() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let field = |name: &str, kind: &str, default: Value| {
        json!({
            "bs_name": name, "bs_type": kind, "bs_default": default, "bs_group": "General",
        })
    };
    let hello = json!({
        "v": 1, "instance_id": "one", "agent": {"name": agent.name},
        "setup_schema": [field("greeting", "string_multiline", json!("")), field("dry", "bool", json!(false))],
    });
    let subject = format!("countersign.v1.hello.{}.{}", agent.workspace, agent.name);
    let payload = serde_json::to_vec(&hello).unwrap();
    agent.client.request(subject, payload.into()).await.unwrap();
    let key = |name: &str| {
        let keys = desk.lines(&["setup", "list", "--json"]);
        keys.into_iter().find(|key| key["key"] == name)
    };
    eventually(|| key("greeting").ok_or("not declared"));
    let set = ["setup", "set", "default/local", "greeting", "-"];
    desk.run_with("first\nsecond\n", &set).success();
    assert_eq!(key("greeting").unwrap()["value"], "first\nsecond");
    let bind = ["setup", "bind", "default/local", "dry", "--skips-when", "-"];
    desk.run_with("true\n", &bind).success();
    assert_eq!(key("dry").unwrap()["skips_when"], true);
}

#[test]
fn an_ask_with_an_enrolment_that_others_can_read_warns() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let file = console.agent_json();
    let ask = ["ask", "--tool", "t", "--timeout", "1"];
    assert!(!desk.run(&ask).err.contains("chmod"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let warned = desk.run(&ask);
    assert_eq!(warned.code, 5, "{warned:?}");
    assert!(
        warned.err.contains(&format!("chmod 600 {file}")),
        "{warned:?}"
    );
    // One object and nothing else.
    let asked = desk.run(&[&ask[..], &["--json"]].concat());
    assert_eq!(asked.error().1, "expired");
}

#[test]
fn an_ask_waits_15_minutes_says_so_and_is_no_copy_of_its_agent() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    for _ in 0..3 {
        let asking = desk.start(&["ask", "--tool", "t"], Stdio::null());
        let waiting = eventually(|| {
            desk.lines(&["inbox", "--json"])
                .pop()
                .ok_or("nothing asked")
        });
        let id = waiting["request_id"].as_str().unwrap();
        let request = desk.show_in_state(id, "pending")["request"].clone();
        let at = |name: &str| {
            let text = request[name].as_str().unwrap();
            time::OffsetDateTime::parse(text, &time::format_description::well_known::Rfc3339)
                .unwrap()
        };
        // The timer starts a moment before the request is written.
        let lifetime = (at("expires_at") - at("requested_at")).as_seconds_f64();
        assert!((899.0..=900.0).contains(&lifetime), "{lifetime}");
        assert_eq!(request["agent"]["instance_id"], "ask");
        let agents = desk.lines(&["agents", "--json"]);
        let local = agents.iter().find(|line| line["agent"] == "local").unwrap();
        assert_eq!(local["instances"], serde_json::json!([]));
        desk.run(&["approve", id]).success();
        let asked = ended(asking.wait_with_output().unwrap());
        assert_eq!((asked.code, asked.out.as_str()), (0, "{}\n"));
        assert!(asked.err.contains("up to 15 minutes"), "{asked:?}");
    }
}

#[test]
fn a_rule_whose_time_is_over_is_remarked_and_no_mistake() {
    const LATE: &str = "schema = 1\n[[rule]]\nid = \"mails\"\nname = \"Mails\"\neffect = \"approve\"\n\
                        tool = [\"send_mail\"]\nexpires_at = \"2020-01-01T00:00:00Z\"\n";
    let desk = Desk::new();
    let check = |text: &str, more: &[&str]| {
        desk.run_with(text, &[&["rules", "check", "-"][..], more].concat())
            .success()
    };
    let reported = check(LATE, &[]);
    assert!(
        reported.err.contains("the rule mails approves nothing"),
        "{reported:?}"
    );
    let reported = check(LATE, &["--json"]);
    assert_eq!(reported.err, "");
    let reported = &reported.lines()[0];
    assert_eq!(
        (&reported["ok"], &reported["rules"]),
        (&json!(true), &json!(1))
    );
    let remark = reported["remarks"][0].as_str().unwrap();
    assert!(remark.contains("2020-01-01"), "{remark}");
    for quiet in [
        LATE.replace("2020", "2999"),
        LATE.replace("effect", "enabled = false\neffect"),
    ] {
        assert_eq!(check(&quiet, &["--json"]).lines()[0]["remarks"], json!([]));
        assert_eq!(check(&quiet, &[]).err, "");
    }
}

/// Each starts what it needs where no console runs; the first one does not serve the others.
#[test]
fn commands_given_at_once_where_no_console_runs_are_all_done() {
    let desk = Desk::new();
    Console::start(&desk).stop(Signal::SIGTERM);
    let start = |arguments: &[&str]| desk.start(arguments, Stdio::null());
    let begun = [
        start(&["panic", "on"]),
        start(&["enroll", "acme/one"]),
        start(&["enroll", "acme/two"]),
        start(&["pause", "acme/one"]),
    ];
    for child in begun {
        ended(child.wait_with_output().unwrap()).success();
    }
    let names: Vec<String> = desk
        .lines(&["agents", "--json"])
        .iter()
        .map(|line| line["agent"].as_str().unwrap().to_owned())
        .collect();
    for name in ["one", "two"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    assert_eq!(desk.json(&["status", "--json"])["panic"], true);
    // A console that starts beside such a command waits for its end, too.
    let child = start(&["panic", "off"]);
    let _console = Console::start(&desk);
    ended(child.wait_with_output().unwrap()).success();
    assert_eq!(desk.json(&["status", "--json"])["panic"], false);
}
