//! The bucket of the shared policy is lost, made anew, or put back to what it was.

use countersign_core::App;
use countersign_wire::AgentControl;

use crate::agent::{Desk, caught_up, listed, options};
use crate::policy::apply;
use crate::realm_log::remade;
use crate::recover::{becomes_read_only, copy_all, delete_stream, recovered};

const APPROVES: &str = r#"
schema = 1
[[rule]]
id = "all"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["delete_invoice"]
"#;

/// Revisions far above those that a new bucket begins with.
async fn many_revisions(app: &App) {
    for on in [true, false].repeat(10) {
        app.set_panic(on).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_set_in_a_policy_that_was_made_anew_counts_at_once_and_after_a_restart() {
    let desk = Desk::open().await;
    let bot = desk.agent("bot").await;
    let app = &desk.app;
    many_revisions(app).await;
    let agent = "acme/other".parse().unwrap();
    app.set_control(&agent, AgentControl::Paused).await.unwrap();
    app.set_control(&agent, AgentControl::Running)
        .await
        .unwrap();
    apply(app, APPROVES).await;
    bot.ask(&bot.request("before")).await;
    assert_eq!(bot.decision("before").await["origin"], "rule");
    // While it is connected: only the stream itself shows it.
    let (bus, realm) = (app.bus().unwrap(), app.realm().unwrap());
    delete_stream(&desk, "KV_CS_POLICY").await;
    remade(&bus, app, realm).await;
    becomes_read_only(app).await;
    recovered(app).await;
    caught_up(app).await;
    let revision = app.set_panic(true).await.unwrap().revision;
    assert!(
        revision < 20,
        "{revision} is not a revision of a new bucket"
    );
    assert!(app.controls().await.unwrap().panic().is_some());
    app.set_control(&agent, AgentControl::Stopped)
        .await
        .unwrap();
    assert!(app.controls().await.unwrap().stop_of(&agent).is_some());
    bot.ask(&bot.request("under-panic")).await;
    listed(app, "under-panic").await;
    let none = APPROVES
        .replace("approve", "ask")
        .replace("expires_at = \"2999-01-01T00:00:00Z\"", "");
    apply(app, &none).await;
    app.set_panic(false).await.unwrap();
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    assert!(app.controls().await.unwrap().panic().is_none());
    assert!(app.controls().await.unwrap().stop_of(&agent).is_some());
    bot.ask(&bot.request("asks")).await;
    listed(&app, "asks").await;
    listed(&app, "under-panic").await;
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_was_put_back_is_noticed_and_recovers_to_what_was_set_last() {
    let desk = Desk::open().await;
    desk.app.set_panic(false).await.unwrap();
    let Desk { data, app } = desk;
    app.shutdown().await;
    let (bus, copy) = (data.path().join("nats/jetstream"), data.path().join("copy"));
    copy_all(&bus, &copy);
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    many_revisions(&app).await;
    app.set_panic(true).await.unwrap();
    app.shutdown().await;
    std::fs::remove_dir_all(&bus).unwrap();
    copy_all(&copy, &bus);
    let app = App::start(options(&data)).await.unwrap();
    becomes_read_only(&app).await;
    let why = app.status().await.unwrap().read_only.unwrap();
    assert!(why.contains("rolled back"), "{why}");
    recovered(&app).await;
    caught_up(&app).await;
    assert!(app.controls().await.unwrap().panic().is_some(), "set last");
    app.set_panic(false).await.unwrap();
    assert!(app.controls().await.unwrap().panic().is_none());
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_deleted_under_a_connected_console_makes_it_read_only() {
    for name in ["CS_REQUESTS", "CS_DECISIONS", "CS_RECEIPTS"] {
        let desk = Desk::open().await;
        let bot = desk.agent("bot").await;
        bot.ask(&bot.request("r1")).await;
        listed(&desk.app, "r1").await;
        delete_stream(&desk, name).await;
        becomes_read_only(&desk.app).await;
        desk.app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_made_anew_under_a_connected_console_makes_it_read_only() {
    for name in ["CS_REQUESTS", "KV_CS_POLICY"] {
        let desk = Desk::open().await;
        let bot = desk.agent("bot").await;
        bot.ask(&bot.request("r1")).await;
        listed(&desk.app, "r1").await;
        let (bus, realm) = (desk.app.bus().unwrap(), desk.app.realm().unwrap());
        delete_stream(&desk, name).await;
        remade(&bus, &desk.app, realm).await;
        becomes_read_only(&desk.app).await;
        desk.app.shutdown().await;
    }
}
