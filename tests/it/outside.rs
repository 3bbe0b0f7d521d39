//! Consoles on an outside bus.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use countersign_testkit::PlainServer;
use serde_json::json;

use crate::desk::{Agent, Console, Desk};

/// A console that joins another one's bus with that one's login.
fn beside(console: &Console, first: &Desk) -> Desk {
    let login = first.path().join("keys/login.nk");
    Desk::new()
        .with("COUNTERSIGN_NATS_URL", console.url())
        .with("COUNTERSIGN_NATS_NKEY", login.to_str().unwrap())
        .with("COUNTERSIGN_OPERATOR", "Second Operator")
}

#[tokio::test]
async fn two_consoles_work_one_queue_and_the_first_answer_stands() {
    let first = Desk::new();
    let console = Console::start(&first);
    let second = beside(&console, &first);
    let other = Console::start(&second);
    assert_eq!(other.ready["realm"], console.ready["realm"]);
    assert_eq!(
        (&other.ready["agent_json"], other.url()),
        (&json!(null), console.url())
    );
    let agent = Agent::connect(console.agent_json()).await;
    for id in ["r1", "r2"] {
        agent.ask(&agent.request(id)).await;
    }
    for desk in [&first, &second] {
        desk.show_in_state("r2", "pending");
    }
    second
        .run(&["deny", "r1", "--message", "from the second"])
        .success();
    let shown = first.show_in_state("r1", "decided");
    assert_eq!(shown["decided_by"]["name"], "Second Operator");
    assert_eq!(shown["message"], "from the second");
    let (exit, code, message) = first.run(&["approve", "r1", "--json"]).error();
    assert_eq!((exit, code.as_str()), (4, "already_decided"));
    assert!(message.contains("Second Operator"), "{message}");
    first.run(&["approve", "r2"]).success();
    let shown = second.show_in_state("r2", "decided");
    assert_eq!(shown["decided_by"]["name"], "Test Operator");
    assert_eq!(agent.decision("r1").await.unwrap()["verdict"], "deny");
}

#[tokio::test]
async fn two_consoles_that_decide_at_once_agree_on_one_winner() {
    let first = Desk::new();
    let console = Console::start(&first);
    let second = beside(&console, &first);
    let _other = Console::start(&second);
    let agent = Agent::connect(console.agent_json()).await;
    for round in 0..5 {
        let id = format!("r{round}");
        agent.ask(&agent.request(&id)).await;
        for desk in [&first, &second] {
            desk.show_in_state(&id, "pending");
        }
        let approve = first.start(&["approve", &id, "--json"], Stdio::null());
        let deny = second.run(&["deny", &id, "--message", "no", "--json"]);
        let approve = crate::desk::ended(approve.wait_with_output().unwrap());
        let mut codes = [approve.code, deny.code];
        codes.sort_unstable();
        assert_eq!(codes, [0, 4], "{approve:?} {deny:?}");
        let current = agent.decision(&id).await.unwrap()["verdict"].clone();
        assert_eq!(current, if approve.code == 0 { "approve" } else { "deny" });
        for desk in [&first, &second] {
            assert_eq!(desk.show_in_state(&id, "decided")["verdict"], current);
        }
    }
}

#[tokio::test]
async fn a_server_with_one_account_for_all_is_refused_unless_the_risk_is_accepted() {
    let server = PlainServer::start().await;
    let desk = Desk::new().with("COUNTERSIGN_NATS_URL", server.url());
    let (exit, _, message) = desk.run(&["serve", "--json"]).error();
    assert_ne!(exit, 0);
    assert!(message.contains("--allow-single-account"), "{message}");
    let mut serve = desk.command(&["serve", "--allow-single-account"]);
    let mut serve = crate::desk::Running(serve.stdout(Stdio::piped()).spawn().unwrap());
    let mut ready = BufReader::new(serve.0.stdout.take().unwrap());
    ready.read_line(&mut String::new()).unwrap();
    // Who only looks need not accept the risk to read of it.
    let status = desk.json(&["status", "--json"]);
    assert_eq!(status["bus"]["connected"], true, "{status}");
    let insecure = status["bus"]["insecure"].as_array().unwrap();
    assert!(insecure.contains(&json!("single_account")), "{status}");
    let (exit, code, _) = desk.run(&["panic", "on", "--json"]).error();
    assert_eq!((exit, code.as_str()), (2, "environment"));
    let desk = desk.with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1");
    let doctor = desk.run(&["doctor", "--json"]);
    assert_eq!(doctor.code, 1);
    assert!(doctor.out.contains("single_account"));
}

#[tokio::test]
async fn doctor_tries_the_outside_server_before_the_first_start() {
    let server = PlainServer::start().await;
    let desk = Desk::new().with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1");
    let bus_at = |url: &str| {
        let ended = desk.run(&["doctor", "--json", "--nats-url", url]);
        let bus = ended
            .lines()
            .into_iter()
            .find(|check| check["check"] == "bus");
        (ended.code, bus.unwrap_or_default())
    };
    let (code, bus) = bus_at(server.url());
    assert_eq!((code, &bus["verdict"]), (0, &json!("ok")), "{bus}");
    let (code, bus) = bus_at("nats://127.0.0.1:1");
    assert_eq!((code, &bus["verdict"]), (1, &json!("failed")), "{bus}");
}

#[tokio::test]
async fn who_gave_no_name_to_a_command_decides_under_the_name_that_the_realm_knows() {
    let desk = Desk::new().with("COUNTERSIGN_OPERATOR", "Two");
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for id in ["r1", "r2"] {
        agent.ask(&agent.request(id)).await;
        desk.show_in_state(id, "pending");
    }
    let decided_by = |desk: &Desk, id: &str| {
        desk.run(&["deny", id, "--message", "no"]).success();
        desk.show_in_state(id, "decided")["decided_by"]["name"].clone()
    };
    let desk = desk.with("COUNTERSIGN_OPERATOR", "");
    assert_eq!(decided_by(&desk, "r1"), "Two");
    let desk = desk.with("COUNTERSIGN_OPERATOR", "Chosen");
    assert_eq!(decided_by(&desk, "r2"), "Chosen");
}

#[tokio::test]
async fn a_command_that_does_not_name_the_outside_server_is_told_to() {
    let server = PlainServer::start().await;
    let desk = Desk::new().with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1");
    let mut serve = desk.command(&["serve", "--nats-url", server.url()]);
    let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut ready).unwrap();
    let mut console = crate::desk::Running(child);
    assert!(ready.contains(server.url()), "{ready}");
    let reported = || {
        for command in [
            &["status"][..],
            &["approve", "r1"],
            &["deny", "r1", "--message", "no"],
        ] {
            let ended = desk.run(&[command, &["--json"]].concat());
            let (exit, code, message) = ended.error();
            assert_eq!((exit, code.as_str()), (2, "environment"), "{command:?}");
            for word in [server.url(), "--nats-url", "--nats-nkey or --nats-creds)"] {
                assert!(message.contains(word), "{command:?}: {message}");
            }
        }
        assert!(!desk.path().join("nats").exists());
    };
    reported();
    desk.run(&["status", "--nats-url", server.url()]).success();
    // Nor is there a server of its own after a console that ended without a word.
    console.signal(nix::sys::signal::Signal::SIGKILL);
    console.wait();
    reported();
}

#[tokio::test]
async fn a_status_beside_a_console_whose_server_is_away_names_the_server() {
    let server = PlainServer::start().await;
    let url = server.url().to_owned();
    let desk = Desk::new()
        .with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1")
        .with("COUNTERSIGN_NATS_URL", url.clone());
    let _console = Console::start(&desk);
    drop(server);
    let reported = desk.run(&["status"]).success().out;
    assert!(
        reported.contains(&format!("not connected to {url}")),
        "{reported}"
    );
    let status = desk.json(&["status", "--json"]);
    let bus = &status["bus"];
    assert_eq!(
        (&bus["connected"], &bus["url"]),
        (&json!(false), &json!(url))
    );
    let why = status["bus_error"].as_str().unwrap();
    assert!(why.contains("no NATS server answers"), "{why}");
}

#[tokio::test]
async fn a_status_with_a_login_that_does_not_serve_says_so_beside_a_console_that_is_well() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let status = desk.json(&["status", "--json"]);
    assert_eq!(
        (&status["bus"]["connected"], &status["bus_error"]),
        (&json!(true), &json!(null))
    );
    let url = status["bus"]["url"].as_str().unwrap();
    let refused = ["status", "--nats-url", url];
    let reported = desk.run(&refused).success().out;
    assert!(reported.contains("refused the credentials"), "{reported}");
    let status = desk.json(&[&refused[..], &["--json"]].concat());
    let why = status["bus_error"].as_str().unwrap();
    assert!(why.contains("refused the credentials"), "{why}");
}

#[tokio::test]
async fn doctor_counts_the_decisions_that_wait_for_a_server_that_is_away() {
    let server = PlainServer::start().await;
    let desk = Desk::new()
        .with("COUNTERSIGN_NATS_URL", server.url())
        .with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1");
    let console = Console::start(&desk);
    let client = async_nats::connect(server.url()).await.unwrap();
    let request = crate::desk::Request::new("acme", "bot", "r1");
    let subject = "countersign.v1.request.acme.bot.r1";
    client
        .request(subject, request.bytes().into())
        .await
        .unwrap();
    desk.show_in_state("r1", "pending");
    console.stop(nix::sys::signal::Signal::SIGTERM);
    drop(server);
    let (exit, code, message) = desk.run(&["approve", "r1", "--json"]).error();
    assert_eq!((exit, code.as_str()), (7, "bus_unreachable"), "{message}");
    let checks = desk.run(&["doctor", "--json"]).lines();
    let outbox = checks.iter().find(|check| check["check"] == "outbox");
    let outbox = outbox.unwrap();
    assert_eq!(outbox["verdict"], "warning", "{outbox}");
    let detail = outbox["detail"].as_str().unwrap();
    assert!(detail.starts_with("1 decisions or votes wait"), "{detail}");
}

#[tokio::test]
async fn an_agent_enrolled_on_an_outside_server_is_not_said_to_be_let_in() {
    let server = PlainServer::start().await;
    let desk = Desk::new().with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1");
    let there = ["--nats-url", server.url()];
    let enroll = |agent: &'static str, more: &[&str]| {
        desk.run(&[&["enroll", agent][..], more].concat()).success()
    };
    let reported = enroll("acme/bot", &there).out;
    assert!(!reported.contains("can log in with"), "{reported}");
    assert!(
        reported.contains("countersign bus permissions"),
        "{reported}"
    );
    let revoke = desk.run(&[&["revoke", "acme/bot"][..], &there].concat());
    let revoked = revoke.success();
    assert!(revoked.err.contains("\"# acme/bot\""), "{revoked:?}");
    let nobody = [&["revoke", "acme/nobody", "--json"][..], &there].concat();
    let (exit, _, why) = desk.run(&nobody).error();
    assert_eq!(exit, 3);
    assert!(why.contains("\"# acme/nobody\""), "{why}");
    let json = enroll("acme/other", &[&there[..], &["--json"]].concat());
    assert_eq!(json.lines()[0]["in_force"], false);
    let own = Desk::new();
    assert_eq!(
        own.json(&["enroll", "acme/bot", "--json"])["in_force"],
        true
    );
}

#[tokio::test]
async fn bus_init_creates_the_streams_once_and_permissions_name_this_console() {
    let server = PlainServer::start().await;
    let desk = Desk::new()
        .with("COUNTERSIGN_NATS_URL", server.url())
        .with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1");
    let made = desk.json(&["bus", "init", "--json"]);
    assert_eq!(made["streams"].as_array().unwrap().len(), 7);
    assert_eq!(desk.json(&["bus", "init", "--json"]), made);
    let console = Console::start(&desk);
    assert_eq!(console.ready["realm"], made["realm"]);
    let permissions = desk.run(&["bus", "permissions"]).success();
    assert!(permissions.out.starts_with("accounts {"), "{permissions:?}");
    assert!(permissions.err.contains("keys/login.nk"), "{permissions:?}");
}

#[tokio::test]
async fn bus_permissions_makes_the_login_of_its_folder_anew_where_the_file_was_removed() {
    let desk = Desk::new();
    let login = desk.path().join("keys/login.nk");
    let desk = desk.with("COUNTERSIGN_NATS_NKEY", login.to_str().unwrap());
    let block = || desk.run(&["bus", "permissions"]).success().out;
    let before = block();
    assert_eq!(block(), before);
    std::fs::remove_file(&login).unwrap();
    assert_ne!(block(), before);
    assert!(login.is_file());
    // What somebody else keeps is made by nobody.
    let other = desk.with("COUNTERSIGN_NATS_NKEY", "/nowhere/login.nk");
    assert_eq!(other.run(&["bus", "permissions", "--json"]).error().0, 2);
}

#[tokio::test]
async fn a_bus_without_room_for_the_streams_says_what_to_set_and_doctor_finds_it() {
    let account =
        "accounts { CORE { jetstream: { max_file: 6GB }, users: [ { user: a, password: b } ] } }";
    let server = PlainServer::start_with(&format!("{account}\nno_auth_user: a")).await;
    let desk = Desk::new()
        .with("COUNTERSIGN_NATS_URL", server.url())
        .with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1");
    let (exit, code, message) = desk.run(&["bus", "init", "--json"]).error();
    assert_eq!((exit, code.as_str()), (2, "environment"), "{message}");
    assert!(
        message.contains("CS_RECEIPTS")
            && message.contains("max_file_store")
            && message.contains("32GB"),
        "{message}"
    );
    // Only a folder in which a console began has anything to look at.
    assert_ne!(desk.run(&["panic", "on", "--json"]).code, 0);
    let checks = desk.run(&["doctor", "--json"]).lines();
    let check = |name: &str| {
        let found = checks.iter().find(|check| check["check"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {checks:?}"))
    };
    for (name, says) in [
        ("streams", "CS_EVENTS"),
        ("storage", "reserve"),
        ("decisions", "CS_EVENTS"),
    ] {
        let of = check(name);
        assert_eq!(of["verdict"], "failed", "{of}");
        assert!(of["detail"].as_str().unwrap().contains(says), "{of}");
    }
}

#[tokio::test]
async fn a_console_whose_bus_was_replaced_is_read_only_and_exits_8() {
    let server = PlainServer::start().await;
    let on_server = |desk: Desk| {
        desk.with("COUNTERSIGN_NATS_URL", server.url())
            .with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1")
    };
    let desk = on_server(Desk::new());
    let console = Console::start(&desk);
    let client = async_nats::connect(server.url()).await.unwrap();
    let request = crate::desk::Request::new("acme", "bot", "r1");
    let subject = "countersign.v1.request.acme.bot.r1";
    client
        .request(subject, request.bytes().into())
        .await
        .unwrap();
    desk.show_in_state("r1", "pending");
    console.stop(nix::sys::signal::Signal::SIGTERM);
    let streams = async_nats::jetstream::new(client);
    for name in countersign_core::bus::STREAMS {
        streams.delete_stream(name).await.unwrap();
    }
    on_server(Desk::new()).run(&["bus", "init"]).success();
    for command in [&["approve", "r1", "--json"][..], &["bus", "init", "--json"]] {
        let (exit, code, message) = desk.run(command).error();
        assert_eq!((exit, code.as_str()), (8, "read_only"), "{message}");
    }
    assert!(desk.json(&["status", "--json"])["read_only"].is_string());
    assert_eq!(desk.run(&["doctor", "--json"]).code, 1);
    // Nor does a command beside it write to a bus that is not the remembered one.
    let console = Console::start(&desk);
    let key = console.ready["operator_key"].as_str().unwrap();
    for arguments in [
        &["panic", "on"][..],
        &["stop", "acme/bot"],
        &["rules", "remove", "r"],
        &["operators", "rename", key, "x"],
        &["approve", "r1"],
    ] {
        let (exit, code, message) = desk.run(&[arguments, &["--json"]].concat()).error();
        assert_eq!(
            (exit, code.as_str()),
            (8, "read_only"),
            "{arguments:?}: {message}"
        );
    }
}

#[tokio::test]
async fn lists_of_a_folder_whose_console_does_not_run_say_that_they_are_not_whole() {
    let first = Desk::new();
    let console = Console::start(&first);
    let second = beside(&console, &first);
    Console::start(&second).stop(nix::sys::signal::Signal::SIGTERM);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    first.show_in_state("r1", "pending");
    for list in [
        &["inbox"][..],
        &["inbox", "--json"],
        &["history", "--json"],
        &["agents", "--json"],
        &["export", "--format", "jsonl"],
        &["rules", "suggest", "--json"],
    ] {
        let reported = second.run(list).success();
        let words = "messages on the bus are not read here yet; `countersign serve` reads them";
        assert!(reported.err.contains(words), "{list:?}: {reported:?}");
        assert!(!first.run(list).success().err.contains(words), "{list:?}");
    }
}
