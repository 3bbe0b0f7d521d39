//! A signed value of the shared policy counted once; whoever may write the bucket stores its bytes again.

use countersign_core::App;
use countersign_core::ops::operators::{Change, Limits, ListedState};
use countersign_testkit::TempData;
use countersign_wire::{AgentBrake, AgentKey, PublicKey, Risk, SignedEnvelope};
use nkeys::KeyPair;

use crate::agent::{Desk, caught_up, colleague, line_when, listed, options, until};
use crate::operators::{has_alarm, put_approval, sees};
use crate::policy::{INVOICES, apply};
use crate::recover::{becomes_read_only, delete_stream, recovered};

/// What stands under a key: revision and bytes.
async fn stands(app: &App, key: &str) -> (u64, Vec<u8>) {
    let value = app.bus().unwrap().policy_get(key).await.unwrap().unwrap();
    (value.revision, value.value.to_vec())
}

async fn store(app: &App, key: &str, bytes: &[u8]) {
    let revision = stands(app, key).await.0;
    let put = app.bus().unwrap();
    let put = put.policy_put(key, revision, bytes.to_vec().into()).await;
    assert!(matches!(
        put.unwrap(),
        countersign_core::bus::PublishOutcome::Stored { .. }
    ));
}

async fn add(app: &App, key: &PublicKey) {
    let change = Change::Add {
        key: key.clone(),
        name: Some("guest".into()),
        role: None,
        limits: Limits::default(),
    };
    assert!(app.change_operators(&change).await.unwrap());
}

async fn is_put_right(app: &App, old: &[u8]) {
    until("the list is the realm's again", || async {
        let (_, bytes) = stands(app, "operators").await;
        bytes != old && SignedEnvelope::from_bytes(&bytes).is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retired_operator_does_not_come_back_by_an_older_list() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let pair = KeyPair::new_user();
    let guest = PublicKey::of(&pair).unwrap();
    add(&desk.app, &guest).await;
    let (_, old) = stands(&desk.app, "operators").await;
    let retire = Change::Retire(guest.clone());
    assert!(desk.app.change_operators(&retire).await.unwrap());
    sees(&second, &guest, ListedState::Retired).await;
    store(&desk.app, "operators", &old).await;
    for app in [&desk.app, &second] {
        until("an alarm", || {
            has_alarm(app, "operators_refused", "operators")
        })
        .await;
        sees(app, &guest, ListedState::Retired).await;
    }
    is_put_right(&desk.app, &old).await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    put_approval(&desk.app, &agent, &key, &pair).await;
    for app in [&desk.app, &second] {
        line_when(app, "r1", |row| row.state == "void").await;
    }
    second.shutdown().await;
    // A console that starts knows what it knew.
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    store(&app, "operators", &old).await;
    is_put_right(&app, &old).await;
    sees(&app, &guest, ListedState::Retired).await;
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_put_back_after_a_loss_counts_and_so_does_what_is_changed_next() {
    let desk = Desk::open().await;
    // Revisions that a new bucket reaches much later.
    for on in [true, false].repeat(5) {
        desk.app.set_panic(on).await.unwrap();
    }
    let guest = PublicKey::of(&KeyPair::new_user()).unwrap();
    add(&desk.app, &guest).await;
    let (before, old) = stands(&desk.app, "operators").await;
    let (bus, realm) = (desk.app.bus().unwrap(), desk.app.realm().unwrap());
    delete_stream(&desk, "KV_CS_POLICY").await;
    bus.restore(realm, 1).await.unwrap();
    becomes_read_only(&desk.app).await;
    recovered(&desk.app).await;
    caught_up(&desk.app).await;
    let (after, bytes) = stands(&desk.app, "operators").await;
    assert!(after < before, "{after} is no revision of a new bucket");
    assert!(bytes == old, "the list as it was signed");
    let retire = Change::Retire(guest.clone());
    assert!(desk.app.change_operators(&retire).await.unwrap());
    sees(&desk.app, &guest, ListedState::Retired).await;
    assert_eq!(desk.app.alarms().await.unwrap(), []);
    desk.app.shutdown().await;
}

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_brake_is_let_go_of_by_an_older_value() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let app = &desk.app;
    let (off, running, grant) = {
        app.set_panic(false).await.unwrap();
        app.set_brake(&bot(), AgentBrake::Running).await.unwrap();
        let hour = std::time::Duration::from_secs(3_600);
        app.set_bypass(&bot(), Risk::Low, hour).await.unwrap();
        (
            stands(app, "panic").await.1,
            stands(app, "pause.acme.bot").await.1,
            stands(app, "bypass.acme.bot").await.1,
        )
    };
    // Set by a console of its own: whoever signs replaces what anybody signed.
    second.set_panic(true).await.unwrap();
    app.set_brake(&bot(), AgentBrake::Stopped).await.unwrap();
    second.end_bypass(&bot()).await.unwrap();
    let replay = async |app: &App| {
        store(app, "panic", &off).await;
        store(app, "pause.acme.bot", &running).await;
        store(app, "bypass.acme.bot", &grant).await;
    };
    let holds = async |app: &App| {
        for key in ["panic", "pause.acme.bot", "bypass.acme.bot"] {
            until("an alarm", || has_alarm(app, "brake_unverified", key)).await;
        }
        let brakes = app.brakes().await.unwrap();
        assert!(brakes.panic().is_some());
        assert!(brakes.stop_of(&bot()).is_some(), "a stop stays one");
        assert!(brakes.bypass_of(&bot(), app.now()).is_none());
    };
    replay(app).await;
    for app in [app, &second] {
        holds(app).await;
    }
    // What a command of the folder sees, which has only the store.
    let beside = App::attach(options(&desk.data)).await.unwrap();
    holds(&beside).await;
    beside.shutdown().await;
    // Whoever signs for it lets it go.
    app.set_panic(false).await.unwrap();
    app.set_brake(&bot(), AgentBrake::Running).await.unwrap();
    app.end_bypass(&bot()).await.unwrap();
    for app in [app, &second] {
        until("no alarm", || async {
            app.alarms().await.unwrap().is_empty()
        })
        .await;
        assert!(app.brakes().await.unwrap().none());
    }
    app.set_panic(true).await.unwrap();
    app.set_brake(&bot(), AgentBrake::Stopped).await.unwrap();
    second.shutdown().await;
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    replay(&app).await;
    holds(&app).await;
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_was_removed_does_not_come_back_by_an_older_value() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    apply(&desk.app, INVOICES).await;
    agent.ask(&agent.request("by-rule")).await;
    assert_eq!(agent.decision("by-rule").await["origin"], "rule");
    let (_, old) = stands(&desk.app, "rules.acme").await;
    apply(&desk.app, "schema = 1").await;
    let asks = async |app: &App, id: &str| {
        store(app, "rules.acme", &old).await;
        until("an alarm", || {
            has_alarm(app, "rules_unusable", "rules.acme")
        })
        .await;
        agent.ask(&agent.request(id)).await;
        assert_eq!(line_when(app, id, |_| true).await.state, "pending");
        let after = app.rules(&"acme".parse().unwrap()).await;
        assert!(
            after.is_ok_and(|set| set.rules.is_empty()),
            "nor is it built upon"
        );
    };
    asks(&desk.app, "asks").await;
    // The same file again puts the removal in its place.
    apply(&desk.app, "schema = 1").await;
    until("no alarm", || async {
        desk.app.alarms().await.unwrap().is_empty()
    })
    .await;
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    asks(&app, "after-restart").await;
    app.shutdown().await;
}
