//! The bundle of `audit export`, checked by the script that is independent of this program.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, Ended, ended, eventually};

/// The Python environment of set-up, which has the one package that the script needs; else the system's.
pub(crate) fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut places = root
        .ancestors()
        .map(|folder| folder.join(".venv/bin/python"));
    places
        .find(|path| path.is_file())
        .unwrap_or_else(|| "python3".into())
}

pub(crate) fn check(bundle: &Path, more: &[&str]) -> Ended {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verify-audit.py");
    let output = Command::new(python())
        .arg(script)
        .arg(bundle)
        .args(more)
        .output();
    ended(output.expect("python runs"))
}

/// A folder whose log has an approval of edited arguments, a denial, an expiry and a rejection.
async fn history() -> (Desk, Console) {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent
        .ask(&agent.request("r1").set("risk", json!("critical")))
        .await;
    agent.ask(&agent.request("r2")).await;
    agent
        .ask(
            &agent
                .request("r3")
                .args(json!({"amount": 1e-7, "big": 1e21, "half": 0.5, "é": [null]})),
        )
        .await;
    agent.ask(&agent.request("r4").lasting(200)).await;
    agent.ask(&agent.request("r5").set("v", json!(2))).await;
    desk.show_in_state("r3", "pending");
    desk.run(&["approve", "r1"]).success();
    desk.run(&["deny", "r2", "--message", "no"]).success();
    desk.run_with(r#"{"amount": 2.5}"#, &["approve", "r3", "--args", "-"])
        .success();
    for (id, state) in [("r4", "expired"), ("r5", "rejected")] {
        eventually(|| agent_decision(&desk, id, state));
    }
    eventually(
        || match desk.json(&["status", "--json"])["audit"]["anchored_seq"].as_i64() {
            Some(seq) if seq > 0 => Ok(()),
            other => Err(other),
        },
    );
    (desk, console)
}

fn agent_decision(desk: &Desk, id: &str, state: &str) -> Result<(), String> {
    let shown = desk.run(&["show", id, "--json"]);
    let line: Value = serde_json::from_str(&shown.out).unwrap_or_default();
    let stored = line["state"] == state && line["stream_seq"].is_number();
    if stored { Ok(()) } else { Err(shown.out) }
}

#[tokio::test]
async fn a_bundle_is_checked_with_nothing_of_ours_and_every_change_is_found() {
    let (desk, console) = history().await;
    let file = desk.path().join("bundle.jsonl");
    let name = file.display().to_string();
    let made = desk.json(&["audit", "export", "--out", &name, "--json"]);
    assert_eq!(
        (&made["anchors_from_bus"], &made["requests"]),
        (&json!(true), &json!(5))
    );
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let fine = check(&file, &[]).success();
    assert!(
        fine.out.starts_with("all as it was written"),
        "{}",
        fine.out
    );
    let head = made["head"]["hash"].as_str().unwrap();
    check(&file, &["--head", head]).success();
    check(
        &file,
        &["--trust", console.ready["operator_key"].as_str().unwrap()],
    )
    .success();
    let stranger = nkeys::KeyPair::new_user().public_key();
    assert_eq!(check(&file, &["--trust", &stranger]).code, 1);
    assert_eq!(check(&file, &["--head", &"0".repeat(64)]).code, 1);
    let again = desk.run(&["audit", "export", "--out", &name, "--json"]);
    assert_eq!(again.error().0, 2, "an existing file stays");
    console.stop(Signal::SIGTERM);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let exported = lines.iter().any(|line| line["action"] == "export");
    assert!(
        exported,
        "the bundle holds the row that says that it was made"
    );
    for (what, change) in changes() {
        let mut changed = lines.clone();
        change(&mut changed);
        assert_ne!(changed, lines, "{what}");
        let other = desk.path().join("changed.jsonl");
        let text: String = changed.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&other, text).unwrap();
        let found = check(&other, &[]);
        assert_eq!(found.code, 1, "{what}: {found:?}");
        assert!(
            found.err.starts_with("not as it was written: "),
            "{what}: {found:?}"
        );
    }
}

fn bundle_verifies(desk: &Desk, name: &str) -> Vec<Value> {
    let file = desk.path().join(name);
    let out = file.display().to_string();
    let made = desk.json(&["audit", "export", "--out", &out, "--json"]);
    assert_eq!(made["anchors_from_bus"], true, "{made}");
    check(&file, &[]).success();
    let text = std::fs::read_to_string(&file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_made_after_a_restore_and_after_a_recovery_verifies() {
    let (desk, console) = history().await;
    let copy = desk.path().join("copy").display().to_string();
    desk.run(&["backup", &copy]).success();
    let agent = Agent::connect(console.agent_json()).await;
    // Anchored beyond the backup: these anchors are of no row that comes back.
    agent
        .ask(&agent.request("r6").set("risk", json!("critical")))
        .await;
    desk.show_in_state("r6", "pending");
    desk.run(&["approve", "r6"]).success();
    console.stop(Signal::SIGTERM);
    desk.run(&["restore", &copy, "--replace"]).success();
    let console = Console::start(&desk);
    desk.show_in_state("r6", "decided");
    eventually(|| {
        let found = desk.run(&["audit", "verify", "--json"]);
        (found.code == 0).then_some(()).ok_or(found)
    });
    let lines = bundle_verifies(&desk, "restored.jsonl");
    let lost = lines
        .iter()
        .find(|line| line["action"] == "anchors_lost")
        .unwrap();
    let detail: Value = serde_json::from_str(lost["detail"].as_str().unwrap()).unwrap();
    assert!(detail["count"].as_i64().unwrap() > 0, "{detail}");
    // One anchor more, or less, than the log names is none that a restore explains.
    let anchors: Vec<usize> = (0..lines.len())
        .filter(|at| lines[*at]["type"] == "anchor")
        .collect();
    let stranger = anchors
        .iter()
        .copied()
        .find(|at| lines[*at]["stream_seq"] == detail["last"]["stream_seq"]);
    let mut fewer = lines.clone();
    fewer.remove(stranger.unwrap());
    let end = fewer.len() - 1;
    let count = fewer[end]["counts"]["anchor"].as_i64().unwrap();
    fewer[end]["counts"]["anchor"] = json!(count - 1);
    if detail["count"].as_i64().unwrap() > 1 {
        let other = desk.path().join("fewer.jsonl");
        let text: String = fewer.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&other, text).unwrap();
        let found = check(&other, &[]);
        assert_eq!(found.code, 1, "{found:?}");
        assert!(
            found.err.contains("not the row that was anchored"),
            "{found:?}"
        );
    }

    console.stop(Signal::SIGTERM);
    std::fs::remove_dir_all(desk.path().join("nats/jetstream")).unwrap();
    let _console = Console::start(&desk);
    desk.run(&["bus", "recover"]).success();
    desk.run(&["audit", "verify"]).success();
    bundle_verifies(&desk, "recovered.jsonl");
}

type Change = Box<dyn Fn(&mut Vec<Value>)>;

fn place(lines: &[Value], fits: impl Fn(&Value) -> bool) -> usize {
    lines.iter().position(fits).expect("a line")
}

fn of(lines: &[Value], kind: &str, id: &str) -> usize {
    place(lines, |line| {
        line["type"] == kind && line["request_id"] == id
    })
}

/// Changes one field of the first line that fits.
fn set(kind: &'static str, id: &'static str, field: &'static str, value: Value) -> Change {
    Box::new(move |lines| {
        let at = place(lines, |line| {
            line["type"] == kind && (id.is_empty() || line["request_id"] == id)
        });
        lines[at][field] = value.clone();
    })
}

fn remove(kind: &'static str, id: &'static str) -> Change {
    Box::new(move |lines| {
        let at = place(lines, |line| {
            line["type"] == kind && (id.is_empty() || line["request_id"] == id)
        });
        lines.remove(at);
        let end = lines.len() - 1;
        let count = lines[end]["counts"][kind].as_i64().unwrap();
        lines[end]["counts"][kind] = json!(count - 1);
    })
}

fn changes() -> Vec<(&'static str, Change)> {
    vec![
        ("a row's actor", set("audit", "", "actor", json!("nobody"))),
        ("a row's detail", set("audit", "", "detail", json!("{}"))),
        ("a row gone", remove("audit", "")),
        (
            "the tail gone",
            Box::new(|lines| {
                let at = place(lines, |line| line["action"] == "export");
                lines.remove(at);
            }),
        ),
        (
            "the request's bytes",
            set("request", "r1", "raw", json!("e30")),
        ),
        (
            "the request's bytes gone without retention",
            set("request", "r1", "raw", Value::Null),
        ),
        ("the request gone", remove("request", "r1")),
        (
            "the request's digest",
            set(
                "request",
                "r1",
                "digest",
                json!(format!("sha256:{}", "0".repeat(64))),
            ),
        ),
        (
            "the decision's bytes",
            set("decision", "r1", "payload", json!("e30")),
        ),
        ("the decision gone", remove("decision", "r2")),
        (
            "another signature",
            set("decision", "r1", "sig", json!("A".repeat(86))),
        ),
        (
            "another signer",
            set(
                "decision",
                "r1",
                "key",
                json!(nkeys::KeyPair::new_user().public_key()),
            ),
        ),
        (
            "another outcome",
            set("decision", "r2", "effective", json!("approve")),
        ),
        (
            "a void one",
            set("decision", "r1", "effective", json!("void")),
        ),
        (
            "another request's decision",
            Box::new(|lines| {
                let (one, other) = (of(lines, "decision", "r1"), of(lines, "decision", "r2"));
                let (first, second) = (
                    lines[one]["payload"].clone(),
                    lines[other]["payload"].clone(),
                );
                lines[one]["payload"] = second;
                lines[other]["payload"] = first;
            }),
        ),
        (
            "stored before the key counted",
            set(
                "decision",
                "r1",
                "stored_at",
                json!("2020-01-01T00:00:00.000Z"),
            ),
        ),
        (
            "stored after the deadline",
            set(
                "decision",
                "r1",
                "stored_at",
                json!("2120-01-01T00:00:00.000Z"),
            ),
        ),
        (
            "an anchor's signature",
            set("anchor", "", "sig", json!("A".repeat(86))),
        ),
        (
            "an entry of the realm log",
            set("entry", "", "message", json!("e30")),
        ),
        ("an entry gone", remove("entry", "")),
        (
            "another realm",
            Box::new(|lines| lines[0]["realm"] = json!("019aa000-0000-7000-8000-000000000001")),
        ),
        (
            "a decision twice",
            Box::new(|lines| {
                let one = lines[of(lines, "decision", "r1")].clone();
                let end = lines.len() - 1;
                lines.insert(end, one);
                lines[end + 1]["counts"]["decision"] =
                    json!(lines[end + 1]["counts"]["decision"].as_i64().unwrap() + 1);
            }),
        ),
        ("cut short", Box::new(|lines| drop(lines.pop()))),
    ]
}
