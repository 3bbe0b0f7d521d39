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
    let reported = found();
    assert_eq!(reported["verdict"], "failed", "{reported}");
    assert!(
        reported["detail"]
            .as_str()
            .unwrap()
            .contains("99990101000000"),
        "{reported}"
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
