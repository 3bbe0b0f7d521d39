//! Clocks that are an hour wrong, in both directions, on the console's machine and on the agent's.

use std::sync::Arc;

use countersign_core::App;
use countersign_core::clock::{BusClock, Clock};
use countersign_core::domain::Timestamp;
use countersign_testkit::TempData;
use countersign_wire::Verdict;
use serde_json::json;

use crate::agent::{Desk, caught_up, in_state, inbox_ids, listed, options, verdict};

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// The machine's clock, so far off.
struct Off(i64);

impl Clock for Off {
    fn now(&self) -> Timestamp {
        Timestamp(BusClock::new().now().0 + self.0)
    }
}

/// `12:00` an hour earlier or later: the agent's clock is not the server's anyway.
fn shifted(text: &str, hours: i64) -> String {
    text.replace("T12:", if hours < 0 { "T11:" } else { "T13:" })
}

async fn a_whole_day(hours: i64) {
    let off: Arc<dyn Clock> = Arc::new(Off(hours * HOUR_MS));
    let desk = Desk::open_with(|options| options.machine_clock = Some(off.clone())).await;
    let agent = desk.agent("bot").await;
    let ask = async |id: &str, until: &str| {
        let mut request = agent.request(id);
        // The agent is off the other way.
        request["requested_at"] = json!(shifted("2026-11-21T12:00:00.000Z", -hours));
        request["expires_at"] = json!(shifted(until, -hours));
        agent.ask(&request).await
    };
    let minute = "2026-11-21T12:01:00.000Z";
    let key = ask("approved", minute).await;
    listed(&desk.app, "approved").await;
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    assert_eq!(agent.decision("approved").await["verdict"], "approve");
    in_state(&desk.app, "approved", "decided").await;

    ask("short", "2026-11-21T12:00:00.300Z").await;
    assert_eq!(agent.decision("short").await["verdict"], "expired");

    let key = ask("restarted", minute).await;
    listed(&desk.app, "restarted").await;
    let mut held = verdict(&key, Verdict::Approve);
    held.hold = true;
    desk.app.decide(held).await.unwrap();
    desk.app.shutdown().await;
    let mut again = options(&desk.data);
    again.machine_clock = Some(off.clone());
    let app = App::start(again).await.unwrap();
    caught_up(&app).await;
    assert_eq!(inbox_ids(&app).await, ["restarted"]);
    app.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    assert_eq!(agent.decision("restarted").await["verdict"], "approve");
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;

    let now = BusClock::new().now().0;
    let rows = audited(&desk.data).await;
    // The start is noted before a bus was met, by the only clock there is.
    for (action, at) in rows.into_iter().filter(|row| row.0 != "console_start") {
        assert!((now - at).abs() < 60_000, "{action} is {} ms off", now - at);
    }
}

async fn audited(data: &TempData) -> Vec<(String, i64)> {
    let file = data.path().join("countersign.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
    let rows: Vec<(String, String)> = sqlx::query_as("SELECT action, at FROM audit ORDER BY seq")
        .fetch_all(&pool)
        .await
        .unwrap();
    assert!(rows.len() > 5);
    rows.into_iter()
        .map(|(action, at)| {
            let at: countersign_wire::Timestamp = at.parse().unwrap();
            (action, at.unix_millis())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_fast_changes_no_outcome() {
    a_whole_day(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_slow_changes_no_outcome() {
    a_whole_day(-1).await;
}
