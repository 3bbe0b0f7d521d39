//! Wrong usage, help, completions, the manual, and what wins over what.

use crate::desk::Desk;

#[test]
fn wrong_usage_exits_2_with_one_json_error() {
    let desk = Desk::new();
    for arguments in [
        &["nonsense"][..],
        &["approve"],
        &["deny", "r1"],
        &["respond", "r1"],
        &["respond", "r1", "--content", "a", "--json-content", "b"],
        &["history", "--limit", "1001"],
        &["history", "--limit", "0"],
        &["inbox", "--risk", "enormous"],
        &["ask"],
        &["ask", "--tool", "t", "--timeout", "0"],
        &["enroll", "Not A Name"],
        &["--no-such-flag"],
        &["inbox", "--workspace", "NOT A NAME"],
        &["inbox", "--nats-creds", "a", "--nats-nkey", "b"],
        &["bus", "init"],
    ] {
        let (exit, code, message) = desk.run(&[arguments, &["--json"]].concat()).error();
        assert_eq!(
            (exit, code.as_str()),
            (2, "usage"),
            "{arguments:?}: {message}"
        );
        assert!(!message.is_empty());
    }
    for arguments in [
        &["ask", "--tool", "t", "--args", "{"][..],
        &["ask", "--tool", "t", "--args", "{\"a\":1,\"a\":2}"],
    ] {
        let (exit, code, _) = desk.run(&[arguments, &["--json"]].concat()).error();
        assert_eq!((exit, code.as_str()), (6, "invalid_args"), "{arguments:?}");
    }
}

#[test]
fn the_way_out_of_a_wrong_address_is_not_taken_for_a_secret() {
    let desk = Desk::new();
    let url = ["serve", "--nats-url", "nats://bob:hunter2@:::", "--json"];
    let (exit, code, message) = desk.run(&url).error();
    assert_eq!((exit, code.as_str()), (2, "environment"), "{message}");
    assert!(message.contains("--nats-nkey or --nats-creds"), "{message}");
    assert!(!message.contains("hidden:"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
}

#[test]
fn unknown_filter_words_exit_2_and_name_the_words_that_exist() {
    let desk = Desk::new();
    let console = crate::desk::Console::start(&desk);
    for (flag, known) in [
        ("--verdict", "approve"),
        ("--origin", "setup_key"),
        ("--state", "void"),
    ] {
        let (exit, code, message) = desk.run(&["history", flag, "nonsense", "--json"]).error();
        assert_eq!((exit, code.as_str()), (2, "usage"));
        assert!(message.contains(known), "{message}");
    }
    for arguments in [["--since", "yesterday"], ["--after", "first"]] {
        let (exit, code, _) = desk
            .run(&[&["history", "--json"][..], &arguments].concat())
            .error();
        assert_eq!((exit, code.as_str()), (2, "usage"));
    }
    drop(console);
}

#[test]
fn without_a_display_the_window_names_serve_and_exits_2() {
    let desk = Desk::new();
    let ended = desk.run::<&str>(&[]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    assert!(ended.err.contains("countersign serve"), "{ended:?}");
    let (exit, code, _) = desk.run(&["--json"]).error();
    assert_eq!((exit, code.as_str()), (2, "environment"));
}

#[test]
fn every_command_has_help_and_the_manual_names_them_all() {
    let desk = Desk::new();
    let manual = desk.run(&["man"]).success().out;
    for command in [
        &["serve"][..],
        &["ask"],
        &["status"],
        &["inbox"],
        &["show"],
        &["approve"],
        &["deny"],
        &["skip"],
        &["respond"],
        &["escalate"],
        &["watch"],
        &["history"],
        &["enroll"],
        &["revoke"],
        &["audit", "verify"],
        &["audit", "head"],
        &["bus", "init"],
        &["bus", "permissions"],
        &["doctor"],
    ] {
        let help = desk.run(&[command, &["--help"]].concat()).success().out;
        assert!(help.contains("Usage: countersign"), "{command:?}: {help}");
        assert!(manual.contains(command[0]), "{command:?}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            desk.run(&["completions", shell])
                .success()
                .out
                .contains("countersign"),
            "{shell}"
        );
    }
    assert_eq!(
        desk.run(&["-V"]).success().out,
        format!("countersign {}\n", env!("CARGO_PKG_VERSION"))
    );
    let long = desk.run(&["--version"]).success().out;
    let commit = long.lines().nth(1).unwrap();
    assert!(commit.starts_with("commit "), "{long}");
}

#[test]
fn the_protocols_vectors_are_read_by_a_command_that_no_help_names() {
    let desk = Desk::new();
    let check = |file: &str| desk.run(&["protocol", "check", file, "--json"]);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/protocol/vectors");
    let logs = check(&format!("{folder}/realm-log.json")).success().out;
    assert!(
        logs.lines().count() >= 16 && logs.starts_with('{'),
        "{logs}"
    );
    let devices = check(&format!("{folder}/devices.json")).success().out;
    assert_eq!(devices.lines().count(), 1);
    assert_eq!(check(&format!("{folder}/commands.json")).code, 2);
    assert!(!desk.run(&["--help"]).success().out.contains("protocol"));
}

#[test]
fn a_misspelt_setting_in_the_file_is_refused_with_its_place() {
    let desk = Desk::new();
    std::fs::write(desk.path().join("config.toml"), "operater = \"x\"\n").unwrap();
    let (exit, code, message) = desk.run(&["status", "--json"]).error();
    assert_eq!((exit, code.as_str()), (2, "environment"));
    assert!(
        message.contains("config.toml") && message.contains("operater"),
        "{message}"
    );
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let desk = Desk::new();
    std::fs::write(
        desk.path().join("config.toml"),
        "nats_url = \"nats://127.0.0.1:3\"\n",
    )
    .unwrap();
    let said = |desk: &Desk, flags: &[&str]| {
        let ended = desk.run(&[&["serve", "--json"], flags].concat()).error();
        assert_eq!(
            (ended.0, ended.1.as_str()),
            (7, "bus_unreachable"),
            "{ended:?}"
        );
        ended.2
    };
    assert!(said(&desk, &[]).contains("127.0.0.1:3"));
    let desk = desk.with("COUNTERSIGN_NATS_URL", "nats://127.0.0.1:2");
    assert!(said(&desk, &[]).contains("127.0.0.1:2"));
    assert!(said(&desk, &["--nats-url", "nats://127.0.0.1:1"]).contains("127.0.0.1:1"));
}

#[test]
fn a_display_that_cannot_be_opened_is_told_as_one_that_is_not_there() {
    for (name, value) in [
        ("DISPLAY", ":77777"),
        ("WAYLAND_DISPLAY", "/nowhere/wayland"),
        ("DISPLAY", ""),
    ] {
        let desk = Desk::new().with(name, value);
        let (exit, code, message) = desk.run(&["--json"]).error();
        assert_eq!((exit, code.as_str()), (2, "environment"), "{name} {value}");
        assert!(message.contains("countersign serve"), "{message}");
    }
}
