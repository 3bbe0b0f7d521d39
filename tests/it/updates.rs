//! A console of this version on the store of an earlier one.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use nix::sys::signal::Signal;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use crate::desk::{Console, Desk, Running, eventually};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");
/// The last step of the earlier version; three follow it at least.
const EARLIER: i64 = 20_261_122_200_000;
/// So many that the next step, which makes a row for each, takes longer than a signal.
const SPANS: i64 = 400_000;

async fn store(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path.join("countersign.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal);
    options.connect().await.unwrap()
}

async fn count(store: &mut SqliteConnection, what: &'static str) -> i64 {
    sqlx::query_scalar(what).fetch_one(store).await.unwrap()
}

async fn steps(store: &mut SqliteConnection) -> i64 {
    count(store, "SELECT count(*) FROM _sqlx_migrations WHERE success").await
}

/// What an earlier version left behind.
async fn earlier(path: &Path) -> i64 {
    let mut store = store(path).await;
    MIGRATIONS.run_to(EARLIER, &mut store).await.unwrap();
    sqlx::query(
        "INSERT INTO spans(ws, agent, trace_id, span_id, name, kind, status, started_at, ended_at, stream_epoch, stream_seq, body)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         SELECT 'default', 'bot', format('t%06d', i * 7919 % 400009), 'a', 'step', 'tool', 'ok', i, i + 1, 'e', i, CAST('{}' AS BLOB) FROM n",
    )
    .bind(SPANS)
    .execute(&mut store)
    .await
    .unwrap();
    let done = steps(&mut store).await;
    store.close().await.unwrap();
    done
}

/// How often the log tells of a step.
fn told(log: &str, step: &str) -> usize {
    log.matches(&format!("updating the store: {step}")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_is_told_step_by_step_and_sigint_in_its_middle_leaves_a_store_with_which_the_next_start_goes_on()
 {
    let desk = Desk::new();
    let before = earlier(desk.path()).await;
    let all = i64::try_from(MIGRATIONS.iter().count()).unwrap();
    let first = format!("step 1 of {}, create traces", all - before);

    let path = desk.path().join("stopped.log");
    let mut serve = desk.command(&["serve"]);
    serve
        .stdout(Stdio::piped())
        .stderr(File::create(&path).unwrap());
    let mut stopped = Running(serve.spawn().unwrap());
    let log = || std::fs::read_to_string(&path).unwrap();
    eventually(|| {
        if told(&log(), &first) == 1 {
            Ok(())
        } else {
            Err(log())
        }
    });
    stopped.signal(Signal::SIGINT);
    assert_eq!(stopped.wait(), Some(0), "{}", log());
    let mut printed = String::new();
    std::io::Read::read_to_string(stopped.0.stdout.as_mut().unwrap(), &mut printed).unwrap();
    assert_eq!(printed, "", "it was never ready");
    assert_eq!(
        told(&log(), "step 2"),
        0,
        "stopped in the first step: {}",
        log()
    );

    let mut left = store(desk.path()).await;
    let sound: String = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_one(&mut left)
        .await
        .unwrap();
    assert_eq!(sound, "ok");
    assert_eq!(steps(&mut left).await, before);
    assert_eq!(
        count(
            &mut left,
            "SELECT count(*) FROM sqlite_schema WHERE name = 'traces'"
        )
        .await,
        0
    );
    assert_eq!(count(&mut left, "SELECT count(*) FROM spans").await, SPANS);
    left.close().await.unwrap();

    let console = Console::start(&desk);
    let log = std::fs::read_to_string(desk.path().join("serve.log")).unwrap();
    assert_eq!(told(&log, &first), 1, "{log}");
    for number in 1..=all - before {
        assert_eq!(
            told(&log, &format!("step {number} of {}", all - before)),
            1,
            "{log}"
        );
    }
    let tree = desk.json(&["trace", "t007919", "--json"]);
    assert_eq!(tree["spans"], 1);
    assert_eq!(console.stop(Signal::SIGTERM), (Some(0), String::new()));
    let mut left = store(desk.path()).await;
    assert_eq!(steps(&mut left).await, all);
    assert_eq!(count(&mut left, "SELECT count(*) FROM traces").await, SPANS);
    left.close().await.unwrap();
    // What is up to date tells nothing.
    let console = Console::start(&desk);
    let log = std::fs::read_to_string(desk.path().join("serve.log")).unwrap();
    assert_eq!(told(&log, ""), 0, "{log}");
    console.stop(Signal::SIGTERM);
}

#[tokio::test]
async fn doctor_tells_that_a_newer_version_wrote_the_store() {
    let desk = Desk::new();
    Console::start(&desk).stop(Signal::SIGTERM);
    let found = || {
        let checks = desk.run(&["doctor", "--json"]).lines();
        let store = checks.into_iter().find(|check| check["check"] == "store");
        store.unwrap()
    };
    assert_eq!(found()["verdict"], "ok");
    let mut store = store(desk.path()).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations(version, description, success, checksum, execution_time)
         VALUES (99990101000000, 'later', 1, x'00', 0)",
    )
    .execute(&mut store)
    .await
    .unwrap();
    store.close().await.unwrap();
    let told = found();
    assert_eq!(told["verdict"], "failed", "{told}");
    assert!(
        told["detail"].as_str().unwrap().contains("99990101000000"),
        "{told}"
    );
    let refused = desk.run(&["serve", "--json"]);
    assert_ne!(refused.code, 0, "what doctor says is what a start meets");
}

#[tokio::test]
async fn a_command_beside_a_console_of_an_older_version_leaves_the_store_as_it_is_and_says_what_to_do()
 {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let mut left = store(desk.path()).await;
    // What an older version left: the last step was not made, nor what it makes.
    let last: i64 = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations")
        .fetch_one(&mut left)
        .await
        .unwrap();
    for statement in [
        "DELETE FROM _sqlx_migrations WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
        "DROP TABLE typed_targets",
    ] {
        sqlx::query(statement).execute(&mut left).await.unwrap();
    }
    let before = steps(&mut left).await;
    for command in [
        &["approve", "r1", "--json"][..],
        &["deny", "r1", "--message", "no", "--json"],
        &["panic", "on", "--json"],
    ] {
        let found = desk.run(command);
        let (exit, code, message) = found.error();
        assert_eq!(
            (exit, code.as_str()),
            (2, "environment"),
            "{command:?}: {message}"
        );
        assert!(message.contains("older version"), "{command:?}: {message}");
    }
    assert_eq!(
        steps(&mut left).await,
        before,
        "{last} is left to the console"
    );
    left.close().await.unwrap();
    drop(console);
}
