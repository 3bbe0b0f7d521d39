//! A console of this version on the store of an earlier one.

use std::path::Path;

use nix::sys::signal::Signal;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use crate::desk::{Console, Desk};

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

#[tokio::test]
async fn a_store_of_a_newer_version_is_read_and_never_written() {
    let desk = Desk::new();
    Console::start(&desk).stop(Signal::SIGTERM);
    let found = || {
        let checks = desk.run(&["doctor", "--json"]).lines();
        let store = checks.into_iter().find(|check| check["check"] == "store");
        store.unwrap()
    };
    assert_eq!(found()["verdict"], "ok");
    let mut left = store(desk.path()).await;
    for statement in [
        "INSERT INTO _sqlx_migrations(version, description, success, checksum, execution_time)
         VALUES (99990101000000, 'later', 1, x'00', 0)",
        "UPDATE meta SET value = '0.3.0' WHERE key = 'written_by'",
    ] {
        sqlx::query(statement).execute(&mut left).await.unwrap();
    }
    let words = "this data folder was last written by Countersign 0.3.0";
    let reported = found();
    assert_eq!(reported["verdict"], "failed", "{reported}");
    let detail = reported["detail"].as_str().unwrap();
    assert!(detail.contains(words), "{detail}");
    for command in ["inbox", "status"] {
        desk.run(&[command]).success();
    }
    for command in [&["serve", "--json"][..], &["panic", "on", "--json"]] {
        let (exit, code, message) = desk.run(command).error();
        assert_eq!((exit, code.as_str()), (8, "read_only"), "{command:?}");
        assert!(message.contains(words), "{message}");
    }
    let by = count(&mut left, "SELECT count(*) FROM meta WHERE value = '0.3.0'").await;
    assert_eq!(by, 1, "a refused start writes nothing");
    // Where its tables are others, the same words.
    sqlx::query("ALTER TABLE requests RENAME TO asked")
        .execute(&mut left)
        .await
        .unwrap();
    let (exit, _, message) = desk.run(&["inbox", "--json"]).error();
    assert_eq!(exit, 8, "{message}");
    assert!(message.contains(words), "{message}");
    left.close().await.unwrap();
}

#[tokio::test]
async fn only_a_console_that_takes_decisions_is_ready() {
    let desk = Desk::new();
    let ready = || desk.run(&["status", "--ready"]);
    let none = ready();
    assert_eq!((none.code, none.err.as_str()), (7, "no_console\n"));
    let (exit, code, _) = desk.run(&["status", "--ready", "--json"]).error();
    assert_eq!((exit, code.as_str()), (7, "not_ready"));
    let console = Console::start(&desk);
    let well = ready().success();
    assert_eq!((well.out.as_str(), well.err.as_str()), ("", ""));
    console.stop(Signal::SIGTERM);
    assert_eq!(ready().code, 7);
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
