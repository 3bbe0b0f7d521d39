//! What an operator under limits may do to what holds calls back for others, and what that operator's console does.

use countersign_core::App;
use countersign_core::ops::realm::{Change, Limits, ListedState};
use countersign_core::ops::rules::RulesChange;
use countersign_core::ops::setup::SetupChange;
use countersign_testkit::TempData;
use countersign_wire::{AgentControl, AgentKey, Context, PolicyKey, Risk, SignedEnvelope};
use serde_json::{Value, json};

use crate::agent::{Desk, colleague, in_state, listed, until};
use crate::policy::{INVOICES, acme, apply, delete_key};
use crate::realm_log::{has_alarm, sees};
use crate::setup_keys::hello;

const DENY: &str = "[[rule]]\nid = \"no-bots\"\neffect = \"deny\"\nagent = [\"rogue\"]\n";

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

/// A colleague who may allow what is of low risk in another workspace.
pub(crate) async fn limited(desk: &Desk, data: &TempData, workspace: &str) -> App {
    let junior = colleague(desk, data, "Grace").await;
    let key = junior.identity().human_key();
    sees(&desk.app, &key, ListedState::InForce).await;
    let limits = Limits {
        workspaces: Some(vec![workspace.parse().unwrap()]),
        max_risk: Some(Risk::Low),
    };
    let change = Change::Limit(key.to_string(), limits);
    assert!(desk.app.change_operators(&change).await.unwrap().changed);
    until("the limits are known", || async {
        let list = junior.operators(false).await.unwrap();
        let bound = list.iter().filter(|line| line.max_risk.is_some());
        bound.count() == 2
    })
    .await;
    junior
}

/// Signs a value under a key of the shared policy, and stores it.
pub(crate) async fn put(app: &App, key: &PolicyKey, mut payload: Value) {
    payload["at"] = json!(app.now().rfc3339());
    let (human, realm) = (&app.identity().signing().human, app.realm().unwrap());
    let payload = payload.to_string();
    let sealed = SignedEnvelope::seal(
        human,
        Context::Policy,
        &realm,
        &key.subject(),
        payload.as_bytes(),
    );
    let value = sealed.and_then(|value| value.to_bytes()).unwrap();
    let (name, bus) = (key.to_string(), app.bus().unwrap());
    let current = bus.policy_get(&name).await.unwrap();
    let revision = current.map_or(0, |current| current.revision);
    bus.policy_put(&name, revision, value.into()).await.unwrap();
}

pub(crate) async fn refuses<T: std::fmt::Debug>(
    what: impl Future<Output = Result<T, countersign_core::Fault>>,
) {
    let refused = what.await.unwrap_err();
    assert_eq!(refused.code.as_str(), "verdict_not_allowed", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_under_limits_releases_no_control_that_holds_others_back() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let junior = limited(&desk, &data, "other").await;
    junior.set_panic(true).await.unwrap();
    junior
        .set_control(&bot(), AgentControl::Stopped)
        .await
        .unwrap();
    refuses(junior.set_panic(false)).await;
    refuses(junior.set_control(&bot(), AgentControl::Running)).await;
    let elsewhere: AgentKey = "other/bot".parse().unwrap();
    for state in [AgentControl::Stopped, AgentControl::Running] {
        junior.set_control(&elsewhere, state).await.unwrap();
    }
    let (panic, pause) = (PolicyKey::Panic, PolicyKey::Pause(bot()));
    put(&junior, &panic, json!({"v": 1, "on": false, "by": "Ada"})).await;
    for (key, state) in [(&pause, "paused"), (&pause, "running")] {
        put(&junior, key, json!({"v": 1, "state": state, "by": "Ada"})).await;
    }
    for app in [&desk.app, &junior] {
        for key in [panic.to_string(), pause.to_string()] {
            until("an alarm", || has_alarm(app, "brake_unverified", &key)).await;
        }
        let controls = app.controls().await.unwrap();
        assert!(controls.panic().is_some());
        assert!(controls.stop_of(&bot()).is_some());
    }
    desk.app.set_panic(false).await.unwrap();
    desk.app
        .set_control(&bot(), AgentControl::Running)
        .await
        .unwrap();
    until("all go on", || async {
        let controls = junior.controls().await.unwrap();
        controls.panic().is_none() && controls.stop_of(&bot()).is_none()
    })
    .await;
    junior.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_under_limits_removes_nothing_from_the_bus() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let junior = limited(&desk, &data, "acme").await;
    let agent = desk.agent("bot").await;
    agent.ask(&agent.request("waits")).await;
    listed(&junior, "waits").await;
    refuses(junior.purge(&bot())).await;
    // Nor is half of it done.
    let controls = junior.controls().await.unwrap();
    assert!(controls.stop_of(&bot()).is_none());
    assert_eq!(listed(&desk.app, "waits").await.state, "pending");
    junior.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_under_limits_weakens_no_rule_that_denies() {
    let desk = Desk::open().await;
    let (data, agent) = (TempData::new(), desk.agent("rogue").await);
    apply(&desk.app, "schema = 1\n").await;
    let empty = desk
        .app
        .bus()
        .unwrap()
        .policy_get("rules.acme")
        .await
        .unwrap();
    apply(&desk.app, &format!("schema = 1\n{DENY}")).await;
    let junior = limited(&desk, &data, "acme").await;
    until("the rules are known", || async {
        junior.rules(&acme()).await.unwrap().rules.len() == 1
    })
    .await;
    refuses(junior.change_rules(&acme(), &RulesChange::Remove("no-bots".into()))).await;
    // What was signed when there was none yet.
    let empty = SignedEnvelope::from_bytes(&empty.unwrap().value).unwrap();
    let empty = serde_json::from_slice(&empty.payload_bytes().unwrap()).unwrap();
    put(&junior, &PolicyKey::Rules(acme()), empty).await;
    for app in [&desk.app, &junior] {
        until("an alarm", || {
            has_alarm(app, "rules_unusable", "rules.acme")
        })
        .await;
    }
    // Nor does anybody who deletes them, which nobody signs.
    agent.ask(&agent.request("r1")).await;
    assert_eq!(agent.decision("r1").await["verdict"], "deny");
    delete_key(&desk, "rules.acme").await;
    agent.ask(&agent.request("r2")).await;
    assert_eq!(agent.decision("r2").await["verdict"], "deny");
    apply(&desk.app, &format!("schema = 1\n{DENY}")).await;
    let added = "schema = 1\n[[rule]]\nid = \"more\"\neffect = \"deny\"\n";
    let more = RulesChange::Add(countersign_core::policy::read_file(added).unwrap());
    until("the rules are known", || async {
        junior.rules(&acme()).await.unwrap().rules.len() == 1
    })
    .await;
    junior.change_rules(&acme(), &more).await.unwrap();
    junior.shutdown().await;
    desk.app.shutdown().await;
}

/// A rule denies by a setup key: its value is what holds back.
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_under_limits_changes_no_setup_key_by_which_rules_deny() {
    let desk = Desk::open().await;
    let (data, agent) = (TempData::new(), desk.agent("bot").await);
    hello(&agent, json!([])).await;
    let junior = limited(&desk, &data, "acme").await;
    let set = |key: &str, value: Value| SetupChange::Set(key.to_owned(), value);
    until("it is declared", || async {
        let free = set("confirm_hire", json!(true));
        junior.change_setup(&bot(), &free).await.is_ok()
    })
    .await;
    let rule =
        "[[rule]]\nid = \"frozen\"\neffect = \"deny\"\nwhen = \"setup.allow_dangerous == true\"\n";
    apply(&desk.app, &format!("schema = 1\n{rule}")).await;
    desk.app
        .change_setup(&bot(), &set("allow_dangerous", json!(true)))
        .await
        .unwrap();
    until("the rules are known", || async {
        junior.rules(&acme()).await.unwrap().rules.len() == 1
    })
    .await;
    refuses(junior.change_setup(&bot(), &set("allow_dangerous", json!(false)))).await;
    let key = PolicyKey::Setup(bot());
    put(
        &junior,
        &key,
        json!({"v": 1, "by": "Grace", "values": {}, "bindings": {}}),
    )
    .await;
    until("an alarm", || {
        has_alarm(&desk.app, "setup_unusable", "setup.acme.bot")
    })
    .await;
    agent.ask(&agent.request("r1")).await;
    assert_eq!(agent.decision("r1").await["verdict"], "deny");
    delete_key(&desk, "setup.acme.bot").await;
    agent.ask(&agent.request("r2")).await;
    assert_eq!(agent.decision("r2").await["verdict"], "deny");
    junior.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_whose_operator_stands_under_limits_leaves_what_is_beyond_to_the_others() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let junior = limited(&desk, &data, "acme").await;
    apply(&desk.app, INVOICES).await;
    until("the rules are known", || async {
        junior.rules(&acme()).await.unwrap().rules.len() == 1
    })
    .await;
    let own = desk.app.identity().auto_key().to_string();
    for place in 0..8 {
        let id = format!("r{place}");
        agent.ask(&agent.request(&id)).await;
        let decision = agent.decision(&id).await;
        assert_eq!(decision["decided_by"]["key"], own.as_str());
        in_state(&junior, &id, "decided").await;
    }
    junior.shutdown().await;
    desk.app.shutdown().await;
}
