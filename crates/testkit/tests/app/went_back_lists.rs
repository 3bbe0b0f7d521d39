//! The list of operators after the bus came back with an older copy of it, or with one that somebody stored again.

use countersign_core::App;
use countersign_core::ops::operators::{Change, ListedState};
use countersign_testkit::TempData;
use countersign_wire::Verdict;

use crate::agent::{Desk, caught_up, colleague, in_state, listed, options, until, verdict};
use crate::operators::sees;
use crate::recover::{becomes_read_only, recovered};
use crate::rollback::{Older, decide};

#[tokio::test(flavor = "multi_thread")]
async fn a_retirement_that_an_older_copy_lost_ends_the_key_anew_at_every_console() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let theirs = TempData::new();
    let second = colleague(&desk, &theirs, "Heidi").await;
    let heidi = second.identity().human_key();
    sees(&desk.app, &heidi, ListedState::InForce).await;
    second.shutdown().await;
    let (older, data) = Older::of(desk).await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    let retire = Change::Retire(heidi.clone());
    app.change_operators(&retire).await.unwrap();
    app.shutdown().await;
    // Grace enters herself: no list that was seen here.
    older.goes_on(&[&agent], async |_| {}).await;
    older.put_back(&data);

    let app = App::start(options(&data)).await.unwrap();
    becomes_read_only(&app).await;
    let desk = Desk { data, app };
    let second = colleague(&desk, &theirs, "Heidi").await;
    agent.ask(&agent.request("before")).await;
    decide(&second, &agent, "before", Verdict::Approve).await;
    let beside = App::attach(options(&desk.data)).await.unwrap();
    let reported = beside.recover(true, |_| {}).await.unwrap().operators;
    let done = recovered(&beside).await.operators;
    assert_eq!(reported, done);
    let done = done.unwrap();
    assert_eq!((done.ended, done.may_end), (vec![heidi.clone()], true));
    beside.shutdown().await;
    caught_up(&desk.app).await;
    for app in [&desk.app, &second] {
        sees(app, &heidi, ListedState::Retired).await;
        let line = in_state(app, "before", "decided").await;
        assert_eq!(line.verdict.as_deref(), Some("approve"));
    }
    let keys = |app: &App| {
        let (list, _) = app.operators();
        let terms = list
            .into_iter()
            .map(|line| (line.key, line.from, line.until));
        terms.collect::<Vec<_>>()
    };
    assert_eq!(keys(&desk.app), keys(&second));
    agent.ask(&agent.request("after")).await;
    listed(&second, "after").await;
    let refused = second
        .decide(verdict(&agent.key("after"), Verdict::Approve))
        .await;
    assert!(refused.is_err());
    // The epochs were renewed while it was connected, and it had lost nothing.
    second.shutdown().await;
    let second = colleague(&desk, &theirs, "Heidi").await;
    assert!(second.health().borrow().read_only.is_none());
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_that_an_older_copy_lost_leaves_the_operator_in_the_realm() {
    let desk = Desk::open().await;
    let theirs = TempData::new();
    let second = colleague(&desk, &theirs, "Heidi").await;
    let approval = Change::Approval(true);
    until("she is known", || async {
        let accepted = desk.app.change_operators(&approval).await.is_ok();
        accepted && desk.app.operators().0.len() == 4
    })
    .await;
    second.shutdown().await;
    let (older, data) = Older::of(desk).await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    let old = app.identity().human_key();
    app.rotate_keys().await.unwrap();
    let key = app.identity().human_key();
    app.shutdown().await;
    // Grace waits: no list that was seen here.
    older.goes_on(&[], async |_| {}).await;
    older.put_back(&data);

    let app = App::start(options(&data)).await.unwrap();
    becomes_read_only(&app).await;
    let desk = Desk { data, app };
    let second = colleague(&desk, &theirs, "Heidi").await;
    let beside = App::attach(options(&desk.data)).await.unwrap();
    let done = recovered(&beside).await.operators.unwrap();
    assert!(done.may_end && done.ended.contains(&old), "{done:?}");
    beside.shutdown().await;
    caught_up(&desk.app).await;
    for app in [&desk.app, &second] {
        sees(app, &key, ListedState::InForce).await;
        sees(app, &old, ListedState::Retired).await;
    }
    let off = Change::Approval(false);
    assert!(desk.app.change_operators(&off).await.unwrap());
    until("it is taken over", || async { !second.operators().1 }).await;
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_somebody_stores_again_is_where_no_recovery_begins() {
    let desk = Desk::open().await;
    let first = desk.app.bus().unwrap().policy_get("operators").await;
    let (first, key) = (first.unwrap().unwrap(), desk.app.identity().human_key());
    let approval = Change::Approval(true);
    assert!(desk.app.change_operators(&approval).await.unwrap());
    desk.app.set_panic(true).await.unwrap();
    let (older, data) = Older::of(desk).await;
    let (server, theirs) = (older.server(&[]).await, TempData::new());
    let login = older.login.seed().unwrap();
    let core = async_nats::ConnectOptions::with_nkey(login);
    let core = core.connect(server.url()).await.unwrap();
    let purge = "$JS.API.STREAM.PURGE.KV_CS_POLICY";
    core.request(purge, "".into()).await.unwrap();
    let subject = "$KV.CS_POLICY.operators";
    core.request(subject, first.value).await.unwrap();
    // Keys need not be accepted by that list.
    let mallory = older.console(&server, &theirs, "Mallory").await;
    for change in [Change::Retire(key.clone()), approval] {
        assert!(mallory.change_operators(&change).await.unwrap());
    }
    mallory.shutdown().await;
    server.stop().await;
    older.put_back(&data);

    let app = App::start(options(&data)).await.unwrap();
    becomes_read_only(&app).await;
    let beside = App::attach(options(&data)).await.unwrap();
    assert_eq!(recovered(&beside).await.operators, None);
    beside.shutdown().await;
    caught_up(&app).await;
    sees(&app, &key, ListedState::InForce).await;
    let (list, approval) = app.operators();
    // As a newcomer, who knocked.
    let hers = list.iter().filter(|line| line.name == "Mallory");
    assert!(
        approval && hers.clone().all(|line| line.state == ListedState::Waiting),
        "{list:?}"
    );
    app.shutdown().await;
}
