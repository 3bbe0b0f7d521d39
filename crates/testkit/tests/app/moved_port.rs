//! The port of the console's own server is taken when it starts.

use std::net::TcpListener;

use countersign_core::App;

use crate::agent::{Desk, caught_up, options, until};

fn address(app: &App) -> String {
    let url = app.embedded_server().unwrap().url();
    url.strip_prefix("nats://").unwrap().to_owned()
}

async fn reported(app: &App) -> Vec<(String, Vec<String>)> {
    let left = app.left_addresses().await.unwrap();
    left.into_iter().map(|at| (at.address, at.agents)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_was_taken_is_told_with_its_agents_until_they_are_right_again() {
    let desk = Desk::open().await;
    let bot = "acme/bot".parse().unwrap();
    desk.app.enroll(&bot).await.unwrap();
    desk.app.enroll_local().await.unwrap();
    let home = address(&desk.app);
    let Desk { data, app } = desk;
    assert_eq!(reported(&app).await, []);
    app.shutdown().await;
    let moved = [(home.clone(), vec!["acme/bot".to_owned()])];

    let taken = TcpListener::bind(&home).unwrap();
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    assert_ne!(address(&app), home);
    until("it is reported", || async { reported(&app).await == moved }).await;
    let alarm = app.alarms().await.unwrap().remove(0);
    assert_eq!((alarm.code.as_str(), &alarm.subject), ("bus_moved", &home));
    app.shutdown().await;
    drop(taken);

    let app = App::start(options(&data)).await.unwrap();
    assert_eq!(address(&app), home, "nobody was sent elsewhere");
    until("it is over", || async { reported(&app).await.is_empty() }).await;
    app.shutdown().await;

    let taken = TcpListener::bind(&home).unwrap();
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    until("it is reported again", || async {
        reported(&app).await == moved
    })
    .await;
    let elsewhere = address(&app);
    assert_eq!(
        app.enroll(&bot).await.unwrap().nats_url,
        format!("nats://{elsewhere}")
    );
    until("nobody dials the old one", || async {
        reported(&app).await.is_empty()
    })
    .await;
    app.shutdown().await;
    drop(taken);

    let app = App::start(options(&data)).await.unwrap();
    assert_eq!(address(&app), elsewhere, "the agent was sent there");
    assert_eq!(reported(&app).await, []);
    app.shutdown().await;
}

/// Whoever is enrolled while nobody dials the former port is sent to the one of now.
#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_nobody_dials_is_given_up_for_the_one_that_agents_are_sent_to() {
    let (bot, other) = ("acme/bot".parse().unwrap(), "acme/other".parse().unwrap());
    for one_was_enrolled_before in [false, true] {
        let desk = Desk::open().await;
        if one_was_enrolled_before {
            desk.app.enroll(&other).await.unwrap();
        }
        desk.app.enroll_local().await.unwrap();
        let home = address(&desk.app);
        let Desk { data, app } = desk;
        app.shutdown().await;

        let taken = TcpListener::bind(&home).unwrap();
        let app = App::start(options(&data)).await.unwrap();
        let elsewhere = address(&app);
        if one_was_enrolled_before {
            until("it is reported", || async {
                !reported(&app).await.is_empty()
            })
            .await;
            app.revoke(&other).await.unwrap();
            until("it is over", || async { reported(&app).await.is_empty() }).await;
        }
        let sent = app.enroll(&bot).await.unwrap().nats_url;
        assert_eq!(sent, format!("nats://{elsewhere}"));
        app.shutdown().await;
        drop(taken);

        let app = App::start(options(&data)).await.unwrap();
        assert_eq!(address(&app), elsewhere, "{one_was_enrolled_before}");
        assert_eq!(reported(&app).await, []);
        app.shutdown().await;
    }
}
