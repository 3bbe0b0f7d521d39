//! Who decided, by the name that the realm's list has for the key.

use countersign_core::domain::facts::decider;
use countersign_testkit::TempData;
use countersign_wire::{AgentControl, Verdict};
use serde_json::Value;

use crate::agent::{Desk, colleague, in_state, listed, until, verdict};

#[tokio::test(flavor = "multi_thread")]
async fn who_signs_under_a_colleagues_name_is_told_by_the_name_on_the_list() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    colleague(&desk, &data, "Bea").await.shutdown().await;
    let bea = colleague(&desk, &data, "Ada").await;
    let ada = desk.app.identity().human_key();
    assert_eq!(
        bea.borrowed_name(),
        Some(ada),
        "a console that starts this way says so"
    );
    assert_eq!(desk.app.borrowed_name(), None);
    agent.ask(&agent.request("r1")).await;
    listed(&bea, "r1").await;
    let deny = verdict(&agent.key("r1"), Verdict::Deny);
    bea.decide(deny).await.unwrap();
    for app in [&bea, &desk.app] {
        let line = in_state(app, "r1", "decided").await;
        let decided = decider(line.decided_by.as_deref()).unwrap();
        assert_eq!(decided.name.as_deref(), Some("Bea (signed as Ada)"));
        let by: Value = serde_json::from_str(&line.decided_by.unwrap()).unwrap();
        assert_eq!(
            (&by["name"], &by["listed_name"]),
            (&"Ada".into(), &"Bea".into())
        );
    }
    let bot = "acme/bot".parse().unwrap();
    bea.set_control(&bot, AgentControl::Paused).await.unwrap();
    until("the pause is reported", async || {
        let controls = desk.app.controls().await.unwrap();
        controls
            .agents()
            .any(|(_, set)| set.by == "Bea (signed as Ada)")
    })
    .await;
    bea.shutdown().await;
    desk.app.shutdown().await;
}
