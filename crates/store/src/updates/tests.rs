use std::path::Path;

use sqlx::migrate::MigrationType;
use sqlx::{ConnectOptions as _, SqlSafeStr as _};

use super::*;
use crate::pool;

/// Long enough that whoever stops it has the time.
const SLOW: &str = "CREATE TABLE counted AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT i FROM n";

fn steps(sources: &[(&'static str, &'static str)]) -> Migrator {
    let steps = sources.iter().zip(1..).map(|((what, sql), version)| {
        Migration::new(
            version,
            (*what).into(),
            MigrationType::Simple,
            sql.into_sql_str(),
            false,
        )
    });
    Migrator::with_migrations(steps.collect())
}

async fn connected(path: &Path) -> SqliteConnection {
    let options = pool::options(path).create_if_missing(true);
    options.connect().await.unwrap()
}

async fn done(store: &mut SqliteConnection) -> Vec<i64> {
    let done = store.list_applied_migrations(DONE).await.unwrap();
    done.iter().map(|step| step.version).collect()
}

/// Every report from now on.
fn listen(reported: &Updates) -> tokio::task::JoinHandle<Vec<(usize, usize, String)>> {
    let mut news = reported.subscribe();
    tokio::spawn(async move {
        let mut heard = Vec::new();
        while news.changed().await.is_ok() {
            if let Some(step) = news.borrow_and_update().clone() {
                heard.push((step.number, step.of, step.what));
            }
        }
        heard
    })
}

#[tokio::test]
async fn a_store_of_an_earlier_version_is_brought_up_step_by_step_and_each_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = connected(&folder.path().join("earlier.db")).await;
    let first = ("create first", "CREATE TABLE first(a)");
    steps(&[first]).run(&mut store).await.unwrap();
    let later = [
        ("create second", "CREATE TABLE second(a)"),
        ("create third", "CREATE TABLE third(a)"),
    ];
    let all = steps(&[first, later[0], later[1]]);
    let refused = refuse_older(&all, &mut store).await;
    assert!(matches!(refused, Err(StoreError::Older(_))), "{refused:?}");
    let reported = Updates::default();
    let heard = listen(&reported);
    bring_up(&all, &mut store, &reported).await.unwrap();
    assert_eq!(*reported.borrow(), None);
    drop(reported);
    // A listener may miss a step that ends at once, never the number of them.
    for (number, of, what) in heard.await.unwrap() {
        assert_eq!((of, what.as_str()), (later.len(), later[number - 1].0));
    }
    assert_eq!(done(&mut store).await, [1, 2, 3]);
    refuse_older(&all, &mut store).await.unwrap();
}

#[tokio::test]
async fn a_new_store_and_one_of_this_version_tell_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    for _ in 0..2 {
        let reported = Updates::default();
        let heard = listen(&reported);
        let (writer, reader) = pool::open_telling(&path, &reported).await.unwrap();
        drop(reported);
        assert_eq!(heard.await.unwrap(), []);
        reader.close().await;
        writer.close().unwrap();
    }
}

#[tokio::test]
async fn an_update_that_is_stopped_keeps_its_finished_steps_and_goes_on_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stopped.db");
    let mut store = connected(&path).await;
    let first = ("create first", "CREATE TABLE first(a)");
    let second = ("fill second", "CREATE TABLE second(a)");
    steps(&[first]).run(&mut store).await.unwrap();
    let all = steps(&[first, second, ("count", SLOW)]);
    let reported = Updates::default();
    let mut news = reported.subscribe();
    // Its borrow would keep the update from clearing its report.
    let counting = async {
        let second = |step: &Option<UpdateStep>| step.as_ref().is_some_and(|step| step.number == 2);
        let step = news.wait_for(second).await.unwrap().clone();
        step.unwrap().what
    };
    tokio::select! {
        what = counting => assert_eq!(what, "count"),
        ended = bring_up(&all, &mut store, &reported) => panic!("it was not slow enough: {ended:?}"),
    }
    assert_eq!(*reported.borrow(), None);
    drop(store);
    let mut store = connected(&path).await;
    assert_eq!(done(&mut store).await, [1, 2]);
    bring_up(&all, &mut store, &reported).await.unwrap();
    assert_eq!(done(&mut store).await, [1, 2, 3]);
    let counted: i64 = sqlx::query_scalar("SELECT count(*) FROM counted")
        .fetch_one(&mut store)
        .await
        .unwrap();
    assert_eq!(counted, 3_000_000);
}

#[tokio::test]
async fn a_step_that_was_changed_or_is_unknown_is_refused_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = connected(&folder.path().join("changed.db")).await;
    let first = ("create first", "CREATE TABLE first(a)");
    let second = ("create second", "CREATE TABLE second(a)");
    steps(&[first, second]).run(&mut store).await.unwrap();
    let reported = Updates::default();
    let changed = steps(&[first, ("create second", "CREATE TABLE second(b)")]);
    for other in [changed, steps(&[first])] {
        let refused = bring_up(&other, &mut store, &reported).await;
        assert!(
            matches!(refused, Err(StoreError::Migrate(_))),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused_by_its_version_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = connected(&folder.path().join("newer.db")).await;
    let first = (
        "create meta",
        "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT)",
    );
    let ours = steps(&[first]);
    let all = steps(&[first, ("drop much", "CREATE TABLE instead(a)")]);
    bring_up(&all, &mut store, &Updates::default())
        .await
        .unwrap();
    let words = |by: &str| {
        format!(
            "last written by Countersign {by}, and this is {}: there is no way back",
            env!("CARGO_PKG_VERSION")
        )
    };
    let refused = refuse_newer(&ours, &mut store)
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains(&words("of a newer version")), "{refused}");
    sqlx::query("INSERT INTO meta VALUES ('written_by', '0.3.0')")
        .execute(&mut store)
        .await
        .unwrap();
    for refused in [
        bring_up(&ours, &mut store, &Updates::default()).await,
        refuse_older(&ours, &mut store).await,
    ] {
        let refused = refused.unwrap_err();
        assert!(refused.to_string().contains(&words("0.3.0")), "{refused}");
        let fault = countersign_domain::Fault::from(refused);
        assert_eq!(fault.code.as_str(), "read_only");
        assert!(!fault.message.contains("migration"), "{}", fault.message);
    }
    assert_eq!(done(&mut store).await, [1, 2]);
    // What has no steps yet is nobody's.
    let mut fresh = connected(&folder.path().join("fresh.db")).await;
    refuse_newer(&ours, &mut fresh).await.unwrap();
}

#[tokio::test]
async fn a_store_names_the_version_that_opened_it() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) = pool::open(&folder.path().join("own.db")).await.unwrap();
    let by = crate::meta::get(&reader, WRITTEN_BY).await.unwrap();
    assert_eq!(by.as_deref(), Some(env!("CARGO_PKG_VERSION")));
    assert!(newer(&reader).await.unwrap().is_none());
    writer.close().unwrap();
}
