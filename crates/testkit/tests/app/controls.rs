use std::time::Duration;

use countersign_core::App;
use countersign_core::domain::history::HistoryFilter;
use countersign_core::ops::DecideCommand;
use countersign_testkit::TempData;
use countersign_wire::{
    AgentControl, AgentKey, Context, ErrorCode, PolicyKey, Response, SignedEnvelope, Verdict,
};
use serde_json::json;

use crate::agent::{
    Desk, LIMIT, caught_up, colleague, in_state, inbox_ids, line_when, listed, options, troubles,
    until, verdict,
};
use crate::faults::room;

async fn controls_are(
    app: &App,
    holds: impl Fn(&countersign_core::domain::controls::Controls) -> bool,
) {
    let wait = async {
        while !holds(&app.controls().await.unwrap()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait)
        .await
        .expect("the control in time");
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
    assert_eq!(
        desk.app.controls().await.unwrap().panic().unwrap().by,
        "Ada"
    );
    controls_are(&second, |controls| controls.panic().is_some()).await;
    assert!(second.status().await.unwrap().controls.panic().is_some());
    let refused = second.controls().await.unwrap().may_approve(&bot(), true);
    assert!(refused.is_err());
    second.shutdown().await;
    desk.app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    assert!(app.controls().await.unwrap().panic().is_some());
    caught_up(&app).await;
    app.set_panic(false).await.unwrap();
    assert!(app.controls().await.unwrap().panic().is_none());
    let reader = App::read(options(&desk.data), false).await.unwrap();
    assert!(reader.controls().await.unwrap().panic().is_none());
    let rows = app.audit_after(0, 1_000).await.unwrap();
    let announced: Vec<_> = rows
        .iter()
        .filter(|row| row.subject == "panic" && row.action == "policy")
        .collect();
    assert_eq!(announced.len(), 2, "on and off, each once");
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_consoles_that_edit_a_control_at_once_both_are_written_and_all_agree() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let agent = bot();
    for _ in 0..5 {
        let (ours, theirs) = tokio::join!(
            desk.app.set_control(&agent, AgentControl::Paused),
            second.set_control(&agent, AgentControl::Running),
        );
        let (ours, theirs) = (ours.unwrap().revision, theirs.unwrap().revision);
        assert_ne!(ours, theirs);
        let paused = ours > theirs;
        for app in [&desk.app, &second] {
            controls_are(app, |controls| (controls.agents().count() == 1) == paused).await;
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
        .set_control(&bot(), AgentControl::Stopped)
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
    controls_are(&second, |controls| controls.stop_of(&bot()).is_some()).await;
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
        .set_control(&bot(), AgentControl::Running)
        .await
        .unwrap();
    controls_are(&second, |controls| controls.agents().count() == 0).await;
    agent.ask(&agent.request("after")).await;
    in_state(&desk.app, "after", "pending").await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    in_state(&desk.app, "after", "pending").await;
    assert_eq!(troubles(&desk.app).await, []);
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_stops_an_agent_ends_all_that_waits_before_the_console_denies_it() {
    const WAITING: usize = 1_200;
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for number in 0..WAITING {
        agent.ask(&agent.request(&format!("r{number}"))).await;
    }
    until("all wait", async || {
        desk.app.waiting().await.unwrap() == WAITING as i64
    })
    .await;
    let beside = App::attach(options(&desk.data)).await.unwrap();
    let set = beside
        .set_control(&bot(), AgentControl::Stopped)
        .await
        .unwrap();
    assert_eq!((set.terminated, set.left), (WAITING as u64, 0));
    until("nothing waits", async || {
        desk.app.waiting().await.unwrap() == 0
    })
    .await;
    let of_operator = HistoryFilter {
        verdicts: Some(vec!["terminate".to_owned()]),
        origins: Some(vec!["operator".to_owned()]),
        ..HistoryFilter::default()
    };
    let ended = desk
        .app
        .history_page(&of_operator, None, 2 * WAITING as i64, None);
    assert_eq!(ended.await.unwrap().rows.len(), WAITING);
    beside.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_lets_go_of_no_stop_whichever_console_set_it() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    for stops in [&desk.app, &second] {
        stops
            .set_control(&bot(), AgentControl::Stopped)
            .await
            .unwrap();
        for pauses in [&desk.app, &second] {
            let refused = pauses.set_control(&bot(), AgentControl::Paused).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgs, "{refused}");
            assert!(refused.to_string().contains("resume it first"), "{refused}");
            controls_are(pauses, |controls| controls.stop_of(&bot()).is_some()).await;
        }
        stops
            .set_control(&bot(), AgentControl::Running)
            .await
            .unwrap();
        stops
            .set_control(&bot(), AgentControl::Paused)
            .await
            .unwrap();
    }
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// As another console's operator sets it, who has not yet ended what waits.
async fn said(app: &App, word: &str, by: &str) {
    let key = PolicyKey::Pause(bot());
    let payload = json!({"v": 1, "state": word, "by": by, "at": app.now().rfc3339()});
    let value = SignedEnvelope::seal(
        &app.identity().signing().human,
        Context::Policy,
        &app.realm().unwrap(),
        &key.subject(),
        payload.to_string().as_bytes(),
    );
    let value = value.and_then(|value| value.to_bytes()).unwrap();
    let (name, bus) = (key.to_string(), app.bus().unwrap());
    let current = bus.policy_get(&name).await.unwrap();
    let revision = current.map_or(0, |current| current.revision);
    bus.policy_put(&name, revision, value.into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_stopped_agent_can_be_ended_and_nothing_lets_it_go_on() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let mut two = agent.request("two");
    two["approvals_required"] = json!(2);
    agent.ask(&two).await;
    for id in ["r1", "skipped", "denied"] {
        agent.ask(&agent.request(id)).await;
    }
    // Its hold ends before the consoles deny what waited when the agent was stopped.
    let mut short = agent.request("held");
    short["expires_at"] = json!("2026-11-21T12:00:04.000Z");
    agent.ask(&short).await;
    listed(&desk.app, "held").await;
    let mut held = verdict(&agent.key("held"), Verdict::Approve);
    held.hold = true;
    desk.app.decide(held).await.unwrap();
    said(&second, "stopped", "Grace").await;
    controls_are(&desk.app, |controls| controls.stop_of(&bot()).is_some()).await;

    let wanted = [
        Verdict::Approve,
        Verdict::Modify,
        Verdict::Respond,
        Verdict::Escalate,
    ];
    for (id, wanted) in wanted
        .map(|word| ("r1", word))
        .into_iter()
        .chain([("two", Verdict::Approve)])
    {
        let command = DecideCommand {
            edited_args: (wanted == Verdict::Modify).then(|| json!({})),
            response: (wanted == Verdict::Respond).then(|| Response {
                content: json!("go on"),
                selected_key: None,
            }),
            ..verdict(&agent.key(id), wanted)
        };
        for hold in [false, true] {
            let command = DecideCommand {
                hold,
                ..command.clone()
            };
            let refused = desk.app.decide(command).await.unwrap_err();
            assert_eq!(refused.code.as_str(), "not_approvable", "{wanted} {id}");
            assert_eq!(
                refused.to_string(),
                format!(
                    "acme/bot/{id}: Grace stopped this agent, so its calls can only be denied, terminated or \
                     skipped; `countersign resume acme/bot` resumes it"
                )
            );
        }
    }
    for (id, wanted) in [
        ("skipped", Verdict::Skip),
        ("denied", Verdict::Deny),
        ("two", Verdict::Terminate),
    ] {
        desk.app
            .decide(verdict(&agent.key(id), wanted))
            .await
            .unwrap();
        assert_eq!(agent.decision(id).await["verdict"], wanted.as_str(), "{id}");
    }
    // The consoles end the rest.
    let decision = agent.decision("r1").await;
    assert_eq!(decision["verdict"], "deny");
    assert_eq!(decision["origin"], "system");
    // On a slow machine its deadline may come first.
    let decision = agent.decision("held").await;
    assert!(
        matches!(decision["verdict"].as_str(), Some("deny" | "expired")),
        "{decision}"
    );
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_approval_that_a_stop_meets_before_the_bus_does_not_go_out() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let other = desk.agent("other").await;
    let keys = [
        agent.ask(&agent.request("r1")).await,
        other.ask(&other.request("unharmed")).await,
    ];
    listed(&desk.app, "unharmed").await;
    room(&desk, "CS_DECISIONS", Some(100)).await;
    let given = keys.each_ref().map(|key| {
        let (app, command) = (desk.app.clone(), verdict(key, Verdict::Approve));
        tokio::spawn(async move { app.decide(command).await })
    });
    until("both wait for the bus", || async {
        desk.app.status().await.unwrap().outbox == 2
    })
    .await;
    desk.app
        .set_control(&bot(), AgentControl::Stopped)
        .await
        .unwrap();
    let [stopped, unharmed] = given;
    let announced = stopped.await.unwrap().unwrap_err();
    assert!(
        matches!(
            announced.code.as_str(),
            "not_approvable" | "bus_unreachable"
        ),
        "{announced}"
    );
    line_when(&desk.app, "r1", |line| {
        line.verdict.as_deref() == Some("deny")
    })
    .await;
    room(&desk, "CS_DECISIONS", None).await;
    assert_eq!(agent.decision("r1").await["verdict"], "deny");
    assert_eq!(other.decision("unharmed").await["verdict"], "approve");
    // It may have been reported as queued: five seconds are the limit.
    let _ = unharmed.await.unwrap();
    let rows = desk.app.audit_after(0, 1_000).await.unwrap();
    let back: Vec<_> = rows
        .iter()
        .filter(|row| row.action == "taken_back")
        .collect();
    assert_eq!(back.len(), 1);
    assert!(back[0].detail.contains("the agent is stopped"));
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}
