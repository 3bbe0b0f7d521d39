//! A signed value of the shared policy counted once; whoever may write the bucket stores its bytes again.

use countersign_core::App;
use countersign_core::bus::PublishOutcome;
use countersign_core::ops::operators::{Change, Limits, ListedState};
use countersign_core::store::audit::Row;
use countersign_testkit::TempData;
use countersign_wire::{
    AgentControl, AgentKey, OperatorList, PublicKey, Risk, SignedEnvelope, Timestamp, read_json,
};
use nkeys::KeyPair;

use crate::agent::{Desk, caught_up, colleague, line_when, listed, options, troubles, until};
use crate::operators::{has_alarm, put_approval, put_list, sees};
use crate::policy::{INVOICES, apply};
use crate::recover::{becomes_read_only, delete_stream, recovered};

const HOUR: std::time::Duration = std::time::Duration::from_secs(3_600);

/// The current value of a key: revision and bytes.
async fn present(app: &App, key: &str) -> (u64, Vec<u8>) {
    let value = app.bus().unwrap().policy_get(key).await.unwrap().unwrap();
    (value.revision, value.value.to_vec())
}

async fn list_of(app: &App) -> OperatorList {
    let (_, bytes) = present(app, "operators").await;
    let envelope = SignedEnvelope::from_bytes(&bytes).unwrap();
    read_json(&envelope.payload_bytes().unwrap()).unwrap()
}

async fn store(app: &App, key: &str, bytes: &[u8]) {
    let revision = present(app, key).await.0;
    let put = app.bus().unwrap();
    let put = put.policy_put(key, revision, bytes.to_vec().into()).await;
    assert!(matches!(put.unwrap(), PublishOutcome::Stored { .. }));
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
        let (_, bytes) = present(app, "operators").await;
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
    let (_, old) = present(&desk.app, "operators").await;
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
    let (before, old) = present(&desk.app, "operators").await;
    let (bus, realm) = (desk.app.bus().unwrap(), desk.app.realm().unwrap());
    delete_stream(&desk, "KV_CS_POLICY").await;
    bus.restore(realm, 1).await.unwrap();
    becomes_read_only(&desk.app).await;
    recovered(&desk.app).await;
    caught_up(&desk.app).await;
    let (after, bytes) = present(&desk.app, "operators").await;
    assert!(after < before, "{after} is not a revision of a new bucket");
    assert!(bytes == old, "the list as it was signed");
    let retire = Change::Retire(guest.clone());
    assert!(desk.app.change_operators(&retire).await.unwrap());
    sees(&desk.app, &guest, ListedState::Retired).await;
    assert_eq!(troubles(&desk.app).await, []);
    desk.app.shutdown().await;
}

/// How often this console was alarmed about a key: the value in force is soon written back, which ends the alarm.
async fn alarms(app: &App, key: &str) -> usize {
    let rows = app.audit_after(0, 10_000).await.unwrap();
    let about = |row: &&Row| row.action == "alarm" && row.subject == key;
    rows.iter().filter(about).count()
}

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_control_is_let_go_of_by_an_older_value() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let app = &desk.app;
    let (off, running, grant) = {
        app.set_panic(false).await.unwrap();
        app.set_control(&bot(), AgentControl::Running)
            .await
            .unwrap();
        app.set_bypass(&bot(), Risk::Low, HOUR).await.unwrap();
        (
            present(app, "panic").await.1,
            present(app, "pause.acme.bot").await.1,
            present(app, "bypass.acme.bot").await.1,
        )
    };
    // Set by a console of its own: whoever signs replaces what anybody signed.
    second.set_panic(true).await.unwrap();
    app.set_control(&bot(), AgentControl::Stopped)
        .await
        .unwrap();
    second.end_bypass(&bot()).await.unwrap();
    let replay = async |app: &App| {
        store(app, "panic", &off).await;
        store(app, "pause.acme.bot", &running).await;
        store(app, "bypass.acme.bot", &grant).await;
    };
    let holds = async |app: &App, times: usize| {
        for key in ["panic", "pause.acme.bot", "bypass.acme.bot"] {
            until("an alarm", || async { alarms(app, key).await >= times }).await;
        }
        let controls = app.controls().await.unwrap();
        assert!(controls.panic().is_some());
        assert!(controls.stop_of(&bot()).is_some(), "a stop stays one");
        assert!(controls.bypass_of(&bot(), app.now()).is_none());
    };
    replay(app).await;
    for app in [app, &second] {
        holds(app, 1).await;
    }
    // What a command of the folder sees, which has only the store.
    let beside = App::attach(options(&desk.data)).await.unwrap();
    holds(&beside, 1).await;
    beside.shutdown().await;
    // Whoever signs for it lets it go.
    app.set_panic(false).await.unwrap();
    app.set_control(&bot(), AgentControl::Running)
        .await
        .unwrap();
    app.end_bypass(&bot()).await.unwrap();
    for app in [app, &second] {
        until("no alarm", || async { troubles(app).await.is_empty() }).await;
        assert!(app.controls().await.unwrap().none());
    }
    app.set_panic(true).await.unwrap();
    app.set_control(&bot(), AgentControl::Stopped)
        .await
        .unwrap();
    second.shutdown().await;
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    let before = alarms(&app, "panic").await;
    replay(&app).await;
    holds(&app, before + 1).await;
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
    let (_, old) = present(&desk.app, "rules.acme").await;
    apply(&desk.app, "schema = 1").await;
    let asks = async |app: &App, id: &str| {
        let before = alarms(app, "rules.acme").await;
        store(app, "rules.acme", &old).await;
        until("an alarm", || async {
            alarms(app, "rules.acme").await > before
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
        troubles(&desk.app).await.is_empty()
    })
    .await;
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    asks(&app, "after-restart").await;
    app.shutdown().await;
}

/// More than the bucket keeps of a key.
const FLOOD: usize = 66;

#[tokio::test(flavor = "multi_thread")]
async fn who_joins_after_a_flood_of_an_older_value_takes_the_one_in_force() {
    let desk = Desk::open().await;
    let app = &desk.app;
    app.set_panic(false).await.unwrap();
    let (_, off) = present(app, "panic").await;
    app.set_panic(true).await.unwrap();
    let (_, on) = present(app, "panic").await;
    apply(app, INVOICES).await;
    let (_, approves) = present(app, "rules.acme").await;
    apply(app, "schema = 1").await;
    let (_, none) = present(app, "rules.acme").await;
    for (key, older, in_force) in [("panic", &off, &on), ("rules.acme", &approves, &none)] {
        let bus = app.bus().unwrap();
        let mut stored = 0;
        while stored < FLOOD {
            let over = present(app, key).await.0;
            // The console may write between the two.
            let put = bus.policy_put(key, over, older.clone().into()).await;
            stored += usize::from(matches!(put.unwrap(), PublishOutcome::Stored { .. }));
        }
        until("the value in force is back", || async {
            present(app, key).await.1 == *in_force
        })
        .await;
    }
    let data = TempData::new();
    let late = colleague(&desk, &data, "Grace").await;
    assert!(late.controls().await.unwrap().panic().is_some());
    let rules = late.rules(&"acme".parse().unwrap()).await.unwrap();
    assert_eq!(rules.rules, []);
    for app in [app, &late] {
        until("no alarm", || async { troubles(app).await.is_empty() }).await;
    }
    late.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_signed_who_is_retired_since_is_not_written_back() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let grace = second.identity().human_key();
    sees(&desk.app, &grace, ListedState::InForce).await;
    desk.app.set_panic(false).await.unwrap();
    let (_, off) = present(&desk.app, "panic").await;
    second.set_panic(true).await.unwrap();
    let (_, on) = present(&desk.app, "panic").await;
    let retire = Change::Retire(grace.clone());
    assert!(desk.app.change_operators(&retire).await.unwrap());
    sees(&second, &grace, ListedState::Retired).await;
    store(&desk.app, "panic", &off).await;
    // What is looked at after it is back: this one would be, too.
    let key = "pause.acme.bot";
    for state in [AgentControl::Running, AgentControl::Paused] {
        desk.app.set_control(&bot(), state).await.unwrap();
    }
    let (_, paused) = present(&desk.app, key).await;
    let mut before = desk.app.bus().unwrap().policy_watch(1);
    let running = loop {
        let change = before.changes.recv().await.unwrap();
        if change.key == key {
            break change.value.unwrap().to_vec();
        }
    };
    store(&desk.app, key, &running).await;
    until("the pause is back", || async {
        present(&desk.app, key).await.1 == paused
    })
    .await;
    let (_, now) = present(&desk.app, "panic").await;
    assert!(now == off && now != on, "it would count nowhere");
    assert!(desk.app.controls().await.unwrap().panic().is_some());
    assert!(has_alarm(&desk.app, "brake_unverified", "panic").await);
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// Only a time of its own makes a list a later one, whoever signed it.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_without_a_time_or_with_that_of_the_one_in_force_is_written_over() {
    let desk = Desk::open().await;
    let (pair, guest) = (KeyPair::new_user(), KeyPair::new_user());
    let guest = PublicKey::of(&guest).unwrap();
    for key in [&PublicKey::of(&pair).unwrap(), &guest] {
        add(&desk.app, key).await;
    }
    for keeps_time in [true, false] {
        let before = list_of(&desk.app).await;
        let mut list = before.clone();
        let mut terms = list.operators.iter_mut();
        let term = terms.find(|term| term.key == guest).unwrap();
        term.until = Some(Timestamp::new(desk.app.now().into()));
        list.at = list.at.filter(|_| keeps_time);
        put_list(&desk.app, &list, &pair).await;
        until("the list is the realm's again", || async {
            list_of(&desk.app).await.at > before.at
        })
        .await;
        sees(&desk.app, &guest, ListedState::InForce).await;
    }
    assert!(alarms(&desk.app, "operators").await > 0);
    desk.app.shutdown().await;
}
