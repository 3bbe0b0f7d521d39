//! `enroll`: a new login, and what it does to the one before.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk};

#[tokio::test]
async fn an_agent_that_is_enrolled_again_is_told_to_lose_its_former_login() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let enroll = ["enroll", "acme/bot", "--json"];
    let first = desk.json(&enroll);
    assert_eq!(first["replaced"], false);
    assert_eq!(desk.json(&enroll)["replaced"], true);
    let reported = desk.run(&["enroll", "acme/bot"]).success();
    assert!(
        reported.err.contains("its old credentials are revoked"),
        "{reported:?}"
    );
    desk.run(&["revoke", "acme/bot"]).success();
    assert_eq!(desk.json(&enroll)["replaced"], false);
}

#[tokio::test]
async fn a_purge_stops_an_agent_takes_its_login_away_and_tells_what_it_removed() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    let mut purged = desk.json(&["revoke", "default/local", "--purge", "--json"]);
    // This command or the running console was first.
    let ended = purged.as_object_mut().unwrap().remove("terminated");
    assert!(ended.unwrap().as_u64() <= Some(1));
    let reported = json!({
        "workspace": "default", "agent": "local", "revoked": true, "in_force": true,
        "removed": 1,
    });
    assert_eq!(purged, reported);
    desk.show_in_state("r1", "decided");
    let again = desk.run(&["revoke", "default/local", "--purge"]).success();
    for words in [
        "is stopped until `countersign resume default/local`",
        "0 messages were removed",
    ] {
        assert!(again.out.contains(words), "{again:?}");
    }
    // Of one that another console enrolled, or nobody.
    let unknown = desk.json(&["revoke", "default/other", "--purge", "--json"]);
    assert_eq!(
        (&unknown["revoked"], &unknown["removed"]),
        (&json!(false), &json!(0))
    );
}

#[test]
fn another_agents_file_is_replaced_only_when_that_was_asked_for() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let folder = desk.path().join("out").display().to_string();
    let file = desk.path().join("out/agent.json");
    let whose = || {
        let file: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        file["agent"].clone()
    };
    let enroll = |agent: &str, more: &[&str]| {
        let arguments = ["enroll", agent, "--out", &folder, "--json"];
        desk.run(&[&arguments[..], more].concat())
    };
    enroll("acme/one", &[]).success();
    let (exit, code, message) = enroll("acme/two", &[]).error();
    assert_eq!((exit, code.as_str()), (2, "environment"), "{message}");
    assert!(message.contains("acme/one"), "{message}");
    assert_eq!(whose(), "one");
    // Nothing was changed: a name that has no login was not given one.
    let agents = desk.lines(&["agents", "--json"]);
    assert!(agents.iter().all(|line| line["agent"] != "two"));
    enroll("acme/one", &[]).success();
    enroll("acme/two", &["--force"]).success();
    assert_eq!(whose(), "two");
}

#[tokio::test]
async fn a_declaration_that_cannot_be_read_is_named_with_each_place() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let good =
        json!({"bs_name": "kk", "bs_type": "string_short", "bs_group": "A", "bs_default": "x"});
    let hello = |fields: Value| {
        let body = json!({"v": 1, "instance_id": "one", "agent": {"name": "local"}, "setup_schema": fields});
        serde_json::to_vec(&body).unwrap()
    };
    let subject = "countersign.v1.hello.default.local";
    let say = async |fields: Value| {
        let payload = hello(fields).into();
        agent.client.request(subject, payload).await.unwrap();
    };
    let mut bad = good.clone();
    bad["bs_name"] = json!("k");
    say(json!([good, bad])).await;
    let listed = || desk.lines(&["setup", "list", "--json"]);
    let line = crate::desk::eventually(|| listed().pop().ok_or("nothing is listed"));
    assert_eq!(
        (&line["workspace"], &line["agent"]),
        (&json!("default"), &json!("local"))
    );
    assert!(
        line.as_object()
            .is_some_and(|line| line["key"].is_null() && line.contains_key("key")),
        "{line}"
    );
    assert_eq!(line["faults"][0]["path"], "1.bs_name", "{line}");
    let reported = desk.run(&["setup", "list"]).success();
    assert!(reported.err.contains("1.bs_name"), "{reported:?}");
    assert!(
        !reported.out.contains("declares setup keys"),
        "{reported:?}"
    );
    for change in [
        &["setup", "set", "local", "kk", "y", "--json"][..],
        &[
            "setup",
            "bind",
            "local",
            "kk",
            "--skips-when",
            "x",
            "--json",
        ],
    ] {
        let (exit, code, message) = desk.run(change).error();
        assert_eq!((exit, code.as_str()), (6, "invalid_args"), "{message}");
        assert!(message.contains("1.bs_name"), "{message}");
    }
    say(json!([good])).await;
    crate::desk::eventually(|| match listed().pop() {
        Some(line) if line["key"] == "kk" => Ok(()),
        other => Err(other),
    });
    desk.run(&["setup", "set", "local", "kk", "y"]).success();
    let reported = desk.run(&["setup", "set", "local", "kk", "null"]).success();
    assert!(
        reported.out.contains("kk = \"x\" (the default)"),
        "{reported:?}"
    );
    let rows = json!({"bs_name": "rows", "bs_type": "list_dict", "bs_group": "A", "bs_default": [],
        "bs_elements": [{"bs_name": "ab", "bs_type": "int"}]});
    say(json!([good, rows])).await;
    crate::desk::eventually(|| match listed().len() {
        2 => Ok(()),
        other => Err(other),
    });
    let set = |value: &str, json: &[&str]| {
        desk.run(&[&["setup", "set", "local", "rows", value], json].concat())
    };
    let reported = set(r#"[{"ab": 1, "zz": 3}]"#, &[]).success();
    assert!(
        reported.out.contains(r#"rows = [{"ab":1}]"#),
        "{reported:?}"
    );
    assert!(reported.err.contains("zz is not declared"), "{reported:?}");
    let (exit, code, message) = set(r#"[{"ab": 9007199254740992}]"#, &["--json"]).error();
    assert_eq!((exit, code.as_str()), (6, "invalid_args"), "{message}");
    let kept = listed().into_iter().find(|line| line["key"] == "rows");
    assert_eq!(kept.unwrap()["value"], json!([{"ab": 1}]));
}
