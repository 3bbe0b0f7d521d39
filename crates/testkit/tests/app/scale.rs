//! Very many waiting requests.

use countersign_core::store::request_list::Filter;
use countersign_core::{App, Options};

use crate::agent::{Desk, caught_up, options};

const WAITING: i64 = 100_000;
const MIB: u64 = 1024 * 1024;

fn raised(data: &countersign_testkit::TempData) -> Options {
    let mut options = options(data);
    options.waiting_limit = WAITING;
    options
}

/// Rows as the projection writes them, of a stream that is not projected: no position moves. The last one
/// to come is the first one due.
const SEED: &str = "WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ?1)
    INSERT INTO requests(ws, agent, request_id, kind, tool, risk, allowed, approvals_required,
      request_digest, stream_epoch, stream_seq, requested_at, stored_at, received_at, lifetime, deadline_at,
      state, delivery, raw)
    SELECT 'acme', 'bot', 'r' || n, 'tool_call', 'delete_invoice', 'medium', 'approve deny', 1,
      'sha256:bb', 'seeded', n, ?2, ?2, ?2, 3600000, ?2 + 3600000 - n,
      'pending', 'stored', CAST(printf('%1000s', n) AS BLOB) FROM n";

/// Resident memory of this process: the console and the test are one.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_waiting_requests_are_listed_right_and_fit_into_memory() {
    let Desk { data, app } = Desk::open().await;
    let now = app.now();
    app.shutdown().await;
    let path = data.path().join("countersign.db");
    let store = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut store = sqlx::ConnectOptions::connect(&store).await.unwrap();
    sqlx::query(SEED)
        .bind(WAITING)
        .bind(now.0)
        .execute(&mut store)
        .await
        .unwrap();
    sqlx::Connection::close(store).await.unwrap();

    let before = resident();
    let app = App::start(raised(&data)).await.unwrap();
    caught_up(&app).await;
    let (mut count, mut last) = (0, i64::MIN);
    app.inbox_payloads(&Filter::default(), None, |row| {
        assert!(row.deadline_at > last && !row.raw.is_empty());
        last = row.deadline_at;
        count += 1;
    })
    .await
    .unwrap();
    assert_eq!(count, WAITING);
    let status = app.status().await.unwrap();
    assert_eq!(status.waiting, WAITING);
    let grown = resident().saturating_sub(before);
    assert!(grown < 300 * MIB, "{} MiB", grown / MIB);
    let first = app.inbox(&Filter::default()).await.unwrap().remove(0);
    assert_eq!(first.request_id, format!("r{}", WAITING - 1));
    app.shutdown().await;
}
