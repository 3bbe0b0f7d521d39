//! `rules import` on the command line.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk};
use crate::rules::{file, show};

#[tokio::test]
async fn an_import_brings_no_rule_back_that_a_person_called_wrong_until_that_was_accepted() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let policy = file(&desk, "policy.yaml", "allow: [send_mail]\n");
    let import = [
        "rules",
        "import",
        "--from",
        "selectools",
        &policy,
        "--apply",
        "--json",
    ];
    desk.json(&import);
    agent.ask(&agent.request("r1")).await;
    let decided = desk.show_in_state("r1", "decided");
    let id = decided["rule"].as_str().expect("a rule").to_owned();
    desk.run(&["rules", "regret", "r1"]).success();
    desk.run(&["rules", "remove", &id]).success();
    let (exit, code, message) = desk.run(&import).error();
    assert_eq!((exit, code.as_str()), (6, "verdict_not_allowed"));
    assert!(
        message.contains("--accept-regrets") && !message.contains("enabled"),
        "{message}"
    );
    let accepted = desk.json(&[&import[..], &["--accept-regrets"]].concat());
    assert_eq!(accepted["added"], json!([id]));
}

#[tokio::test]
async fn an_import_tells_of_every_entry_and_changes_nothing_until_it_is_applied() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let policy = "allow:\n  - send_*\n  - '*'\ndeny: [drop_*]\ndeny_when:\n  - {tool: send_mail, arg: to, pattern: '*@evil.example'}\n";
    let policy = file(&desk, "policy.yaml", policy);
    let tried = desk.json(&["rules", "import", "--from", "selectools", &policy, "--json"]);
    assert_eq!(
        (&tried["applied"], &tried["revision"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(tried["carried"].as_array().map(Vec::len), Some(3));
    assert_eq!(tried["left_out"][0]["place"], "allow[1]");
    assert!(
        desk.run(&["rules", "list", "--json"])
            .success()
            .out
            .is_empty()
    );
    let text = desk
        .run(&["rules", "import", "--from", "selectools", &policy])
        .success()
        .out;
    assert!(
        text.contains("[[rule]]") && text.contains("not carried over"),
        "{text}"
    );

    let applied = desk.json(&[
        "rules",
        "import",
        "--from",
        "selectools",
        &policy,
        "--apply",
        "--json",
    ]);
    assert_eq!(applied["added"].as_array().map(Vec::len), Some(3));
    agent.ask(&agent.request("r1")).await;
    assert_eq!(desk.show_in_state("r1", "decided")["verdict"], "approve");
    let evil = json!({ "to": "x@evil.example", "copies": 1 });
    agent.ask(&agent.request("r2").args(evil)).await;
    assert_eq!(desk.show_in_state("r2", "decided")["verdict"], "deny");

    // What somebody turned off stays off.
    let id = show(&desk, "r1")["rule"]
        .as_str()
        .expect("a rule")
        .to_owned();
    desk.json(&["rules", "disable", &id, "--json"]);
    let again = desk.json(&[
        "rules",
        "import",
        "--from",
        "selectools",
        &policy,
        "--apply",
        "--json",
    ]);
    assert_eq!((&again["added"], &again["kept"]), (&json!([]), &json!(3)));
    assert_eq!(
        desk.json(&["rules", "show", &id, "--json"])["enabled"],
        false
    );

    let settings = json!({"permissions": {"allow": ["Bash(npm run test:*)", "Read(./src/**)"], "deny": ["Bash(curl:*)"]}});
    let settings = file(&desk, "settings.json", &settings.to_string());
    let tried = desk.json(&[
        "rules",
        "import",
        "--from",
        "claude-code",
        &settings,
        "--json",
    ]);
    assert_eq!(
        (
            tried["from"].as_str(),
            tried["left_out"].as_array().map(Vec::len)
        ),
        (Some("claude-code"), Some(1))
    );
    let wrong = desk
        .run(&[
            "rules",
            "import",
            "--from",
            "claude-code",
            &policy,
            "--json",
        ])
        .error();
    assert_eq!((wrong.0, wrong.1.as_str()), (6, "invalid_args"));
}
