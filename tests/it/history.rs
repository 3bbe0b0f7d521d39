//! Finding requests by their words, and writing the history down.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, eventually};

const SECRET: &str = "hunter2secret";

/// Three requests: one denied with words, one approved, one that waits; the first holds a secret.
async fn desk() -> (Desk, Console) {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let args = json!({ "order": 4711, "password": SECRET, "note": "Refund for Zürich." });
    agent.ask(&agent.request("r1").args(args)).await;
    let reason = json!(format!("refund again, token={SECRET}"));
    agent.ask(&agent.request("r2").set("reason", reason)).await;
    let formula = json!({ "name": "=cmd|' /C calc'!A0" });
    agent.ask(&agent.request("r3").set("tool", formula)).await;
    desk.show_in_state("r3", "pending");
    let message = format!("=never on Fridays, password={SECRET}");
    desk.run(&["deny", "r1", "--message", &message]).success();
    desk.run(&["approve", "r2"]).success();
    for id in ["r1", "r2"] {
        eventually(|| {
            let line = desk.json(&["show", id, "--json"]);
            if line["state"] == "decided" {
                Ok(())
            } else {
                Err(line)
            }
        });
    }
    (desk, console)
}

fn found(desk: &Desk, query: &str) -> Vec<String> {
    let lines = desk.lines(&["history", "--json", "--query", query]);
    let ids = lines.iter().filter_map(|line| line["request_id"].as_str());
    ids.map(str::to_owned).collect()
}

#[tokio::test]
async fn words_find_a_request_as_soon_as_it_can_be_seen_and_secrets_find_nothing() {
    let (desk, _console) = desk().await;
    for (query, ids) in [
        ("refund", &["r2", "r1"][..]),
        ("refund zurich", &["r1"]),
        ("\"refund for\"", &["r1"]),
        ("fridays", &["r1"]),
        ("send_mail", &["r2", "r1"]),
        ("send_ma*", &["r2", "r1"]),
        ("refund -approved", &[]),
        (SECRET, &[]),
        ("hunter2*", &[]),
        ("\"", &[]),
        ("a AND (", &[]),
    ] {
        assert_eq!(found(&desk, query), ids, "{query}");
    }
    let by = |name: &str| desk.lines(&["history", "--json", "--by", name]).len() - 1;
    assert_eq!(by("Test Operator"), 2);
    assert_eq!(desk.run(&["history", "--by", "Nobody"]).code, 2);
}

/// Sentences of scripts that put no blank between words, asked as an agent does and looked for as a person does.
#[tokio::test]
async fn a_word_is_found_inside_a_sentence_without_blanks() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for (id, body) in [
        ("ja", "明日の会議は東京都庁で行います。資料を添付しました。"),
        ("zh", "请把发票发送给财务部门，金额为五百元。"),
        ("th", "กรุณาส่งใบแจ้งหนี้ไปที่ฝ่ายบัญชี"),
        ("de", "Lieferung an die Hauptstraße, ﬁle 7"),
        ("el", "Η Αθήνα είναι πρωτεύουσα"),
    ] {
        agent
            .ask(&agent.request(id).args(json!({ "body": body })))
            .await;
        desk.show_in_state(id, "pending");
    }
    for (query, id) in [
        ("東京", "ja"),
        ("会議", "ja"),
        ("明日の会議は東京都庁で行います", "ja"),
        ("发票", "zh"),
        ("ใบแจ้งหนี้", "th"),
        ("hauptstrasse", "de"),
        ("file", "de"),
        ("αθηνα", "el"),
    ] {
        assert_eq!(found(&desk, query), [id], "{query}");
    }
}

#[tokio::test]
async fn an_export_says_what_the_history_says_and_what_the_audit_log_knows() {
    let (desk, _console) = desk().await;
    let file = desk.path().join("history.jsonl");
    let name = file.display().to_string();
    let reported = desk.json(&["export", "--format", "jsonl", "--out", &name, "--json"]);
    assert_eq!(reported, json!({ "file": name, "requests": 3 }));
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(!written.contains(SECRET), "{written}");
    let mut history = desk.lines(&["history", "--json"]);
    assert_eq!(history.pop().unwrap(), json!({ "next": null }));
    let lines: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), history.len());
    for (line, shown) in lines.iter().zip(&history) {
        for (field, value) in shown.as_object().unwrap() {
            assert_eq!(&line[field], value, "{field}");
        }
        let audit = line["audit"].as_array().unwrap();
        assert_eq!(audit[0]["action"], "request");
        assert!(
            audit
                .iter()
                .all(|row| row["hash"].as_str().unwrap().len() == 64)
        );
        let decided = line["state"] == "decided";
        assert_eq!(line["decision"].is_object(), decided, "{line}");
        assert_eq!(audit.iter().any(|row| row["action"] == "decision"), decided);
        assert!(
            line["request_digest"]
                .as_str()
                .unwrap()
                .starts_with("sha256:")
        );
    }
    // It does not replace a file, and the log recorded it before.
    assert_eq!(
        desk.run(&["export", "--format", "jsonl", "--out", &name])
            .code,
        2
    );
    let bundle = desk.path().join("bundle.jsonl").display().to_string();
    desk.run(&["audit", "export", "--out", &bundle]).success();
    let bundle = std::fs::read_to_string(bundle).unwrap();
    let reported = bundle
        .lines()
        .filter(|line| line.contains("\"export\"") && line.contains("jsonl"));
    assert_eq!(reported.count(), 1);
    // A filter narrows it; standard output takes it too.
    let out = desk
        .run(&["export", "--format", "jsonl", "--verdict", "deny"])
        .success();
    assert_eq!(out.out.lines().count(), 1);
}

#[tokio::test]
async fn a_table_runs_nothing_in_a_spreadsheet() {
    let (desk, _console) = desk().await;
    let table = desk.run(&["export", "--format", "csv"]).success().out;
    let dash = desk.run(&["export", "--format", "csv", "--out", "-"]);
    assert_eq!(dash.success().out, table);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert!(table.contains(",'=cmd|' /C calc'!A0,"), "{table}");
    assert!(table.contains("'=never on Fridays"), "{table}");
    assert!(!table.contains(SECRET));
    for cell in table.split([',', '\n', '"']) {
        let first = cell.chars().next().unwrap_or('x');
        assert!(!"=+@\t\r".contains(first) || cell == "\r", "{cell:?}");
    }
}

#[tokio::test]
async fn a_stopped_export_leaves_no_file() {
    let (desk, _console) = desk().await;
    let name = desk.path().join("half.jsonl");
    let arguments = [
        "export",
        "--format",
        "jsonl",
        "--out",
        &name.display().to_string(),
    ];
    let mut child = desk.start(&arguments, Stdio::null());
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, Signal::SIGINT).unwrap();
    let done = child.wait().unwrap();
    let left: Vec<String> = std::fs::read_dir(desk.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|file| file.starts_with("half"))
        .collect();
    // However far it came: a whole file, or none.
    assert_eq!(left.is_empty(), !done.success(), "{left:?}");
    assert!(left.iter().all(|file| file == "half.jsonl"), "{left:?}");
}
