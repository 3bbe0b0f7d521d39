use countersign_testkit::TempData;
use countersign_wire::Verdict;

use crate::agent::{Desk, colleague, in_state, inbox_ids, listed, verdict};

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
        assert_eq!(loser.code().as_str(), "already_decided");
        assert!(loser.to_string().contains(winner), "{loser}");
        for app in [&desk.app, &second] {
            let row = in_state(app, &id, "decided").await;
            assert_eq!(row.verdict.as_deref(), decision["verdict"].as_str());
        }
    }
    assert_eq!(second.status().await.unwrap().alarms, []);
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
