//! A store that is full, and one that is broken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use countersign_core::App;
use countersign_wire::Verdict;

use crate::agent::{Agent, Desk, inbox_ids, listed, options, verdict};

const PAGES: u32 = 400;

fn large(agent: &Agent, id: &str) -> serde_json::Value {
    let mut request = agent.request(id);
    request["metadata"] = serde_json::json!({ "filler": "x".repeat(200_000) });
    request
}

/// Waits until `status` says, or stops saying, that the store takes no writes.
async fn told_as(app: &App, failed: bool) {
    let reported = async {
        loop {
            let status = app.status().await.unwrap();
            let alarmed = status
                .alarms
                .iter()
                .any(|alarm| alarm.code == "store_failed" && alarm.at > 0);
            if (alarmed, status.store_failed.is_some()) == (failed, failed) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(
        tokio::time::timeout(crate::agent::LIMIT, reported)
            .await
            .is_ok(),
        "{:?}",
        app.status().await.unwrap()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_the_intake_tells_who_decides_and_loses_nothing() {
    let limit = Arc::new(AtomicU32::new(PAGES));
    let given = Arc::clone(&limit);
    let desk = Desk::open_with(|options| options.page_limit = Some(given)).await;
    let agent = desk.agent("bot").await;
    let ids: Vec<String> = (0..20).map(|number| format!("r{number}")).collect();
    let first = agent.ask(&large(&agent, &ids[0])).await;
    listed(&desk.app, &ids[0]).await;
    for id in &ids[1..] {
        agent.ask(&large(&agent, id)).await;
    }
    let mut health = desk.app.health();
    let full = health.wait_for(|health| health.store_failed.is_some());
    let full = tokio::time::timeout(crate::agent::LIMIT, full)
        .await
        .unwrap();
    let why = full.unwrap().store_failed.clone().unwrap();
    assert!(
        why.contains("full") && why.contains("free disk space"),
        "{why}"
    );
    let known = inbox_ids(&desk.app).await;
    assert!(known.len() < ids.len(), "{known:?}");
    // The console itself and every other command of the folder say so.
    let other = App::read(options(&desk.data), false).await.unwrap();
    for app in [&desk.app, &other] {
        told_as(app, true).await;
    }
    // A verdict may still find room in a page; what becomes of it is not known here all the same.
    let refused = desk.app.decide(verdict(&first, Verdict::Deny)).await;
    assert_eq!(refused.unwrap_err().code.as_str(), "read_only");

    limit.store(1_000_000, Ordering::Relaxed);
    listed(&desk.app, ids.last().unwrap()).await;
    let mut expected = ids.clone();
    let waiting = inbox_ids(&desk.app).await;
    expected.retain(|id| id != &ids[0] || waiting.contains(id));
    assert_eq!(waiting, expected);
    // Reported after the commit that can be read already.
    let sound = health.wait_for(|health| health.store_failed.is_none());
    let sound = tokio::time::timeout(crate::agent::LIMIT, sound).await;
    drop(sound.unwrap().unwrap());
    for app in [&desk.app, &other] {
        told_as(app, false).await;
    }
    other.shutdown().await;
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_break_while_the_console_runs_stop_every_write_for_good() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    let path = desk.data.path().join("countersign.db");
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    crate::agent::caught_up(&app).await;
    // Everything behind the first page, in the place of what the console has not read yet.
    let size = std::fs::metadata(&path).unwrap().len();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let noise = vec![0xA5; usize::try_from(size).unwrap() - 4_096];
    std::os::unix::fs::FileExt::write_all_at(&file, &noise, 4_096).unwrap();
    drop(file);
    let log = data.path().join("countersign.db-wal");
    if log.exists() {
        std::fs::File::options()
            .write(true)
            .open(&log)
            .unwrap()
            .set_len(0)
            .unwrap();
    }
    let refused = app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap_err();
    assert_eq!(refused.code.as_str(), "read_only", "{refused}");
    assert!(
        refused.to_string().contains("countersign restore"),
        "{refused}"
    );
    let broken = std::fs::read(&path).unwrap();
    app.decide(verdict(&key, Verdict::Deny)).await.unwrap_err();
    assert_eq!(
        std::fs::read(&path).unwrap(),
        broken,
        "nothing was repaired"
    );
    app.shutdown().await;
}
