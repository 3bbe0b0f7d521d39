use countersign_core::App;
use countersign_core::ops::backup::BackupOptions;
use countersign_core::ops::operators::{Change, Limits, ListedState};
use countersign_core::ops::restore::restore;
use countersign_testkit::TempData;
use countersign_wire::{KeyRole, PublicKey, Risk, Verdict};
use nkeys::KeyPair;
use serde_json::Value;

use crate::agent::{
    Agent, Desk, caught_up, colleague, in_state, listed, options, troubles, until, verdict,
};
use crate::recover::copy_all;

fn state_of(app: &App, key: &PublicKey) -> Option<ListedState> {
    let (list, _) = app.operators();
    list.iter()
        .rfind(|line| line.key == *key)
        .map(|line| line.state)
}

async fn approve(desk: &Desk, app: &App, agent: &Agent, id: &str) -> Value {
    let key = agent.ask(&agent.request(id)).await;
    listed(&desk.app, id).await;
    listed(app, id).await;
    app.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    in_state(&desk.app, id, "decided").await;
    agent.decision(id).await
}

async fn signs_with(app: &App, human: &PublicKey, auto: &PublicKey) {
    until("the new keys in use", async || {
        app.identity().human_key() == *human && app.identity().auto_key() == *auto
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_take_over_in_every_console_and_every_old_decision_stands() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let old = desk.app.identity().signing();
    approve(&desk, &desk.app, &agent, "before").await;
    let held = agent.ask(&agent.request("held")).await;
    listed(&desk.app, "held").await;
    let mut hold = verdict(&held, Verdict::Approve);
    hold.hold = true;
    desk.app.decide(hold).await.unwrap();

    let beside = App::attach(options(&desk.data)).await.unwrap();
    let rotated = beside.rotate_keys().await.unwrap();
    beside.shutdown().await;
    let [human, auto] = &rotated[..] else {
        panic!("{rotated:?}")
    };
    assert_eq!(
        [(human.role, &human.old), (auto.role, &auto.old)],
        [
            (KeyRole::Human, &old.human_key),
            (KeyRole::Auto, &old.auto_key)
        ]
    );
    signs_with(&desk.app, &human.new, &auto.new).await;
    for app in [&desk.app, &second] {
        until("the list everywhere", async || {
            state_of(app, &human.new) == Some(ListedState::InForce)
                && state_of(app, &human.old) == Some(ListedState::Retired)
        })
        .await;
    }
    // What the old key was to sign waits again and is decided with the new one.
    in_state(&desk.app, "held", "pending").await;
    desk.app
        .decide(verdict(&held, Verdict::Deny))
        .await
        .unwrap();
    let after = approve(&desk, &desk.app, &agent, "after").await;
    assert_eq!(after["decided_by"]["key"], human.new.as_str());

    let late = TempData::new();
    let third = colleague(&desk, &late, "Heidi").await;
    for (id, word) in [
        ("before", "approve"),
        ("held", "deny"),
        ("after", "approve"),
    ] {
        for app in [&second, &third] {
            let line = in_state(app, id, "decided").await;
            assert_eq!(line.verdict.as_deref(), Some(word), "{id}");
        }
    }
    // Stops and starts: the keys are the new ones, and the log with anchors of both still verifies.
    desk.app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    caught_up(&app).await;
    signs_with(&app, &human.new, &auto.new).await;
    for app in [third, second, app] {
        assert_eq!(troubles(&app).await, []);
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        app.shutdown().await;
    }
}

/// As a process leaves the folder that is killed after the list was written.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_the_list_names_and_the_folder_does_not_yet_are_taken_up_at_the_start() {
    let desk = Desk::open().await;
    let keys = desk.app.data().keys();
    let old = ["human", "auto"].map(|name| {
        let seed = std::fs::read(keys.join(format!("{name}.nk"))).unwrap();
        (name, seed)
    });
    let rotated = desk.app.rotate_keys().await.unwrap();
    desk.app.shutdown().await;
    for (name, seed) in old {
        let (place, next) = (
            keys.join(format!("{name}.nk")),
            keys.join(format!("{name}.next.nk")),
        );
        std::fs::copy(&place, &next).unwrap();
        std::fs::write(&place, seed).unwrap();
    }
    let desk = Desk {
        app: App::start(options(&desk.data)).await.unwrap(),
        data: desk.data,
    };
    caught_up(&desk.app).await;
    signs_with(&desk.app, &rotated[0].new, &rotated[1].new).await;
    assert!(!keys.join("human.next.nk").exists() && !keys.join("auto.next.nk").exists());
    let agent = desk.agent("bot").await;
    let decision = approve(&desk, &desk.app, &agent, "r1").await;
    assert_eq!(decision["decided_by"]["key"], rotated[0].new.as_str());
    // And once more: the same again from the new keys.
    let again = desk.app.rotate_keys().await.unwrap();
    assert_eq!(again[0].old, rotated[0].new);
    assert_eq!(desk.app.identity().human_key(), again[0].new);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_under_limits_rotates_his_own_key_and_keeps_his_limits() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    desk.app
        .change_operators(&Change::Approval(true))
        .await
        .unwrap();
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let (grace, auto) = (second.identity().human_key(), second.identity().auto_key());
    until("she waits", async || {
        state_of(&desk.app, &grace) == Some(ListedState::Waiting)
    })
    .await;
    assert_eq!(
        second.rotate_keys().await.unwrap_err().code.as_str(),
        "read_only"
    );
    let limits = Limits {
        workspaces: None,
        max_risk: Some(Risk::Low),
    };
    let add = Change::Add {
        key: grace.clone(),
        name: None,
        role: None,
        limits,
    };
    desk.app.change_operators(&add).await.unwrap();
    until("she counts", async || {
        state_of(&second, &grace) == Some(ListedState::InForce)
    })
    .await;
    let rotated = second.rotate_keys().await.unwrap();
    assert_eq!(rotated.len(), 1);
    assert_eq!((rotated[0].role, &rotated[0].old), (KeyRole::Human, &grace));
    assert_eq!(second.identity().auto_key(), auto);
    until("the new key", async || {
        state_of(&desk.app, &rotated[0].new) == Some(ListedState::InForce)
    })
    .await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&second, "r1").await;
    let refused = second
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap_err();
    assert_eq!(refused.code.as_str(), "verdict_not_allowed");
    second.decide(verdict(&key, Verdict::Deny)).await.unwrap();
    assert_eq!(
        agent.decision("r1").await["decided_by"]["key"],
        rotated[0].new.as_str()
    );
    assert_eq!(troubles(&desk.app).await, []);
    second.shutdown().await;
    desk.app.shutdown().await;
}

/// The last operator with his new key is the last one still.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_locked_out_by_a_key_that_ends_in_a_moment() {
    let desk = Desk::open().await;
    let rotated = desk.app.rotate_keys().await.unwrap();
    let retire = Change::Retire(rotated[0].new.clone());
    let refused = desk.app.change_operators(&retire).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "invalid_args");
    let stranger = PublicKey::of(&KeyPair::new_user()).unwrap();
    assert_eq!(state_of(&desk.app, &stranger), None);
    desk.app.shutdown().await;
}

/// Keys that were copied once and then rotated: the restored console can only look, and says so before it is started.
#[tokio::test(flavor = "multi_thread")]
async fn restore_says_that_the_keys_beside_the_backup_are_retired() {
    let desk = Desk::open().await;
    let (before, after) = (TempData::new(), TempData::new());
    let old = desk.app.identity().human_key();
    copy_all(&desk.app.data().keys(), &before.path().join("keys"));
    desk.app.rotate_keys().await.unwrap();
    until("the old key is retired", async || {
        state_of(&desk.app, &old) == Some(ListedState::Retired)
    })
    .await;
    copy_all(&desk.app.data().keys(), &after.path().join("keys"));
    let wanted = BackupOptions {
        file: desk.data.path().join("b.db"),
        include_keys: false,
        replace: false,
    };
    desk.app.backup(&wanted, &|_, _| {}).await.unwrap();
    for (folder, retired) in [(&before, true), (&after, false)] {
        let done = restore(&options(folder), &wanted.file, false).await;
        let why = done.unwrap().read_only;
        let reported = why.as_deref().is_some_and(|why| why.contains("retired"));
        assert_eq!((reported, why.is_some()), (retired, retired), "{why:?}");
    }
    desk.app.shutdown().await;
}
