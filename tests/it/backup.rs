//! Back-up and restore.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use countersign_testkit::halt;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::desk::{Agent, Console, Desk, eventually};

/// A folder for backups that is gone after the test.
struct Shelf(tempfile::TempDir);

impl Shelf {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn backup(desk: &Desk, file: &Path, more: &[&str]) -> Value {
    let arguments = [&["backup", text(file), "--json"][..], more].concat();
    desk.json(&arguments)
}

/// What is known of every request: state, verdict, and the decision's place on its stream.
fn known(desk: &Desk) -> BTreeMap<String, (String, String, String)> {
    let lines = desk.lines(&["history", "--limit", "1000", "--json"]);
    let requests = lines.iter().filter(|line| line["request_id"].is_string());
    requests
        .map(|line| {
            let field = |name: &str| line[name].to_string();
            (
                field("request_id"),
                (field("state"), field("verdict"), field("stream_seq")),
            )
        })
        .collect()
}

fn verified(desk: &Desk) -> Value {
    let found = desk.run(&["audit", "verify", "--json"]);
    let found = found.lines().remove(0);
    assert_eq!(found["ok"], json!(true), "{found}");
    found
}

fn remove_store(desk: &Desk) {
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(desk.path().join(format!("countersign.db{ending}")));
    }
}

async fn ask_and_deny(desk: &Desk, agent: &Agent, id: &str) {
    agent.ask(&agent.request(id)).await;
    desk.show_in_state(id, "pending");
    desk.run(&["deny", id, "--message", "no"]).success();
    desk.show_in_state(id, "decided");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_made_under_load_comes_back_with_everything_that_followed() {
    let (desk, shelf) = (Desk::new(), Shelf::new());
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    ask_and_deny(&desk, &agent, "before").await;
    let load = tokio::spawn(async move {
        for number in 0..300 {
            agent.ask(&agent.request(&format!("load-{number}"))).await;
        }
        agent
    });
    eventually(|| {
        let waiting = desk.json(&["status", "--json"])["waiting"].as_i64();
        waiting.filter(|count| *count > 10).ok_or(waiting)
    });
    let file = shelf.file("copy");
    let made = backup(&desk, &file, &[]);
    assert_eq!(
        (&made["keys"], &made["audited"]),
        (&json!(false), &json!(true))
    );
    let agent = load.await.unwrap();
    ask_and_deny(&desk, &agent, "after").await;
    desk.show_in_state("load-299", "pending");
    let was = known(&desk);
    console.stop(Signal::SIGTERM);

    let head = desk.json(&["audit", "head", "--json"]);
    remove_store(&desk);
    let done = desk.json(&["restore", text(&file), "--json"]);
    assert_eq!(done["audit"], made["audit"]);
    let console = Console::start(&desk);
    assert_eq!(known(&desk), was);
    assert_eq!(agent.decision("before").await.unwrap()["verdict"], "deny");
    // The rows after the backup are gone; the log says so, and which.
    let found = verified(&desk);
    assert_eq!(found["restores"][0]["from_seq"], made["audit"]["seq"]);
    assert!(found["restores"][0]["lost_anchors"].as_i64().unwrap() > 0);
    assert_eq!(found["restores"][0]["lost_up_to"], head["seq"]);
    let shown = desk.run(&["audit", "verify"]).success();
    assert!(
        shown.out.contains("restored from a backup"),
        "{}",
        shown.out
    );
    ask_and_deny(&desk, &agent, "later").await;
    console.stop(Signal::SIGTERM);
    verified(&desk);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_without_keys_holds_no_password_of_the_settings() {
    let (desk, shelf) = (Desk::new(), Shelf::new());
    let settings = "# nats_url = \"nats://ada:pw-of-ada-4711@bus.example\"\noperator = \"Ada\"\n";
    std::fs::write(desk.path().join("config.toml"), settings).unwrap();
    let _console = Console::start(&desk);
    let (without, with) = (shelf.file("without"), shelf.file("with"));
    backup(&desk, &without, &[]);
    backup(&desk, &with, &["--include-keys"]);
    let holds = |file: &Path, what: &str| {
        let bytes = std::fs::read(file).unwrap();
        bytes.windows(what.len()).any(|at| at == what.as_bytes())
    };
    assert!(
        holds(&without, "operator = \"Ada\""),
        "the settings are in it"
    );
    assert!(!holds(&without, "pw-of-ada-4711"));
    assert!(holds(&with, "pw-of-ada-4711"), "everything is in it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_was_cut_is_not_excused_by_an_earlier_restore() {
    let (desk, shelf) = (Desk::new(), Shelf::new());
    Console::start(&desk).stop(Signal::SIGTERM);
    let file = shelf.file("copy");
    backup(&desk, &file, &[]);
    let console = Console::start(&desk);
    console.stop(Signal::SIGTERM);
    desk.run(&["restore", text(&file), "--replace"]).success();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    ask_and_deny(&desk, &agent, "r1").await;
    console.stop(Signal::SIGTERM);
    // Its last row is the start of a console, recorded nowhere else.
    Console::start(&desk).stop(Signal::SIGTERM);
    verified(&desk);
    let store = format!("sqlite://{}", desk.path().join("countersign.db").display());
    let mut store = SqliteConnection::connect(&store).await.unwrap();
    for sql in [
        "DROP TRIGGER audit_refuses_delete",
        "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
        "DELETE FROM anchors",
    ] {
        sqlx::query(sql).execute(&mut store).await.unwrap();
    }
    store.close().await.unwrap();
    let _console = Console::start(&desk);
    let found = desk.run(&["audit", "verify", "--json"]);
    let bad = &found.lines()[0]["first_bad"];
    assert_eq!((found.code, &bad["table"]), (1, &json!("audit")), "{bad}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_was_queued_when_the_backup_was_made_is_not_given_twice() {
    let (desk, shelf) = (Desk::new(), Shelf::new());
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1").lasting(600_000)).await;
    desk.show_in_state("r1", "pending");
    let runtime = std::fs::read(desk.path().join("runtime.json")).unwrap();
    let runtime: Value = serde_json::from_slice(&runtime).unwrap();
    let server = Pid::from_raw(i32::try_from(runtime["nats_pid"].as_i64().unwrap()).unwrap());
    halt(server);
    let queued = desk.start(&["approve", "r1", "--json"], std::process::Stdio::null());
    desk.show_in_state("r1", "queued");
    let file = shelf.file("copy");
    backup(&desk, &file, &[]);
    kill(server, Signal::SIGCONT).unwrap();
    queued.wait_with_output().unwrap();
    desk.show_in_state("r1", "decided");
    let given = agent.decision("r1").await.unwrap();
    let streams = |desk: &Desk| desk.json(&["status", "--json"])["streams"]["CS_DECISIONS"].clone();
    let was = (known(&desk), streams(&desk));
    console.stop(Signal::SIGTERM);

    desk.run(&["restore", text(&file), "--replace"]).success();
    let _console = Console::start(&desk);
    desk.show_in_state("r1", "decided");
    eventually(
        || match desk.json(&["status", "--json"])["outbox"].as_i64() {
            Some(0) => Ok(()),
            left => Err(left),
        },
    );
    assert_eq!((known(&desk), streams(&desk)), was);
    assert_eq!(agent.decision("r1").await.unwrap(), given);
    verified(&desk);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_private_keeps_to_its_name_and_holds_keys_only_when_told() {
    let (desk, shelf) = (Desk::new(), Shelf::new());
    Console::start(&desk).stop(Signal::SIGTERM);
    let seed = std::fs::read_to_string(desk.path().join("keys/human.nk")).unwrap();
    let file = shelf.file("copy");
    backup(&desk, &file, &[]);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let holds = |file: &Path| {
        let bytes = std::fs::read(file).unwrap();
        bytes
            .windows(seed.len())
            .any(|part| part == seed.as_bytes())
    };
    assert!(!holds(&file));
    let (exit, code, message) = desk.run(&["backup", text(&file), "--json"]).error();
    assert_eq!((exit, code.as_str()), (2, "usage"), "{message}");
    assert_eq!(
        backup(&desk, &file, &["--force", "--include-keys"])["keys"],
        true
    );
    assert!(holds(&file));
    for own in ["countersign.db", "keys/human.nk", "console.lock"] {
        let own = desk.path().join(own);
        let ended = desk.run(&["backup", text(&own), "--force", "--json"]);
        assert_eq!(ended.error().0, 2);
    }
    let nowhere = shelf.file("no/such/folder");
    assert_eq!(desk.run(&["backup", text(&nowhere), "--json"]).error().0, 2);
    let left: Vec<_> = std::fs::read_dir(shelf.0.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing unfinished is left: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_refuses_what_would_lose_or_believe_too_much() {
    let (desk, shelf) = (Desk::new(), Shelf::new());
    let console = Console::start(&desk);
    let file = shelf.file("copy");
    backup(&desk, &file, &[]);
    let refused = |file: &Path, why: &str| {
        let head = desk.json(&["audit", "head", "--json"]);
        let (exit, _, message) = desk.run(&["restore", text(file), "--json"]).error();
        assert_eq!(exit, 2, "{message}");
        assert!(message.contains(why), "{message}");
        assert_eq!(desk.json(&["audit", "head", "--json"]), head);
        assert!(!desk.path().join("restoring").exists());
    };
    refused(&file, "a console is running in");
    refused(
        Path::new("/nope"),
        "name a file that `countersign backup FILE` made",
    );
    console.stop(Signal::SIGTERM);
    // The folder has rows that the backup has not.
    refused(&file, "--replace");

    let bytes = std::fs::read(&file).unwrap();
    let bent = shelf.file("bent");
    std::fs::write(&bent, b"a letter").unwrap();
    refused(&bent, "is not a backup");
    // Nothing is said of this console's own store, which nobody has looked at.
    let reported = desk.run(&["restore", text(&bent)]).err;
    assert!(
        !reported.contains("damaged") && !reported.contains("--replace"),
        "{reported}"
    );
    refused(&shelf.file("missing"), "missing");
    std::fs::write(&bent, &bytes[..bytes.len() / 2]).unwrap();
    refused(&bent, "");
    std::fs::copy(desk.path().join("countersign.db"), &bent).unwrap();
    refused(&bent, "is not a backup");
    std::fs::write(&bent, &bytes).unwrap();
    let mut store = SqliteConnection::connect(&format!("sqlite://{}", bent.display()))
        .await
        .unwrap();
    sqlx::query("UPDATE realm_log SET message = x'7b7d'")
        .execute(&mut store)
        .await
        .unwrap();
    store.close().await.unwrap();
    refused(&bent, "does not verify");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_another_machine_the_keys_must_come_along_and_a_bus_that_is_gone_is_said_so() {
    let (desk, shelf) = (Desk::new(), Shelf::new());
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    ask_and_deny(&desk, &agent, "r1").await;
    let (without, with) = (shelf.file("without"), shelf.file("with"));
    backup(&desk, &without, &[]);
    backup(&desk, &with, &["--include-keys"]);
    console.stop(Signal::SIGTERM);

    let other = Desk::new();
    let (exit, _, message) = other.run(&["restore", text(&without), "--json"]).error();
    assert_eq!(exit, 2);
    assert!(message.contains("--include-keys"), "{message}");
    other.run(&["restore", text(&with)]).success();
    let mode = |name: &str| {
        let found = std::fs::metadata(other.path().join(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    for name in [
        "countersign.db",
        "keys/human.nk",
        "keys/auto.nk",
        "keys/login.nk",
    ] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    assert_eq!(known(&other), known(&desk));
    verified(&other);
    // The streams were not part of the backup: the console shows what it knows and decides nothing.
    let _console = Console::start(&other);
    let status = other.json(&["status", "--json"]);
    assert!(status["read_only"].is_string(), "{status}");
    assert_eq!(known(&other), known(&desk));
}
