use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign_core::clock::{BusClock, Clock};
use countersign_core::domain::Timestamp;
use countersign_testkit::TempData;
use countersign_wire::Verdict;
use serde_json::json;
use tokio::time::Instant;

use crate::agent::{Desk, colleague, in_state, inbox_ids, line_when, listed, until, verdict};

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_answers_expires_and_is_answered_so() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut request = agent.request("r1");
    request["expires_at"] = json!("2026-11-21T12:00:00.300Z");
    let key = agent.ask(&request).await;
    let decision = agent.decision("r1").await;
    assert_eq!(
        (&decision["verdict"], &decision["origin"]),
        (&json!("expired"), &json!("timeout"))
    );
    in_state(&desk.app, "r1", "expired").await;
    let late = desk
        .app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap_err();
    assert_eq!(late.code.as_str(), "expired");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_request_leaves_the_inbox_and_is_answered_so() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    agent
        .publish(agent.subject("withdraw", "r1"), b"whatever".to_vec())
        .await
        .unwrap();
    let decision = agent.decision("r1").await;
    assert_eq!(
        (&decision["verdict"], &decision["origin"]),
        (&json!("withdrawn"), &json!("agent"))
    );
    in_state(&desk.app, "r1", "withdrawn").await;
    let late = desk
        .app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap_err();
    assert_eq!(late.code.as_str(), "already_decided");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdraw_before_its_request_counts() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    agent
        .publish(agent.subject("withdraw", "r1"), b"{}".to_vec())
        .await
        .unwrap();
    agent.ask(&agent.request("r1")).await;
    assert_eq!(agent.decision("r1").await["verdict"], "withdrawn");
    in_state(&desk.app, "r1", "withdrawn").await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_is_only_ever_shortened_and_by_the_first_word() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for (id, word, expected) in [
        (
            "later",
            json!({"v": 1, "expires_at": "2026-11-21T13:00:00.000Z"}),
            60_000,
        ),
        (
            "earlier",
            json!({"v": 1, "expires_at": "2026-11-21T12:00:30.000Z"}),
            30_000,
        ),
        ("broken", json!({"v": 1}), 60_000),
    ] {
        agent.ask(&agent.request(id)).await;
        let payload = serde_json::to_vec(&word).unwrap();
        agent
            .publish(agent.subject("tighten", id), payload)
            .await
            .unwrap();
        // A request that is stored later is projected later.
        let after = format!("after-{id}");
        agent.ask(&agent.request(&after)).await;
        listed(&desk.app, &after).await;
        let row = desk.app.find(id).await.unwrap();
        assert_eq!(row.deadline_at - row.stored_at, expected, "{id}");
    }
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_that_was_kept_stays_whatever_the_agent_says_after_the_decision() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    in_state(&desk.app, "r1", "decided").await;
    let word = json!({"v": 1, "expires_at": "2026-11-21T12:00:00.001Z"});
    let payload = serde_json::to_vec(&word).unwrap();
    agent
        .publish(agent.subject("tighten", "r1"), payload)
        .await
        .unwrap();
    agent.ask(&agent.request("after")).await;
    listed(&desk.app, "after").await;
    // It reads both streams from their beginning, in whatever order.
    let data = TempData::new();
    let grace = colleague(&desk, &data, "Grace").await;
    listed(&grace, "after").await;
    for app in [&desk.app, &grace] {
        let row = line_when(app, "r1", |row| row.state == "decided").await;
        assert_eq!(row.deadline_at - row.stored_at, 60_000);
        assert_eq!(row.verdict.as_deref(), Some("approve"));
    }
    let rows = desk.app.audit_after(0, 1_000).await.unwrap();
    let about = rows.iter().filter(|row| row.subject == key.to_string());
    let last = about.map(|row| row.action.as_str()).next_back();
    assert_eq!(last, Some("tighten_ignored"));
    for app in [grace, desk.app] {
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_an_end_waits_thirty_days() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut request = agent.request("r1");
    request["expires_at"] = json!(null);
    agent.ask(&request).await;
    let row = listed(&desk.app, "r1").await;
    assert_eq!(row.deadline_at - row.stored_at, 30 * 24 * 60 * 60 * 1_000);
    assert_eq!(inbox_ids(&desk.app).await, ["r1"]);
    desk.app.shutdown().await;
}

/// An estimate of the server's time from before that was set back by hours; right once the server is asked again.
#[derive(Default)]
struct SetBack {
    ahead: AtomicBool,
    asked: AtomicBool,
}

impl Clock for SetBack {
    fn now(&self) -> Timestamp {
        let hours = if self.ahead.load(Ordering::SeqCst) {
            2
        } else {
            0
        };
        BusClock::new().now().plus_ms(hours * 3_600_000)
    }

    fn is_asked_since(&self, _then: Instant) -> bool {
        self.asked.store(true, Ordering::SeqCst);
        !self.ahead.swap(false, Ordering::SeqCst)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_expires_by_a_clock_that_the_server_has_set_back_since_it_was_asked() {
    let clock = Arc::new(SetBack::default());
    let desk = Desk::open_with(|options| options.clock = Some(clock.clone())).await;
    let agent = desk.agent("bot").await;
    clock.ahead.store(true, Ordering::SeqCst);
    let key = agent.ask(&agent.request("r1")).await;
    until("the server is asked", || async {
        clock.asked.load(Ordering::SeqCst)
    })
    .await;
    in_state(&desk.app, "r1", "pending").await;
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    assert_eq!(agent.decision("r1").await["verdict"], "approve");
    desk.app.shutdown().await;
}
