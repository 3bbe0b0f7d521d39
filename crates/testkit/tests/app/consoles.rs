use std::collections::BTreeMap;
use std::time::Duration;

use countersign_core::App;
use countersign_core::store::request_list::Filter;
use countersign_testkit::TempData;
use countersign_wire::Verdict;
use futures::{StreamExt, stream};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::agent::{Agent, Desk, colleague, in_state, inbox_ids, listed, troubles, until, verdict};

#[tokio::test(flavor = "multi_thread")]
async fn of_two_consoles_one_decides_and_the_other_is_told_who() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    for round in 0..20 {
        let id = format!("r{round}");
        let key = agent.ask(&agent.request(&id)).await;
        listed(&desk.app, &id).await;
        listed(&second, &id).await;
        let (ours, theirs) = tokio::join!(
            desk.app.decide(verdict(&key, Verdict::Approve)),
            second.decide(verdict(&key, Verdict::Deny)),
        );
        let decision = agent.decision(&id).await;
        let (winner, loser) = match (&ours, &theirs) {
            (Ok(_), Err(error)) => ("Ada", error),
            (Err(error), Ok(_)) => ("Grace", error),
            both => panic!("{both:?}"),
        };
        assert_eq!(decision["decided_by"]["name"], winner);
        assert_eq!(loser.code.as_str(), "already_decided");
        assert!(loser.to_string().contains(winner), "{loser}");
        for app in [&desk.app, &second] {
            let row = in_state(app, &id, "decided").await;
            assert_eq!(row.verdict.as_deref(), decision["verdict"].as_str());
        }
    }
    assert_eq!(troubles(&second).await, []);
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_joiner_shows_only_what_still_waits() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for id in ["a", "b", "c"] {
        agent.ask(&agent.request(id)).await;
    }
    listed(&desk.app, "c").await;
    for id in ["a", "b"] {
        desk.app
            .decide(verdict(&agent.key(id), Verdict::Approve))
            .await
            .unwrap();
    }
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    assert_eq!(inbox_ids(&second).await, ["c"]);
    assert_eq!(
        second.find("a").await.unwrap().verdict.as_deref(),
        Some("approve")
    );
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// Verdicts on their way at a time, of each console.
const RACING: usize = 64;

/// Gives this verdict on all of them; how many it gave first.
async fn race(app: &App, agent: &Agent, ids: &[String], given: Verdict) -> usize {
    let decided = stream::iter(ids).map(|id| app.decide(verdict(&agent.key(id), given)));
    let outcomes: Vec<_> = decided.buffer_unordered(RACING).collect().await;
    for lost in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert_eq!(lost.code.as_str(), "already_decided", "{lost}");
    }
    outcomes.iter().filter(|outcome| outcome.is_ok()).count()
}

/// What a console says of every request: state, verdict and who decided.
async fn reported(app: &App) -> BTreeMap<String, (String, Option<String>, Option<String>)> {
    let rows = app.history(&Filter::default(), None, 1_000).await.unwrap();
    rows.into_iter()
        .map(|row| (row.request_id, (row.state, row.verdict, row.decided_by)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_consoles_race_on_a_thousand_requests_and_agree_within_a_second() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let ids: Vec<String> = (0..1_000).map(|number| format!("r{number}")).collect();
    let asked = ids.iter().map(|id| {
        let mut request = agent.request(id);
        request["expires_at"] = json!("2026-11-21T12:10:00.000Z");
        let agent = &agent;
        async move { agent.ask(&request).await }
    });
    let asked: Vec<_> = stream::iter(asked).buffer_unordered(RACING).collect().await;
    assert_eq!(asked.len(), 1_000);
    for app in [&desk.app, &second] {
        until("all are listed", || async {
            inbox_ids(app).await.len() == ids.len()
        })
        .await;
    }
    let (ours, theirs) = tokio::join!(
        race(&desk.app, &agent, &ids, Verdict::Approve),
        race(&second, &agent, &ids, Verdict::Deny),
    );
    let over = Instant::now();
    assert_eq!(ours + theirs, ids.len(), "{ours} and {theirs}");
    loop {
        let (first, other) = (reported(&desk.app).await, reported(&second).await);
        let decided = first.values().all(|(state, ..)| state == "decided");
        if decided && first == other {
            let approved = first
                .values()
                .filter(|(_, verdict, _)| verdict.as_deref() == Some("approve"));
            assert_eq!(approved.count(), ours);
            break;
        }
        assert!(over.elapsed() < Duration::from_secs(1), "they disagree");
        sleep(Duration::from_millis(10)).await;
    }
    let stored = desk.app.bus().unwrap().last_sequence("CS_DECISIONS").await;
    // Behind the three entries by which both are in the realm.
    assert_eq!(stored.unwrap(), 1_003);
    second.shutdown().await;
    desk.app.shutdown().await;
}
