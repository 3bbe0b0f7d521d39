use std::path::Path;

use countersign_core::App;
use countersign_core::ops::recover::Recovery;
use countersign_testkit::TempData;
use countersign_wire::Verdict;

use crate::agent::{
    Desk, LIMIT, caught_up, colleague, in_state, inbox_ids, line_when, listed, options, verdict,
};

async fn recovered(app: &App) -> Recovery {
    app.recover(false, |_| {}).await.unwrap()
}

async fn becomes_read_only(app: &App) {
    let mut health = app.health();
    let noticed = health.wait_for(|health| health.read_only.is_some());
    let noticed = tokio::time::timeout(LIMIT, noticed).await;
    noticed.unwrap().unwrap();
}

fn lose_the_store(desk: &Path) {
    std::fs::remove_dir_all(desk.join("nats/jetstream")).unwrap();
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bus_that_lost_its_store_has_every_decision_again_and_what_waited_still_waits() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    for id in ["yes", "no", "waits"] {
        agent.ask(&agent.request(id)).await;
        listed(&desk.app, id).await;
    }
    let before = verdict(&agent.key("yes"), Verdict::Approve);
    desk.app.decide(before).await.unwrap();
    desk.app
        .decide(verdict(&agent.key("no"), Verdict::Deny))
        .await
        .unwrap();
    in_state(&desk.app, "no", "decided").await;
    let stored = agent.decision("yes").await;
    desk.app.shutdown().await;
    lose_the_store(desk.data.path());

    let app = App::start(options(&desk.data)).await.unwrap();
    becomes_read_only(&app).await;
    let beside = App::attach(options(&desk.data)).await.unwrap();
    let told = beside.recover(true, |_| {}).await.unwrap();
    assert_eq!(
        (told.created.len(), told.known, told.republished),
        (7, 2, 2)
    );
    assert!(app.status().await.unwrap().read_only.is_some(), "only told");
    // As a recovery that was killed half-way leaves it.
    let half = app.bus().unwrap();
    half.restore(app.realm().unwrap(), 1).await.unwrap();
    let done = recovered(&beside).await;
    assert_eq!((done.republished, done.left, done.conflicts), (2, 0, 0));
    caught_up(&app).await;
    assert_eq!(app.status().await.unwrap().read_only, None);
    assert_eq!(agent.decision("yes").await, stored, "the same bytes");
    assert_eq!(inbox_ids(&app).await, ["waits"]);
    app.decide(verdict(&agent.key("waits"), Verdict::Approve))
        .await
        .unwrap();
    assert_eq!(agent.decision("waits").await["verdict"], "approve");
    assert!(recovered(&beside).await.is_needless());
    agent.ask(&agent.request("later")).await;
    listed(&app, "later").await;
    // An agent that asks again gets the answer that it had, and is not asked about twice.
    agent.ask(&agent.request("yes")).await;
    agent.ask(&agent.request("last")).await;
    listed(&app, "last").await;
    assert_eq!(inbox_ids(&app).await, ["later", "last"]);
    assert_eq!(
        in_state(&app, "yes", "decided").await.verdict.as_deref(),
        Some("approve")
    );
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    beside.shutdown().await;
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consoles_that_recover_at_once_agree_and_a_late_joiner_sees_the_old_decisions() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    for number in 0..40 {
        let id = format!("r{number}");
        let key = agent.ask(&agent.request(&id)).await;
        let app = if number % 2 == 0 { &desk.app } else { &second };
        listed(app, &id).await;
        app.decide(verdict(&key, Verdict::Approve)).await.unwrap();
    }
    for app in [&desk.app, &second] {
        in_state(app, "r39", "decided").await;
    }
    let seed = desk.app.identity().login.seed().unwrap();
    let url = desk.app.embedded_server().unwrap().url();
    let client = async_nats::ConnectOptions::with_nkey(seed)
        .connect(url)
        .await
        .unwrap();
    let streams = async_nats::jetstream::new(client);
    streams.delete_stream("CS_DECISIONS").await.unwrap();
    desk.app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    becomes_read_only(&second).await;
    let (ours, theirs) = tokio::join!(recovered(&app), recovered(&second));
    for one in [&ours, &theirs] {
        assert_eq!((one.known, one.conflicts), (40, 0));
        assert_eq!(one.republished + one.left, 40);
    }
    assert_eq!(
        ours.republished + theirs.republished,
        40,
        "each stands there once"
    );
    let late = TempData::new();
    let desk = Desk {
        data: desk.data,
        app,
    };
    let third = colleague(&desk, &late, "Heidi").await;
    for app in [&desk.app, &second, &third] {
        for number in 0..40 {
            let row = line_when(app, &format!("r{number}"), |row| row.state == "decided").await;
            assert_eq!(row.verdict.as_deref(), Some("approve"));
        }
        assert_eq!(app.status().await.unwrap().read_only, None);
    }
    for app in [third, second, desk.app] {
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_went_back_get_their_decisions_and_new_requests_are_not_taken_for_lost_ones() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    agent.ask(&agent.request("kept")).await;
    listed(&desk.app, "kept").await;
    desk.app.shutdown().await;
    let store = desk.data.path().join("nats/jetstream");
    let older = TempData::new();
    copy_all(&store, &older.path().join("js"));
    let app = App::start(options(&desk.data)).await.unwrap();
    for id in ["gone", "kept"] {
        if id == "gone" {
            agent.ask(&agent.request(id)).await;
        }
        listed(&app, id).await;
        app.decide(verdict(&agent.key(id), Verdict::Approve))
            .await
            .unwrap();
        in_state(&app, id, "decided").await;
    }
    app.shutdown().await;
    std::fs::remove_dir_all(&store).unwrap();
    copy_all(&older.path().join("js"), &store);
    let app = App::start(options(&desk.data)).await.unwrap();
    becomes_read_only(&app).await;
    let done = recovered(&app).await;
    assert!(done.changed.contains(&"CS_DECISIONS"), "{done:?}");
    assert_eq!((done.republished, done.left, done.conflicts), (2, 0, 0));
    for id in ["fresh", "fresher"] {
        agent.ask(&agent.request(id)).await;
        listed(&app, id).await;
    }
    assert_eq!(inbox_ids(&app).await, ["fresh", "fresher"]);
    for id in ["gone", "kept"] {
        assert_eq!(agent.decision(id).await["verdict"], "approve");
    }
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

/// The shared policy, the anchors and the spans are remembered by their epochs as decisions are.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_somebody_made_anew_makes_the_console_read_only_until_it_is_recovered() {
    let desk = Desk::open().await;
    let human = desk.app.identity().human_key();
    let Desk { data, mut app } = desk;
    for name in ["KV_CS_POLICY", "CS_AUDIT", "CS_EVENTS"] {
        let seed = app.identity().login.seed().unwrap();
        let url = app.embedded_server().unwrap().url();
        let client = async_nats::ConnectOptions::with_nkey(seed)
            .connect(url)
            .await
            .unwrap();
        let streams = async_nats::jetstream::new(client);
        streams.delete_stream(name).await.unwrap();
        let (bus, realm) = (app.bus().unwrap(), app.realm().unwrap());
        bus.restore(realm, 1).await.unwrap();
        app.shutdown().await;
        app = App::start(options(&data)).await.unwrap();
        becomes_read_only(&app).await;
        let why = app.status().await.unwrap().read_only.unwrap();
        assert!(why.contains(name) && why.contains("made anew"), "{why}");
        let done = recovered(&app).await;
        assert_eq!(done.changed, [name]);
        caught_up(&app).await;
        assert_eq!(app.status().await.unwrap().read_only, None, "{name}");
        let (list, _) = app.operators();
        assert!(list.iter().any(|line| line.key == human), "{name}");
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    }
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    assert_eq!(app.status().await.unwrap().read_only, None);
    app.shutdown().await;
}
