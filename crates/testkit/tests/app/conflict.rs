//! A bus that was recovered and holds another decision than a console knew.

use countersign_core::domain::StallLimits;
use countersign_core::{App, Options};
use countersign_testkit::TempData;
use countersign_wire::Verdict;
use serde_json::{Value, json};

use crate::agent::{Desk, caught_up, colleague, in_state, listed, options, until, verdict};
use crate::operators::{admit, remade_with, slots_of};
use crate::recover::{counts, loses, recovered};

/// Somebody denied on the bus that was made anew what this console had approved before: both can be read here, and the
/// approval, which no agent reads, does not count as stalled.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_conflict_the_decision_that_agents_read_is_shown_beside_the_one_that_was_known() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let key = agent.ask(&agent.request("r1")).await;
    let later = agent.ask(&agent.request("later")).await;
    listed(&desk.app, "later").await;
    let approve = verdict(&key, Verdict::Approve);
    desk.app.decide(approve).await.unwrap();
    in_state(&desk.app, "r1", "decided").await;
    let more = TempData::new();
    admit(&desk.app, &more, "Grace").await;
    let slots = slots_of(&desk.app).await;
    let desk = loses(desk, "CS_DECISIONS").await;
    remade_with(&desk.app.bus().unwrap(), &desk.app, slots).await;
    let late = colleague(&desk, &more, "Grace").await;
    listed(&late, "r1").await;
    late.decide(verdict(&key, Verdict::Deny)).await.unwrap();
    late.decide(verdict(&later, Verdict::Deny)).await.unwrap();
    let Desk { data, app } = desk;
    app.shutdown().await;
    let quick = StallLimits {
        received_ms: 200,
        ..StallLimits::default()
    };
    let app = App::start(Options {
        stall_limits: quick,
        ..options(&data)
    });
    let app = app.await.unwrap();
    assert_eq!(counts(&recovered(&app).await), (0, 0, 1));
    caught_up(&app).await;
    let alive = format!("countersign.v1.alive.acme.{}", agent.enrolment.agent);
    let sign = json!({"v": 1, "instance_id": "i"}).to_string();
    // That of the later one proves that the earlier one was looked at.
    until("an answer that nobody takes is overdue", async || {
        let sent = agent.client.publish(alive.clone(), sign.clone().into());
        sent.await.unwrap();
        !app.show("later").await.unwrap().alarms.is_empty()
    })
    .await;
    let about = app.show("r1").await.unwrap().alarms;
    let codes: Vec<&str> = about.iter().map(|alarm| alarm.code.as_str()).collect();
    assert_eq!(codes, ["recover_conflict"]);
    let story = app.show("r1").await.unwrap();
    let current: Value = serde_json::from_slice(&story.contradicting.unwrap().raw).unwrap();
    assert_eq!(
        (&current["verdict"], &current["decided_by"]["name"]),
        (&json!("deny"), &json!("Grace"))
    );
    assert_eq!(story.line.verdict.as_deref(), Some("approve"));
    late.shutdown().await;
    app.shutdown().await;
}
