use std::time::Duration;

use countersign_core::App;
use countersign_testkit::TempData;
use countersign_wire::{AgentBrake, AgentKey, Verdict};
use serde_json::json;

use crate::agent::{
    Desk, LIMIT, caught_up, colleague, in_state, inbox_ids, listed, options, verdict,
};

async fn braked(app: &App, holds: impl Fn(&countersign_core::domain::brakes::Brakes) -> bool) {
    let wait = async {
        while !holds(&app.brakes().await.unwrap()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait)
        .await
        .expect("the brake in time");
}

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_holds_in_every_console_and_outlives_them() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let beside = App::attach(options(&desk.data)).await.unwrap();
    let first = beside.set_panic(true).await.unwrap();
    assert!(first.revision > 0);
    beside.shutdown().await;
    // When the command returns, the console of its folder knows.
    assert_eq!(desk.app.brakes().await.unwrap().panic().unwrap().by, "Ada");
    braked(&second, |brakes| brakes.panic().is_some()).await;
    assert!(second.status().await.unwrap().brakes.panic().is_some());
    let refused = second.brakes().await.unwrap().may_approve(&bot(), true);
    assert!(refused.is_err());
    second.shutdown().await;
    desk.app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    assert!(app.brakes().await.unwrap().panic().is_some());
    caught_up(&app).await;
    app.set_panic(false).await.unwrap();
    assert!(app.brakes().await.unwrap().panic().is_none());
    let reader = App::read(options(&desk.data), false).await.unwrap();
    assert!(reader.brakes().await.unwrap().panic().is_none());
    let rows = app.audit_after(0, 1_000).await.unwrap();
    let told: Vec<_> = rows
        .iter()
        .filter(|row| row.subject == "panic" && row.action == "policy")
        .collect();
    assert_eq!(told.len(), 2, "on and off, each once");
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_consoles_that_edit_a_brake_at_once_both_are_written_and_all_agree() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let agent = bot();
    for _ in 0..5 {
        let (ours, theirs) = tokio::join!(
            desk.app.set_brake(&agent, AgentBrake::Paused),
            second.set_brake(&agent, AgentBrake::Running),
        );
        let (ours, theirs) = (ours.unwrap().revision, theirs.unwrap().revision);
        assert_ne!(ours, theirs);
        let paused = ours > theirs;
        for app in [&desk.app, &second] {
            braked(app, |brakes| (brakes.agents().count() == 1) == paused).await;
        }
    }
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_agent_loses_what_waits_and_is_denied_until_it_is_resumed() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let other = desk.agent("other").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let mut gentle = agent.request("gentle");
    gentle["allowed_verdicts"] = json!(["approve"]);
    agent.ask(&gentle).await;
    for id in ["waits", "held"] {
        agent.ask(&agent.request(id)).await;
    }
    other.ask(&other.request("unharmed")).await;
    listed(&desk.app, "unharmed").await;
    listed(&desk.app, "held").await;
    let mut held = verdict(&agent.key("held"), Verdict::Approve);
    held.hold = true;
    desk.app.decide(held).await.unwrap();
    let set = desk
        .app
        .set_brake(&bot(), AgentBrake::Stopped)
        .await
        .unwrap();
    assert_eq!(set.terminated, 3);
    for (id, word) in [
        ("waits", "terminate"),
        ("gentle", "deny"),
        ("held", "terminate"),
    ] {
        let decision = agent.decision(id).await;
        assert_eq!(decision["verdict"], word, "{id}");
        assert_eq!(decision["origin"], "operator", "{id}");
    }
    assert_eq!(inbox_ids(&desk.app).await, ["unharmed"]);
    braked(&second, |brakes| brakes.stop_of(&bot()).is_some()).await;
    agent.ask(&agent.request("new")).await;
    let decision = agent.decision("new").await;
    assert_eq!(decision["verdict"], "deny");
    assert_eq!(decision["origin"], "system");
    assert_eq!(decision["message"], "Ada stopped this agent");
    for app in [&desk.app, &second] {
        let row = in_state(app, "new", "decided").await;
        assert_eq!(row.verdict.as_deref(), Some("deny"));
    }
    desk.app
        .set_brake(&bot(), AgentBrake::Running)
        .await
        .unwrap();
    braked(&second, |brakes| brakes.agents().count() == 0).await;
    agent.ask(&agent.request("after")).await;
    in_state(&desk.app, "after", "pending").await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    in_state(&desk.app, "after", "pending").await;
    assert_eq!(desk.app.status().await.unwrap().alarms, []);
    second.shutdown().await;
    desk.app.shutdown().await;
}
