//! What nobody reads, and what a person reads on a terminal that says little of itself.

use std::process::{Child, Command, Stdio};

use crate::desk::{Console, Desk, Ended};
use crate::round_trip::{ask, end, id};

/// Takes away whoever reads what the command prints.
fn unheard(mut child: Child) -> Child {
    drop(child.stdout.take());
    child
}

#[test]
fn a_denied_ask_does_not_end_as_allowed_because_nobody_reads_it() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    for arguments in [&[][..], &["--json"]] {
        let (child, line) = ask(&desk, arguments);
        let child = unheard(child);
        desk.run(&["deny", &id(&line), "--message", "no"]).success();
        let asked = end(child);
        assert_eq!(asked.code, 1, "{asked:?}");
        assert!(asked.err.contains("denied"), "{asked:?}");
    }
}

#[test]
fn an_allowed_ask_whose_arguments_nobody_reads_runs_nothing() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    for arguments in [&[][..], &["--json"]] {
        let (child, line) = ask(&desk, arguments);
        let child = unheard(child);
        desk.run(&["approve", &id(&line)]).success();
        let asked = end(child);
        assert_eq!(asked.code, 1, "{asked:?}");
        assert!(asked.err.contains("do not run the call"), "{asked:?}");
    }
}

#[test]
fn a_check_that_failed_fails_also_where_nobody_reads_it_and_a_list_is_no_failure() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let unread =
        |arguments: &[&str]| -> Ended { end(unheard(desk.start(arguments, Stdio::null()))) };
    let stranger = "0".repeat(64);
    for json in [&[][..], &["--json"]] {
        let verify = [&["audit", "verify", "--head", &stranger], json].concat();
        assert_eq!(unread(&verify).code, 1, "{verify:?}");
    }
    for list in [
        &["history"][..],
        &["status"],
        &["audit", "export"],
        &["man"],
    ] {
        let ended = unread(list);
        assert!(!ended.err.contains("countersign:"), "{ended:?}");
        assert_eq!(ended.code, 0, "{list:?}");
    }
    drop(console);
}

#[test]
fn a_table_on_a_terminal_without_a_size_is_not_as_narrow_as_its_letters() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let (child, line) = ask(&desk, &["--timeout", "60"]);
    let inbox = desk.command(&["inbox"]);
    let mut script = Command::new("script");
    let program = format!("'{}' inbox", env!("CARGO_BIN_EXE_countersign"));
    script.args(["-qec", &program, "/dev/null"]);
    for (name, value) in inbox.get_envs() {
        if let Some(value) = value {
            script.env(name, value);
        }
    }
    let shown = script
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(&id(&line)), "{shown}");
    assert!(shown.contains("\u{1b}["), "colours stay: {shown:?}");
    drop(crate::desk::Running(child));
}
