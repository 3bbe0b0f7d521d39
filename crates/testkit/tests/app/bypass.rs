use std::time::Duration;

use countersign_core::App;
use countersign_core::Fault;
use countersign_core::domain::facts::RequestSummary;
use countersign_core::ops::regrets::{Denied, Regretted, Regretting, Suspended};
use countersign_core::ops::rules::RulesChange;
use countersign_core::policy::Enabled;
use countersign_testkit::TempData;
use countersign_wire::{AgentControl, AgentKey, ErrorCode, Risk, Verdict};
use serde_json::json;

use crate::agent::{Desk, colleague, in_state, listed, troubles, until, verdict};
use crate::policy::{INVOICES, acme, apply, change_all};

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

const HOUR: Duration = Duration::from_secs(3_600);

async fn regret(
    app: &App,
    line: &RequestSummary,
    reason: Option<String>,
) -> Result<Regretted, Fault> {
    match app.regret(line, reason, Denied::Refuse(HOUR)).await? {
        Regretting::Done(done) => Ok(done),
        Regretting::Denied(flips) => panic!("nobody denied anything: {flips:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bypass_lets_one_agents_calls_run_says_so_and_ends_by_itself() {
    let desk = Desk::open().await;
    let (agent, other) = (desk.agent("bot").await, desk.agent("other").await);
    agent.ask(&agent.request("before")).await;
    listed(&desk.app, "before").await;
    let lasting = Duration::from_secs(4);
    let set = desk
        .app
        .set_bypass(&bot(), Risk::Medium, lasting)
        .await
        .unwrap();
    let decision = agent.decision("before").await;
    assert_eq!(
        decision["verdict"], "approve",
        "what waits is looked at too"
    );
    assert_eq!(decision["origin"], "rule");
    assert_eq!(decision["rule"]["id"], "bypass.acme.bot");
    assert_eq!(decision["rule"]["version"], set.revision);
    let name = decision["rule"]["name"].as_str().unwrap();
    assert!(
        name.starts_with("bypass by Ada: up to medium until 20"),
        "{name}"
    );
    let digest = decision["policy_digest"].as_str().unwrap();
    assert!(desk.app.policy_version(digest).await.unwrap().is_some());
    let mut high = agent.request("high");
    high["risk"] = json!("high");
    agent.ask(&high).await;
    other.ask(&other.request("stranger")).await;
    agent.ask(&agent.request("low")).await;
    assert_eq!(agent.decision("low").await["verdict"], "approve");
    for id in ["high", "stranger"] {
        assert_eq!(listed(&desk.app, id).await.state, "pending", "{id}");
    }
    let row = in_state(&desk.app, "low", "decided").await;
    assert_eq!(row.rule_id.as_deref(), Some("bypass.acme.bot"));
    assert_eq!(
        desk.app
            .status()
            .await
            .unwrap()
            .controls
            .bypasses(desk.app.now())
            .count(),
        1
    );
    until("it is over", async || {
        desk.app
            .controls()
            .await
            .unwrap()
            .bypass_of(&bot(), desk.app.now())
            .is_none()
    })
    .await;
    agent.ask(&agent.request("after")).await;
    listed(&desk.app, "after").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(listed(&desk.app, "after").await.state, "pending");
    let rows = desk.app.audit_after(0, 1_000).await.unwrap();
    let reported: Vec<_> = rows
        .iter()
        .filter(|row| row.subject == "bypass.acme.bot" && row.action == "policy")
        .collect();
    assert_eq!(reported.len(), 1);
    assert!(
        reported[0].detail.contains("\"up_to\":\"medium\""),
        "{}",
        reported[0].detail
    );
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    assert_eq!(troubles(&desk.app).await, []);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_holds_a_bypass_back_and_its_end_is_seen_by_all() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    desk.app
        .set_control(&bot(), AgentControl::Paused)
        .await
        .unwrap();
    second.set_bypass(&bot(), Risk::High, HOUR).await.unwrap();
    until("both know it", async || {
        desk.app
            .controls()
            .await
            .unwrap()
            .bypass_of(&bot(), desk.app.now())
            .is_some()
    })
    .await;
    agent.ask(&agent.request("paused")).await;
    listed(&desk.app, "paused").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(listed(&desk.app, "paused").await.state, "pending");
    desk.app
        .set_control(&bot(), AgentControl::Running)
        .await
        .unwrap();
    assert_eq!(
        agent.decision("paused").await["rule"]["id"],
        "bypass.acme.bot"
    );
    desk.app.end_bypass(&bot()).await.unwrap();
    until("both know its end", async || {
        let ended = second.controls().await.unwrap();
        ended.bypass_of(&bot(), second.now()).is_none()
    })
    .await;
    agent.ask(&agent.request("ended")).await;
    listed(&desk.app, "ended").await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(listed(&desk.app, "ended").await.state, "pending");
    for (up_to, lasting) in [
        (Risk::Critical, HOUR),
        (Risk::Low, 8 * HOUR + Duration::from_secs(1)),
        (Risk::Low, Duration::ZERO),
    ] {
        let refused = desk
            .app
            .set_bypass(&bot(), up_to, lasting)
            .await
            .unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgs);
    }
    for app in [&desk.app, &second] {
        assert_eq!(troubles(app).await, []);
    }
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_regret_suspends_what_decided_and_is_told_to_all() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    apply(&desk.app, INVOICES).await;
    for id in ["r1", "r2"] {
        agent.ask(&agent.request(id)).await;
        assert_eq!(agent.decision(id).await["origin"], "rule");
        in_state(&second, id, "decided").await;
    }
    let line = second.find("r1").await.unwrap();
    let reason = Some("This was a live invoice.".to_owned());
    let done = regret(&second, &line, reason.clone()).await.unwrap();
    assert_eq!(
        (done.suspended, done.id.as_str()),
        (Suspended::Rule, "invoices")
    );
    let again = regret(&second, &line, reason.clone()).await.unwrap();
    assert_eq!(
        again.revision, done.revision,
        "the same request counts once"
    );
    until("the other one knows", async || {
        desk.app.rules(&acme()).await.unwrap().rules[0].enabled == Enabled::Off
    })
    .await;
    let known = desk.app.rules(&acme()).await.unwrap();
    assert_eq!(known.rules[0].version, 2);
    let regrets = &known.regrets["invoices"];
    assert_eq!((regrets.count, regrets.last[0].version), (1, 1));
    assert_eq!(regrets.last[0].reason, reason);
    assert_eq!(
        (
            regrets.last[0].by.as_str(),
            regrets.last[0].request.as_str()
        ),
        ("Grace", "acme/bot/r1")
    );
    agent.ask(&agent.request("r3")).await;
    listed(&desk.app, "r3").await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(listed(&desk.app, "r3").await.state, "pending");
    let on = RulesChange::Enable("invoices".into(), Enabled::On);
    change_all(&desk.app, &on).await;
    assert_eq!(agent.decision("r3").await["rule"]["version"], 3);
    assert_eq!(
        desk.app.rules(&acme()).await.unwrap().regrets["invoices"].count,
        1
    );
    let rows = second.audit_after(0, 10_000).await.unwrap();
    assert_eq!(rows.iter().filter(|row| row.action == "regret").count(), 2);
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);

    desk.app
        .change_rules(&acme(), &RulesChange::Remove("invoices".into()))
        .await
        .unwrap();
    let line = in_state(&desk.app, "r2", "decided").await;
    let gone = regret(&desk.app, &line, None).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
    desk.app
        .set_bypass(&bot(), Risk::Medium, HOUR)
        .await
        .unwrap();
    agent.ask(&agent.request("r4")).await;
    agent.decision("r4").await;
    let line = in_state(&desk.app, "r4", "decided").await;
    let done = regret(&desk.app, &line, None).await.unwrap();
    assert_eq!(done.suspended, Suspended::Bypass);
    assert!(
        desk.app
            .controls()
            .await
            .unwrap()
            .bypass_of(&bot(), desk.app.now())
            .is_none()
    );
    let key = agent.ask(&agent.request("r5")).await;
    listed(&desk.app, "r5").await;
    desk.app.decide(verdict(&key, Verdict::Deny)).await.unwrap();
    let line = in_state(&desk.app, "r5", "decided").await;
    let refused = regret(&desk.app, &line, None).await.unwrap_err();
    assert_eq!(
        refused.code,
        ErrorCode::InvalidArgs,
        "a person decided that"
    );
    second.shutdown().await;
    desk.app.shutdown().await;
}
