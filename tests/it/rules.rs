//! Rules, bypasses, regrets and suggestions on the command line.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, eventually};

const MAILS: &str = r#"schema = 1
[[rule]]
id = "mails"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["send_mail"]
args."/to" = { glob = "*@example.org" }
"#;

pub(crate) fn file(desk: &Desk, name: &str, text: &str) -> String {
    let path = desk.path().join(name);
    std::fs::write(&path, text).expect("our folder");
    path.display().to_string()
}

pub(crate) fn show(desk: &Desk, id: &str) -> Value {
    desk.json(&["show", id, "--json"])
}

#[tokio::test]
async fn a_regret_switches_a_rule_off_and_shows_with_it() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let named = MAILS.replace("effect", "name = \"Mails to us\"\neffect");
    let rules = file(&desk, "rules.toml", &named);
    let applied = desk.json(&["rules", "apply", &rules, "--json"]);
    assert_eq!(applied["added"], json!(["mails"]));
    agent.ask(&agent.request("r1")).await;
    let shown = desk.show_in_state("r1", "decided");
    assert_eq!(
        (&shown["origin"], &shown["rule"]),
        (&json!("rule"), &json!("mails"))
    );
    assert_eq!(
        (&shown["rule_name"], &shown["rule_version"]),
        (&json!("Mails to us"), &json!(1))
    );
    let text = desk.run(&["show", "r1"]).success().out;
    let by = "by rule Mails to us (mails), version 1: countersign rules show mails --workspace ";
    assert!(text.contains(by), "{text}");

    let done = desk.json(&[
        "rules",
        "regret",
        "r1",
        "--reason",
        "Wrong customer.",
        "--json",
    ]);
    assert_eq!(
        (&done["suspended"], &done["id"], &done["version"]),
        (&json!("rule"), &json!("mails"), &json!(1))
    );
    let rule = desk.json(&["rules", "show", "mails", "--json"]);
    assert_eq!(
        (&rule["enabled"], &rule["version"], &rule["uses"]),
        (&json!(false), &json!(2), &json!(1))
    );
    assert_eq!(rule["regrets"]["count"], 1);
    assert_eq!(rule["regrets"]["last"][0]["reason"], "Wrong customer.");
    assert_eq!(desk.json(&["rules", "list", "--json"])["regrets"], 1);
    let announced = desk.run(&["rules", "list"]).success().out;
    assert!(announced.contains("Wrong customer."), "{announced}");
    agent.ask(&agent.request("r2")).await;
    desk.show_in_state("r2", "pending");
    desk.json(&["approve", "r2", "--json"]);
    let by_person = desk.run(&["rules", "regret", "r2", "--json"]).error();
    assert_eq!((by_person.0, by_person.1.as_str()), (6, "invalid_args"));
    let unknown = desk.run(&["rules", "regret", "nobody", "--json"]).error();
    assert_eq!((unknown.0, unknown.1.as_str()), (3, "not_found"));
}

#[tokio::test]
async fn a_rule_that_a_person_called_wrong_is_turned_on_by_no_file_until_that_was_accepted() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let rules = file(&desk, "rules.toml", MAILS);
    let none = file(&desk, "none.toml", "schema = 1\n");
    let off = MAILS.replace("effect", "enabled = false\neffect");
    let off = file(&desk, "off.toml", &off);
    let apply = |file: &str, more: &[&'static str]| {
        desk.run(&[&["rules", "apply", file, "--json"], more].concat())
    };
    let announced = |file: &str, more: &[&'static str]| -> Value {
        serde_json::from_str(&apply(file, more).success().out).expect("one line of JSON")
    };
    assert_eq!(announced(&rules, &[])["added_again"], json!([]));
    // Turned off by a person: it is said that it acts again.
    desk.json(&["rules", "disable", "mails", "--json"]);
    assert_eq!(announced(&rules, &[])["turned_on"], json!(["mails"]));
    assert_eq!(announced(&rules, &[])["turned_on"], json!([]));
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "decided");
    let regret = desk.run(&["rules", "regret", "r1", "--reason", "Wrong customer."]);
    let hint = regret.success().out;
    assert!(hint.contains("rules enable mails --workspace "), "{hint}");
    // Also where it was taken out in between.
    for before in [&off, &none] {
        announced(before, &[]);
        let (exit, code, message) = apply(&rules, &[]).error();
        assert_eq!((exit, code.as_str()), (6, "verdict_not_allowed"));
        for part in ["mails (by ", "--accept-regrets", "enabled = false"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        let listed = desk.lines(&["rules", "list", "--json"]);
        assert!(
            listed.iter().all(|rule| rule["enabled"] == false),
            "{listed:?}"
        );
    }
    let done = announced(&rules, &["--accept-regrets"]);
    assert_eq!(done["added"], json!(["mails"]));
    // An id that is given out again is reported.
    assert_eq!(done["added_again"], json!(["mails"]));
    // What acts goes on.
    assert_eq!(announced(&rules, &[])["unchanged"], 1);
}

#[tokio::test]
async fn the_regret_of_a_denied_call_asks_about_what_people_denied() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    desk.run(&["deny", "r1", "--message", "no"]).success();
    let never = "[[rule]]\nid = \"never\"\neffect = \"deny\"\ntool = \"send_mail\"\n";
    let rules = file(&desk, "rules.toml", &format!("{MAILS}{never}"));
    desk.json(&["rules", "apply", &rules, "--accept-flips", "--json"]);
    agent.ask(&agent.request("r2")).await;
    let denied = desk.show_in_state("r2", "decided");
    assert_eq!(
        (&denied["verdict"], &denied["rule"]),
        (&json!("deny"), &json!("never"))
    );
    let (exit, code, message) = desk.run(&["rules", "regret", "r2", "--json"]).error();
    assert_eq!((exit, code.as_str()), (6, "verdict_not_allowed"));
    assert!(
        message.contains("r1") && message.contains("--accept-flips"),
        "{message}"
    );
    let rule = || desk.json(&["rules", "show", "never", "--json"]);
    assert_eq!(rule()["enabled"], true, "nothing was changed");
    desk.json(&["rules", "regret", "r2", "--accept-flips", "--json"]);
    assert_eq!(rule()["enabled"], false);
}

#[tokio::test]
async fn a_rule_that_would_approve_what_a_person_denied_is_in_force_only_when_that_was_accepted() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("denied")).await;
    desk.show_in_state("denied", "pending");
    desk.run(&["deny", "denied", "--message", "Not to customers."])
        .success();
    let off = MAILS.replace("effect", "enabled = false\neffect");
    let (on, off) = (file(&desk, "on.toml", MAILS), file(&desk, "off.toml", &off));
    let denies = "\n[[rule]]\nid = \"never\"\neffect = \"deny\"\ntool = \"send_mail\"\n";
    let beside = file(&desk, "beside.toml", &format!("{MAILS}{denies}"));
    let policy = file(&desk, "policy.yaml", "allow: [send_mail]\n");
    let import = [
        "rules",
        "import",
        "--from",
        "selectools",
        &policy,
        "--apply",
    ];
    let enabled = || desk.json(&["rules", "show", "mails", "--json"])["enabled"].clone();

    // A rule that is off lets nothing run.
    desk.run(&["rules", "apply", &off]).success();
    for command in [
        &["rules", "apply", &on][..],
        &["rules", "enable", "mails"],
        &import,
    ] {
        let refused = desk.run(&[command, &["--json"]].concat()).error();
        let (exit, code, message) = refused;
        assert_eq!(
            (exit, code.as_str()),
            (6, "verdict_not_allowed"),
            "{message}"
        );
        assert!(message.contains("denied (rule "), "{message}");
        assert!(message.contains("--accept-flips"), "{message}");
        assert_eq!(desk.lines(&["rules", "list", "--json"]).len(), 1);
        assert_eq!(enabled(), false);
    }
    // What another rule of the set denies is not let run.
    desk.run(&["rules", "apply", &beside]).success();
    desk.run(&["rules", "apply", &off]).success();
    desk.run(&["rules", "enable", "mails", "--accept-flips"])
        .success();
    assert_eq!(enabled(), true);
    // It is asked once: a rule that is there already does not begin.
    desk.run(&["rules", "apply", &on]).success();
    desk.run(&[&import[..], &["--accept-flips"]].concat())
        .success();
    assert_eq!(desk.lines(&["rules", "list", "--json"]).len(), 2);
}

#[tokio::test]
async fn an_approval_of_what_a_person_denied_is_asked_about_when_what_stood_over_it_goes_too() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("denied")).await;
    desk.show_in_state("denied", "pending");
    desk.run(&["deny", "denied", "--message", "Not to customers."])
        .success();
    let alone = file(&desk, "alone.toml", MAILS);
    for effect in ["deny", "ask"] {
        let over = format!("\n[[rule]]\nid = \"over-{effect}\"\neffect = \"{effect}\"\n");
        let beside = |tool: &str| format!("{MAILS}{over}tool = \"{tool}\"\n");
        let both = file(&desk, "both.toml", &beside("send_mail"));
        let narrow = file(&desk, "narrow.toml", &beside("another"));
        desk.run(&["rules", "apply", &both]).success();
        let id = format!("over-{effect}");
        for change in [
            &["rules", "disable", &id][..],
            &["rules", "remove", &id],
            &["rules", "apply", &alone],
            &["rules", "apply", &narrow],
        ] {
            let refused = desk.run(&[change, &["--json"]].concat()).error();
            let (exit, code, message) = refused;
            assert_eq!(
                (exit, code.as_str()),
                (6, "verdict_not_allowed"),
                "{change:?}: {message}"
            );
            assert!(message.contains("denied (rule mails)"), "{message}");
            assert_eq!(desk.lines(&["rules", "list", "--json"]).len(), 2);
        }
        // Less is approved without the approval: nothing to ask about.
        desk.run(&["rules", "remove", "mails"]).success();
        desk.run(&["rules", "remove", &id]).success();
    }
}

/// The refusal of a command whose change would approve waiting calls: which ones it names.
fn waiting_named(desk: &Desk, command: &[&str]) -> Value {
    let ended = desk.run(&[command, &["--json"]].concat());
    let (exit, code, message) = ended.error();
    assert_eq!(
        (exit, code.as_str()),
        (6, "verdict_not_allowed"),
        "{command:?}: {message}"
    );
    assert!(message.contains("--accept-waiting"), "{message}");
    let announced: Value =
        serde_json::from_str(ended.err.lines().last().unwrap_or_default()).expect("JSON");
    announced["error"]["decides_waiting"].clone()
}

#[tokio::test]
async fn calls_that_wait_are_named_before_a_rule_approves_them_and_nothing_changes_until_that_was_accepted()
 {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    agent
        .ask(&agent.request("high").set("risk", json!("critical")))
        .await;
    for id in ["r1", "high"] {
        desk.show_in_state(id, "pending");
    }
    let off = MAILS.replace("effect", "enabled = false\neffect");
    let over = "\n[[rule]]\nid = \"people\"\neffect = \"ask\"\ntool = \"send_mail\"\n";
    let (on, off) = (file(&desk, "on.toml", MAILS), file(&desk, "off.toml", &off));
    let beside = file(&desk, "beside.toml", &format!("{MAILS}{over}"));
    let policy = file(&desk, "policy.yaml", "allow: [send_mail]\n");
    let import = [
        "rules",
        "import",
        "--from",
        "selectools",
        &policy,
        "--apply",
    ];
    let before = || desk.lines(&["rules", "list", "--json"]);

    desk.run(&["rules", "apply", &off]).success();
    let earlier = before();
    for command in [
        &["rules", "apply", &on][..],
        &["rules", "enable", "mails"],
        &import,
    ] {
        assert_eq!(waiting_named(&desk, command), json!(["r1"]), "{command:?}");
        assert_eq!(before(), earlier, "{command:?}");
        assert_eq!(show(&desk, "r1")["state"], "pending");
    }
    // Also where a rule goes that overrode an approval.
    desk.run(&["rules", "apply", &beside]).success();
    for command in [
        &["rules", "disable", "people"][..],
        &["rules", "remove", "people"],
    ] {
        assert_eq!(waiting_named(&desk, command), json!(["r1"]), "{command:?}");
    }
    let done = desk.json(&["rules", "apply", &on, "--accept-waiting", "--json"]);
    assert_eq!(done["decides_waiting"], json!(["r1"]));
    let shown = desk.show_in_state("r1", "decided");
    assert_eq!(shown["rule"], "mails");
    // No call is left that another change of the rules would approve.
    let done = desk.json(&["rules", "apply", &off, "--json"]);
    assert_eq!(done["decides_waiting"], json!([]));
    let done = desk.json(&["rules", "enable", "mails", "--json"]);
    assert_eq!(done["decides_waiting"], json!([]));
    assert_eq!(show(&desk, "high")["state"], "pending");
}

#[tokio::test]
async fn the_end_of_panic_or_of_a_pause_names_the_waiting_calls_that_it_approves() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let limit = format!("{MAILS}limit = {{ count = 3, per = \"1h\" }}\n");
    let rules = file(&desk, "rules.toml", &limit);
    desk.run(&["rules", "apply", &rules]).success();
    for (begin, end, asked, named) in [
        (
            ["panic", "on"],
            ["panic", "off"],
            ["r1", "r2"],
            json!(["r1", "r2"]),
        ),
        // The rule's limit lets one more run.
        (
            ["pause", "local"],
            ["resume", "local"],
            ["r3", "r4"],
            json!(["r3"]),
        ),
    ] {
        desk.run(&begin).success();
        for id in asked {
            agent.ask(&agent.request(id)).await;
            desk.show_in_state(id, "pending");
        }
        assert_eq!(waiting_named(&desk, &end), named);
        assert_eq!(show(&desk, asked[0])["state"], "pending", "{end:?}");
        let done = desk.json(&[&end[..], &["--accept-waiting", "--json"]].concat());
        assert_eq!(done["decides_waiting"], named);
        desk.show_in_state(asked[0], "decided");
        // What goes on already lets nothing new run.
        desk.run(&end).success();
    }
    assert_eq!(show(&desk, "r4")["state"], "pending");
}

#[tokio::test]
async fn a_bypass_is_set_shown_and_ended() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let set = desk.json(&[
        "bypass", "local", "--up-to", "medium", "--for", "1h", "--json",
    ]);
    assert_eq!(
        (&set["agent"], &set["up_to"]),
        (&json!("local"), &json!("medium"))
    );
    assert!(
        set["until"].is_string() && set["revision"].is_u64(),
        "{set}"
    );
    let status = desk.json(&["status", "--json"]);
    let bypasses = status["bypasses"].as_array().expect("a list");
    assert_eq!(bypasses.len(), 1);
    assert_eq!(
        (&bypasses[0]["up_to"], &bypasses[0]["until"]),
        (&json!("medium"), &set["until"])
    );
    let announced = desk.run(&["status"]).success().out;
    assert!(
        announced.contains("does not ask up to medium until"),
        "{announced}"
    );
    agent.ask(&agent.request("r1")).await;
    let shown = desk.show_in_state("r1", "decided");
    assert_eq!(shown["rule"], "bypass.default.local");
    assert_eq!(shown["decision"]["rule"]["version"], set["revision"]);
    agent
        .ask(&agent.request("r2").set("risk", json!("high")))
        .await;
    desk.show_in_state("r2", "pending");

    desk.json(&["bypass", "off", "local", "--json"]);
    assert_eq!(desk.json(&["status", "--json"])["bypasses"], json!([]));
    agent.ask(&agent.request("r3")).await;
    desk.show_in_state("r3", "pending");
    for (arguments, code) in [
        (
            &["bypass", "local", "--up-to", "medium", "--for", "9h"][..],
            6,
        ),
        (
            &["bypass", "local", "--up-to", "critical", "--for", "1h"],
            2,
        ),
        (&["bypass", "local", "--up-to", "low", "--for", "soon"], 2),
        (&["bypass", "local", "--up-to", "low"], 2),
    ] {
        assert_eq!(desk.run(arguments).code, code, "{arguments:?}");
    }
}

#[tokio::test]
async fn what_people_approve_again_and_again_is_suggested_and_stays_off() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    assert!(
        desk.run(&["rules", "suggest", "--json"])
            .success()
            .out
            .is_empty()
    );
    for number in 0..5 {
        let id = format!("r{number}");
        agent.ask(&agent.request(&id)).await;
        desk.show_in_state(&id, "pending");
        desk.json(&["approve", &id, "--json"]);
    }
    let found = eventually(|| {
        let found = desk.lines(&["rules", "suggest", "--json"]);
        (found.len() == 1).then(|| found[0].clone()).ok_or(found)
    });
    assert_eq!(
        (&found["approvals"], &found["operators"]),
        (&json!(5), &json!(1))
    );
    assert_eq!(found["requests"], json!(["r0", "r1", "r2", "r3", "r4"]));
    let rule = &found["rule"];
    assert_eq!(
        (&rule["effect"], &rule["enabled"]),
        (&json!("approve"), &json!(false))
    );
    assert_eq!(rule["args"]["/to"], json!({"eq": "customer@example.org"}));

    // Its text is a rule file.
    let text = desk.run(&["rules", "suggest"]).success().out;
    let suggested = file(&desk, "suggested.toml", &text);
    desk.run(&["rules", "apply", &suggested]).success();
    agent.ask(&agent.request("r5")).await;
    desk.show_in_state("r5", "pending");
    let id = rule["id"].as_str().expect("an id");
    desk.json(&["rules", "enable", id, "--accept-waiting", "--json"]);
    let shown = desk.show_in_state("r5", "decided");
    assert_eq!(
        (&shown["origin"], &shown["rule"]),
        (&json!("rule"), &json!(id))
    );
    assert!(
        desk.run(&["rules", "suggest", "--json"])
            .success()
            .out
            .is_empty()
    );
}

#[test]
fn the_list_tells_a_rule_whose_time_is_over() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    // The server's time, a little later.
    let soon = [
        "bypass",
        "default/local",
        "--up-to",
        "low",
        "--for",
        "4s",
        "--json",
    ];
    let soon = desk.json(&soon);
    let text = MAILS.replace("2999-01-01T00:00:00Z", soon["until"].as_str().unwrap());
    let rules = file(&desk, "rules.toml", &text);
    desk.run(&["rules", "apply", &rules]).success();
    let list = || desk.run(&["rules", "list"]).success().out;
    assert!(!list().contains("(over)"));
    eventually(|| {
        Some(list())
            .filter(|list| list.contains("(over)"))
            .ok_or("on")
    });
}
