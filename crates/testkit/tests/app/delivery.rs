use std::time::Duration;

use countersign_core::App;
use countersign_core::domain::StallLimits;
use countersign_core::domain::facts::Alarm;
use countersign_testkit::TempData;
use countersign_wire::Verdict;
use serde_json::json;

use crate::agent::{
    Agent, Desk, LIMIT, caught_up, colleague, in_state, line_when, listed, options, verdict,
};

const OTHER: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

async fn alarms_when(app: &App, holds: impl Fn(&[Alarm]) -> bool) -> Vec<Alarm> {
    let wait = async {
        loop {
            let alarms = app.status().await.unwrap().alarms;
            if holds(&alarms) {
                return alarms;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    match tokio::time::timeout(LIMIT, wait).await {
        Ok(alarms) => alarms,
        Err(_) => panic!("not in time: {:?}", app.status().await.unwrap().alarms),
    }
}

fn reported(alarms: &[Alarm]) -> Vec<(String, String)> {
    let mut reported: Vec<_> = alarms
        .iter()
        .map(|alarm| (alarm.subject.clone(), alarm.code.clone()))
        .collect();
    reported.sort();
    reported
}

/// How often the audit log names each alarm.
async fn audited(app: &App, code: &str, subject: &str) -> usize {
    let rows = app.audit_after(0, 10_000).await.unwrap();
    rows.iter()
        .filter(|row| row.action == "alarm" && row.subject == subject && row.detail.contains(code))
        .count()
}

async fn approved(desk: &Desk, agent: &Agent, id: &str, given: Verdict) -> String {
    let key = agent.ask(&agent.request(id)).await;
    listed(&desk.app, id).await;
    desk.app.decide(verdict(&key, given)).await.unwrap();
    let decision = agent.decision(id).await;
    decision["decision_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ran_without_leave_is_told_once_and_found_again_by_who_reads_it_later() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let id = approved(&desk, &agent, "other-digest", Verdict::Approve).await;
    agent
        .receipt_of("other-digest", &id, "executed", Some(OTHER))
        .await;
    agent
        .receipt_of("other-digest", &id, "failed", Some(OTHER))
        .await;
    let id = approved(&desk, &agent, "denied", Verdict::Deny).await;
    agent.receipt("denied", &id, "failed").await;
    // Before its decision, and before its request too.
    agent.receipt("before", "invented", "executed").await;
    approved(&desk, &agent, "before", Verdict::Approve).await;
    agent.receipt("never-asked", "invented", "executed").await;
    agent
        .publish(agent.subject("withdraw", "withdrawn"), b"{}".to_vec())
        .await
        .unwrap();
    agent.ask(&agent.request("withdrawn")).await;
    let id = agent.decision("withdrawn").await["decision_id"].clone();
    agent
        .receipt("withdrawn", id.as_str().unwrap(), "executed")
        .await;
    // Nothing is wrong with these.
    let id = approved(&desk, &agent, "fine", Verdict::Approve).await;
    let digest = agent.request("fine")["args_digest"].clone();
    agent
        .receipt_of("fine", &id, "executed", digest.as_str())
        .await;
    let id = approved(&desk, &agent, "escalated", Verdict::Escalate).await;
    agent.receipt("escalated", &id, "executed").await;

    let expected: Vec<(String, String)> = [
        ("before", "executed_without_decision"),
        ("denied", "executed_without_approval"),
        ("never-asked", "executed_without_decision"),
        ("other-digest", "executed_digest_differs"),
        ("withdrawn", "executed_without_approval"),
    ]
    .map(|(id, code)| (format!("acme/bot/{id}"), code.to_owned()))
    .into();
    let alarms = alarms_when(&desk.app, |alarms| alarms.len() >= expected.len()).await;
    assert_eq!(reported(&alarms), expected);
    line_when(&desk.app, "fine", |row| row.delivery == "executed").await;
    for (subject, code) in &expected {
        assert_eq!(audited(&desk.app, code, subject).await, 1, "{subject}");
    }
    let story = desk.app.show("denied").await.unwrap();
    assert_eq!(story.alarms[0].code, "executed_without_approval");

    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let again = alarms_when(&second, |alarms| alarms.len() >= expected.len()).await;
    assert_eq!(reported(&again), expected);
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_nobody_decided_is_told_by_the_next_life_of_a_stopped_console() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    agent.receipt("r1", "invented", "executed").await;
    let seen = async {
        while desk.app.show("r1").await.unwrap().receipts.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, seen).await.unwrap();
    assert_eq!(desk.app.status().await.unwrap().alarms, []);
    desk.app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    caught_up(&app).await;
    let alarms = alarms_when(&app, |alarms| !alarms.is_empty()).await;
    assert_eq!(alarms[0].code, "executed_without_decision");
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rung_that_does_not_come_in_time_is_an_alarm_until_it_moves() {
    let quick = StallLimits {
        on_bus_ms: 300,
        received_ms: 300,
        executed_ms: 300,
    };
    let desk = Desk::open_with(|options| options.stall_limits = quick).await;
    let agent = desk.agent("bot").await;
    let sign = serde_json::to_vec(&json!({"v": 1, "instance_id": "i"})).unwrap();
    let id = approved(&desk, &agent, "r1", Verdict::Approve).await;
    // The agent is not there: nobody is to blame.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(desk.app.status().await.unwrap().alarms, []);
    let alive = format!("countersign.v1.alive.acme.{}", agent.enrolment.agent);
    agent.client.publish(alive, sign.into()).await.unwrap();
    let alarms = alarms_when(&desk.app, |alarms| !alarms.is_empty()).await;
    assert_eq!(alarms[0].code, "stalled_not_received");
    assert_eq!(alarms[0].subject, "acme/bot/r1");
    agent.receipt("r1", &id, "received").await;
    alarms_when(&desk.app, |alarms| {
        alarms
            .iter()
            .any(|alarm| alarm.code == "stalled_not_executed")
    })
    .await;
    agent.receipt("r1", &id, "executed").await;
    alarms_when(&desk.app, <[Alarm]>::is_empty).await;
    // What owes nothing more is never one.
    let id = approved(&desk, &agent, "r2", Verdict::Deny).await;
    agent.receipt("r2", &id, "received").await;
    let mut script = agent.request("r3");
    script["agent"]["framework"] = json!("countersign ask");
    let key = agent.ask(&script).await;
    listed(&desk.app, "r3").await;
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    let id = agent.decision("r3").await["decision_id"].clone();
    agent.receipt("r3", id.as_str().unwrap(), "received").await;
    let id = approved(&desk, &agent, "r4", Verdict::Approve).await;
    let receipt = json!({
        "v": 1, "decision_id": id, "stage": "received", "at": "2026-11-21T12:00:01.000Z",
        "degraded": ["edit_in_history", "no_execution_report"],
    });
    let receipt = serde_json::to_vec(&receipt).unwrap();
    let subject = agent.subject("receipt", "r4");
    agent.client.request(subject, receipt.into()).await.unwrap();
    // A second one adds that nobody will see the call's end, as of a task that its client forgot.
    let id = approved(&desk, &agent, "r5", Verdict::Approve).await;
    agent.receipt("r5", &id, "received").await;
    let is_stalled = |alarm: &Alarm| alarm.code == "stalled_not_executed";
    alarms_when(&desk.app, |alarms| alarms.iter().any(is_stalled)).await;
    let receipt = json!({
        "v": 1, "decision_id": id, "stage": "received", "at": "2026-11-21T12:00:01.000Z",
        "degraded": ["no_execution_report"],
    });
    let receipt = serde_json::to_vec(&receipt).unwrap();
    let subject = agent.subject("receipt", "r5");
    agent.client.request(subject, receipt.into()).await.unwrap();
    alarms_when(&desk.app, <[Alarm]>::is_empty).await;
    // The words stay, whatever comes later.
    agent.receipt("r5", &id, "received").await;
    tokio::time::sleep(Duration::from_millis(2_000)).await;
    assert_eq!(desk.app.status().await.unwrap().alarms, []);
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_the_bus_does_not_take_is_an_alarm_also_for_the_next_life() {
    let quick = StallLimits {
        on_bus_ms: 100,
        ..StallLimits::default()
    };
    let server = countersign_testkit::PlainServer::start().await;
    let data = TempData::new();
    let outside = |data: &TempData| countersign_core::Options {
        nats_url: Some(server.url().to_owned()),
        allow_single_account: true,
        stall_limits: quick,
        ..options(data)
    };
    let app = App::start(outside(&data)).await.unwrap();
    caught_up(&app).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let request = json!({
        "v": 1, "kind": "question", "request_id": "r1", "workspace": "acme", "agent": {"name": "bot"},
        "question": {"text": "Go?"}, "risk": "low", "allowed_verdicts": ["deny"],
        "requested_at": "2026-11-21T12:00:00.000Z", "expires_at": "2026-11-21T12:01:00.000Z",
    });
    let payload = serde_json::to_vec(&request).unwrap();
    let subject = "countersign.v1.request.acme.bot.r1";
    client.request(subject, payload.into()).await.unwrap();
    in_state(&app, "r1", "pending").await;
    let key = "acme/bot/r1".parse().unwrap();
    drop(server);
    let refused = app.decide(verdict(&key, Verdict::Deny)).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "bus_unreachable");
    let alarms = alarms_when(&app, |alarms| !alarms.is_empty()).await;
    assert_eq!(alarms[0].code, "stalled_not_on_bus");
    app.shutdown().await;
    let app = App::read(options(&data), false).await.unwrap();
    assert_eq!(
        reported(&app.status().await.unwrap().alarms),
        reported(&alarms)
    );
}
