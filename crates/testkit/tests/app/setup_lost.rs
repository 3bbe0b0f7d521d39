//! A value in the place of a setup or of rules that does not count: what they held back is held back still.

use countersign_core::App;
use countersign_core::ops::setup::{Declared, Saved, SetupChange};
use countersign_testkit::TempData;
use countersign_wire::{AgentKey, PolicyKey};
use serde_json::{Value, json};

use crate::agent::{Agent, Desk, caught_up, colleague, options, until};
use crate::limits::{limited, put, refuses};
use crate::policy::{INVOICES, acme, apply, delete_key};
use crate::realm_log::has_alarm;
use crate::recover::{loses, recovered};
use crate::setup_keys::{declared, hello};

const KEY: &str = "setup.acme.bot";
const FROZEN: &str =
    "[[rule]]\nid = \"frozen\"\neffect = \"deny\"\nwhen = \"setup.allow_dangerous == true\"\n";

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

fn set(key: &str, value: Value) -> SetupChange {
    SetupChange::Set(key.to_owned(), value)
}

fn bind() -> SetupChange {
    SetupChange::Bind("confirm_hire".to_owned(), json!(false), false)
}

async fn introduced(desk: &Desk) -> Agent {
    let agent = desk.agent("bot").await;
    hello(&agent, json!([])).await;
    declared(&desk.app).await;
    agent
}

/// Lets every invoice be deleted, unless the agent is frozen; and freezes it.
async fn freeze(app: &App) {
    apply(app, &format!("{INVOICES}{FROZEN}")).await;
    let frozen = set("allow_dangerous", json!(true));
    app.change_setup(&bot(), &frozen).await.unwrap();
}

async fn unusable(app: &App) {
    until("an alarm", || has_alarm(app, "setup_unusable", KEY)).await;
}

async fn is_denied(agent: &Agent, id: &str) {
    agent.ask(&agent.request(id)).await;
    assert_eq!(agent.decision(id).await["verdict"], "deny", "{id}");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_by_which_rules_deny_outlive_a_setup_of_a_later_version_and_a_restart() {
    let desk = Desk::open().await;
    let agent = introduced(&desk).await;
    freeze(&desk.app).await;
    let later = json!({"v": 2, "by": "Ada", "values": {}, "bindings": {}});
    put(&desk.app, &PolicyKey::Setup(bot()), later).await;
    unusable(&desk.app).await;
    is_denied(&agent, "r1").await;
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    is_denied(&agent, "r2").await;
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_setup_that_does_not_count_keeps_the_values_that_do() {
    let desk = Desk::open().await;
    let (data, agent) = (TempData::new(), introduced(&desk).await);
    let junior = limited(&desk, &data, "acme").await;
    declared(&junior).await;
    freeze(&desk.app).await;
    let bus = desk.app.bus().unwrap();
    let revision = bus.policy_get(KEY).await.unwrap().unwrap().revision;
    bus.policy_put(KEY, revision, "{}".into()).await.unwrap();
    for app in [&desk.app, &junior] {
        unusable(app).await;
    }
    refuses(junior.change_setup(&bot(), &set("allow_dangerous", json!(false)))).await;
    junior.change_setup(&bot(), &bind()).await.unwrap();
    for app in [&desk.app, &junior] {
        until("it counts", async || {
            !has_alarm(app, "setup_unusable", KEY).await
        })
        .await;
    }
    is_denied(&agent, "r1").await;

    delete_key(&desk, KEY).await;
    unusable(&desk.app).await;
    let changes = [bind()];
    let saved = desk.app.save_setup(&bot(), 0, &changes).await.unwrap();
    let Saved::Conflict(form) = saved else {
        panic!("{saved:?}");
    };
    let Declared::Keys(keys) = &form.declared else {
        panic!("{form:?}");
    };
    let value = keys.iter().find(|key| key.field.name == "allow_dangerous");
    assert_eq!(value.unwrap().value, json!(true), "the last that was read");
    assert!(keys.iter().all(|key| key.bound.is_none()), "{keys:?}");
    let saved = desk.app.save_setup(&bot(), form.revision, &changes).await;
    assert!(matches!(saved, Ok(Saved::Stored(_))), "{saved:?}");
    until("it counts", async || {
        !has_alarm(&desk.app, "setup_unusable", KEY).await
    })
    .await;
    is_denied(&agent, "r2").await;
    junior.shutdown().await;
    desk.app.shutdown().await;
}

/// An operator under limits chose it while no rule asked by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_setup_that_was_lawful_before_the_rules_counts_for_who_joins_a_recovered_bus() {
    let desk = Desk::open().await;
    let (data, agent) = (TempData::new(), introduced(&desk).await);
    let junior = limited(&desk, &data, "acme").await;
    declared(&junior).await;
    let frozen = set("allow_dangerous", json!(true));
    junior.change_setup(&bot(), &frozen).await.unwrap();
    until("it is read here", async || {
        let keys = desk.app.setup(&acme()).await.unwrap();
        keys.iter().any(|key| key.chosen.is_some())
    })
    .await;
    apply(&desk.app, &format!("{INVOICES}{FROZEN}")).await;
    junior.shutdown().await;
    let desk = loses(desk, "KV_CS_POLICY").await;
    recovered(&desk.app).await;
    caught_up(&desk.app).await;
    let data = TempData::new();
    let late = colleague(&desk, &data, "Heidi").await;
    until("rules and setup are read", async || {
        let rules = late.rules(&acme()).await.unwrap().rules.len();
        let keys = late.setup(&acme()).await.unwrap();
        rules == 2 && keys.iter().any(|key| key.chosen.is_some())
    })
    .await;
    for app in [&desk.app, &late] {
        assert!(!has_alarm(app, "setup_unusable", KEY).await);
    }
    is_denied(&agent, "r1").await;
    late.shutdown().await;
    desk.app.shutdown().await;
}
