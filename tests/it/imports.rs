//! `rules import` on the command line.

mod cases;

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

    let settings = json!({"permissions": {"allow": ["Bash(npm run test:*)", "Write(./src/**)"], "deny": ["Bash(curl:*)"]}});
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

#[tokio::test]
async fn files_of_claude_code_count_together_and_replace_what_they_gave_before() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    std::fs::create_dir_all(desk.path().join(".claude")).expect("our folder");
    let settings = |name: &str, permissions: Value| {
        let text = json!({ "permissions": permissions }).to_string();
        file(&desk, &format!(".claude/{name}"), &text)
    };
    let user = settings(
        "settings.json",
        json!({"allow": ["Bash(git log:*)", "Bash(git push origin:*)", "Read(/docs/**)", "Bash(npx:*)"],
               "deny": ["Bash(rm:*)"]}),
    );
    let local = settings(
        "settings.local.json",
        json!({"allow": ["Bash(npm test)", "Write(src/**)"], "ask": ["Bash(git push:*)"]}),
    );
    let import = ["rules", "import", "--from", "claude-code"];
    let both = [&import[..], &[&user, &local, "--apply", "--json"]].concat();
    let done = desk.json(&both);
    let entries = done["entries"].as_array().expect("a list");
    let of = |entry: &str| {
        let found = entries.iter().find(|of| of["entry"] == entry);
        found.unwrap_or_else(|| panic!("no {entry} in {done}"))
    };
    for (entry, list, effect) in [
        ("Bash(git log:*)", "allow", "approve"),
        ("Bash(rm:*)", "deny", "deny"),
        ("Bash(git push:*)", "ask", "ask"),
        ("Write(src/**)", "allow", "left_out"),
        ("Read(/docs/**)", "allow", "approve"),
    ] {
        let is = (of(entry)["list"].as_str(), of(entry)["effect"].as_str());
        assert_eq!(is, (Some(list), Some(effect)), "{entry}");
    }
    assert_eq!(
        of("Bash(git push origin:*)")["shadowed_by"],
        "ask Bash(git push:*)"
    );
    assert_eq!(of("Bash(git log:*)").get("shadowed_by"), None);
    assert!(
        of("Bash(npx:*)")["why"]
            .as_str()
            .is_some_and(|why| why.contains("allowed too"))
    );
    // One rule for both files: a command may need an entry of each.
    let rule = of("Bash(git log:*)")["rule_id"]
        .as_str()
        .expect("a rule")
        .to_owned();
    assert_eq!(of("Bash(npm test)")["rule_id"], json!(rule));
    let bash = json!({"tool": "Bash", "approved": 4, "ask": 1, "deny": 1});
    assert_eq!(done["tools"][0], bash);
    assert!(
        done["not_carried_over"]
            .as_str()
            .is_some_and(|text| text.contains("ls"))
    );
    let read = desk.json(&[
        "rules",
        "show",
        of("Read(/docs/**)")["rule_id"].as_str().expect("a rule"),
        "--json",
    ]);
    let below = desk.path().canonicalize().expect("our folder");
    assert_eq!(
        read["path"]["/file_path"],
        json!([below.join("docs/**").display().to_string()])
    );
    let text = desk
        .run(&[&import[..], &[&user, &local]].concat())
        .success()
        .out;
    for wanted in [
        "Bash: 4 approved forms, 1 that ask, 1 that deny",
        "Not carried over: ",
        "never applies, because of ask Bash(git push:*)",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }

    // What is gone there goes here, and what somebody turned off stays off.
    desk.json(&["rules", "disable", &rule, "--json"]);
    settings(
        "settings.json",
        json!({"allow": ["Bash(git log:*)"], "deny": []}),
    );
    let again = desk.json(&both);
    assert_eq!(
        again["removed"].as_array().map(Vec::len),
        Some(3),
        "{again}"
    );
    let shown = desk.json(&["rules", "show", &rule, "--json"]);
    assert_eq!(shown["enabled"], false);
    assert_eq!(
        shown["command"]["/command"],
        json!(["git log *", "npm test"])
    );
    // A file alone replaces what it gave together with others.
    let alone = desk.json(&[&import[..], &[&local, "--apply", "--json"]].concat());
    assert!(
        alone["removed"]
            .as_array()
            .is_some_and(|ids| ids.contains(&json!(rule))),
        "{alone}"
    );
    let added = alone["added"][0].as_str().expect("a rule");
    assert_eq!(
        desk.json(&["rules", "show", added, "--json"])["enabled"],
        false
    );

    // All faults of all files, each with its pointer.
    settings(
        "settings.json",
        json!({"allow": [1], "deny": ["Bash(rm -rf /)*", "rm"]}),
    );
    std::fs::write(&local, "{\"permissions\": {\"deny\": [], \"deny\": []}}").expect("our folder");
    let (code, word, message) = desk.run(&both).error();
    assert_eq!((code, word.as_str()), (6, "invalid_args"));
    assert!(
        message.contains("/permissions/deny is written twice"),
        "{message}"
    );
    settings("settings.local.json", json!({"ask": "Bash"}));
    let (_, _, message) = desk.run(&both).error();
    for wanted in [
        "settings.json: /permissions/deny/0: ",
        "settings.json: /permissions/allow/0: ",
        "settings.local.json: /permissions/ask: ",
    ] {
        assert!(message.contains(wanted), "{wanted} is not in {message}");
    }
}
