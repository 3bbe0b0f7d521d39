//! A signed value of the shared policy counted once; whoever may write the bucket stores its bytes again.

use countersign_core::App;
use countersign_core::ops::operators::{Change, Limits, ListedState};
use countersign_testkit::TempData;
use countersign_wire::{PublicKey, SignedEnvelope};
use nkeys::KeyPair;

use crate::agent::{Desk, caught_up, colleague, line_when, listed, options, until};
use crate::operators::{has_alarm, put_approval, sees};
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
