#![allow(clippy::unwrap_used)]
use std::fs;

use super::*;

fn of(section: &str) -> Result<Option<Config>, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("open.key"), "k").unwrap();
    fs::set_permissions(
        folder.path().join("open.key"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    fs::write(folder.path().join("reader.key"), "k").unwrap();
    fs::set_permissions(
        folder.path().join("reader.key"),
        fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    read(
        &format!("workspace = \"w\"\n\n[reader]\n{section}"),
        folder.path(),
    )
}

const ACME: &str = "workspaces = [\"acme\"]\n";

#[test]
fn it_is_off_until_a_workspace_is_named() {
    for off in [
        "",
        "workspaces = []",
        "program = \"claude-code\"",
        "workspaces = []\ncommand = [\"/bin/x\"]",
    ] {
        assert_eq!(of(off), Ok(None), "{off}");
    }
    assert_eq!(read("", Path::new("/")), Ok(None));
}

#[test]
fn a_known_program_has_its_defaults() {
    let config = of(&format!("{ACME}program = \"claude-code\""))
        .unwrap()
        .unwrap();
    assert_eq!(
        (
            config.timeout_s,
            config.per_hour,
            config.at_once,
            config.earlier,
            config.model.as_deref()
        ),
        (20, 60, 2, 6, None)
    );
    assert_eq!(
        (config.to().as_str(), config.outside().as_deref()),
        ("claude-code", Some("api.anthropic.com"))
    );
    let config = of(&format!("{ACME}command = [\"/bin/x\", \"-a\"]"))
        .unwrap()
        .unwrap();
    assert_eq!(
        (config.to().as_str(), config.outside().as_deref()),
        ("command", None)
    );
    assert!(
        config
            .sentence()
            .contains("a program of yours: where it sends them is not known")
    );
    let config = of(&format!(
        "{ACME}program = \"ollama\"\nmodel = \"gpt-oss:120b-cloud\""
    ))
    .unwrap()
    .unwrap();
    assert_eq!(config.outside().as_deref(), Some("ollama.com"));
}

#[test]
fn an_endpoint_beyond_this_machine_is_named_twice() {
    let outside = "model = \"m\"\nendpoint = \"https://api.example.org/v1/chat/completions\"\n";
    let named = format!(
        "{ACME}{outside}send_arguments_to = \"api.example.org\"\nkey_file = \"reader.key\"\nprotocol = \"anthropic\""
    );
    let config = of(&named).unwrap().unwrap();
    assert_eq!(
        (config.to().as_str(), config.outside().as_deref()),
        ("api.example.org", Some("api.example.org"))
    );
    for local in [
        "http://127.0.0.1:11434/v1",
        "http://localhost/x",
        "http://[::1]:1/",
        "http://127.9.9.9/",
    ] {
        let config = of(&format!("{ACME}model = \"m\"\nendpoint = \"{local}\""))
            .unwrap()
            .unwrap();
        assert_eq!(config.outside().as_deref(), None, "{local}");
    }
}

#[test]
fn each_fault_names_its_line_and_key() {
    let https = "model = \"m\"\nendpoint = \"https://api.example.org/v1\"\n";
    for (section, line, words) in [
        ("timeout = 1".to_owned(), 4, "timeout unknown field"),
        (ACME.to_owned(), 3, "program name one of"),
        (
            format!("{ACME}program = \"claude-code\"\ncommand = [\"x\"]"),
            6,
            "command name one of",
        ),
        (
            format!("{ACME}command = [\"x\"]\n{https}send_arguments_to = \"api.example.org\""),
            5,
            "command name one of",
        ),
        (
            format!("{ACME}program = \"gpt\""),
            5,
            "program unknown variant",
        ),
        (format!("{ACME}program = \"ollama\""), 3, "model is missing"),
        (
            format!("{ACME}endpoint = \"http://127.0.0.1/\""),
            3,
            "model is missing",
        ),
        (
            format!(
                "{ACME}model = \"m\"\nendpoint = \"http://10.0.0.1/\"\nsend_arguments_to = \"10.0.0.1\""
            ),
            6,
            "endpoint must be https",
        ),
        (
            format!("{ACME}{https}"),
            3,
            "send_arguments_to must be the host",
        ),
        (
            format!("{ACME}{https}send_arguments_to = \"example.org\""),
            7,
            "send_arguments_to must be",
        ),
        (
            format!("{ACME}model = \"m\"\nendpoint = \"ftp://127.0.0.1/\""),
            6,
            "endpoint must be an http",
        ),
        (
            format!("{ACME}model = \"m\"\nendpoint = \"http://u:p@127.0.0.1/\""),
            6,
            "endpoint must not hold",
        ),
        (
            format!("{ACME}command = [\"x\"]\nkey_file = \"open.key\""),
            6,
            "key_file can be read by others",
        ),
        (
            format!("{ACME}command = [\"x\"]\nkey_file = \"none.key\""),
            6,
            "key_file names no file",
        ),
        (format!("{ACME}command = []"), 5, "command must name"),
        (format!("{ACME}command = \"x\""), 5, "command invalid type"),
        (
            format!("{ACME}command = [\"x\"]\ntimeout_s = 0"),
            6,
            "timeout_s must be 1 to 60",
        ),
        (
            format!("{ACME}command = [\"x\"]\nat_once = 9"),
            6,
            "at_once must be",
        ),
        (
            format!("{ACME}command = [\"x\"]\nearlier = 13"),
            6,
            "earlier must be",
        ),
        (
            format!("{ACME}command = [\"x\"]\nper_hour = -1"),
            6,
            "per_hour invalid value",
        ),
        (
            format!("{ACME}command = [\"x\"]\nmodel = \"-x\""),
            6,
            "model must be",
        ),
        ("workspaces = [\"a b\"]".to_owned(), 4, "workspaces "),
        (
            format!("{ACME}program = \"claude-code\"\nprotocol = \"x\""),
            6,
            "protocol unknown variant",
        ),
        ("workspaces = [".to_owned(), 4, ""),
    ] {
        let fault = of(&section).unwrap_err();
        let named = format!("line {line}: [reader] {words}");
        assert!(fault.starts_with(&named), "{section}: {fault}");
    }
    let fault = read("reader = 1", Path::new("/")).unwrap_err();
    assert!(fault.starts_with("line 1: [reader] reader "), "{fault}");
}

#[test]
fn a_model_is_a_plain_word() {
    for good in ["m", "claude-sonnet-4-5", "qwen3:8b", "org/model@2"] {
        assert!(is_model(good), "{good}");
    }
    let long = "m".repeat(129);
    for bad in ["", "-m", "a b", "a;b", "--help", "ä", &long] {
        assert!(!is_model(bad), "{bad}");
    }
}
