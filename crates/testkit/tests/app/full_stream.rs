//! A full stream of requests: the alarm, and the way out.

use countersign_core::{App, Options};
use countersign_testkit::TempData;
use serde_json::json;

use crate::agent::{Agent, Desk, caught_up, colleague_with, in_state, options, until};

const MIB: u64 = 1 << 20;
const MAXIMUM_BYTES: u64 = 10_077;

async fn started(data: &TempData, most: u64) -> App {
    let app = App::start(Options {
        requests_max_bytes: Some(most),
        ..options(data)
    })
    .await
    .unwrap();
    caught_up(&app).await;
    let bus = app.bus().unwrap();
    until("the limit is in force", || async {
        bus.rooms().await.unwrap()[0].most == most
    })
    .await;
    app
}

async fn ask(agent: &Agent, id: &str, padding: usize) -> Result<u64, u64> {
    let mut request = agent.request(id);
    request["summary"] = json!("x".repeat(padding));
    let payload = serde_json::to_vec(&request).unwrap();
    agent.publish(agent.subject("request", id), payload).await
}

/// The limit of the stream of requests, as whoever runs the server sees it.
async fn set_by_hand(app: &App, most: i64) {
    let login = app.identity().login.seed().unwrap();
    let client = async_nats::ConnectOptions::with_nkey(login)
        .connect(app.embedded_server().unwrap().url())
        .await
        .unwrap();
    let context = async_nats::jetstream::new(client);
    let mut stream = context.get_stream("CS_REQUESTS").await.unwrap();
    let mut config = stream.info().await.unwrap().config.clone();
    config.max_bytes = most;
    context.update_stream(config).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_consoles_with_different_limits_the_wider_one_stands() {
    let desk = Desk::open_with(|options| options.requests_max_bytes = Some(32 * MIB)).await;
    let bus = desk.app.bus().unwrap();
    let most = async || bus.rooms().await.unwrap().first().map(|room| room.most);
    until("the limit is in force", || async {
        most().await == Some(32 * MIB)
    })
    .await;
    for (wanted, current) in [(16, 32), (64, 64), (48, 64)] {
        let data = TempData::new();
        let console = colleague_with(&desk, &data, "Bob", |options| {
            options.requests_max_bytes = Some(wanted * MIB);
        })
        .await;
        until("the limit is looked at", || async {
            most().await == Some(current * MIB)
        })
        .await;
        let bus = console.bus().unwrap();
        bus.widen_requests(wanted * MIB).await.unwrap();
        assert_eq!(most().await, Some(current * MIB));
        console.shutdown().await;
    }
    set_by_hand(&desk.app, -1).await;
    bus.widen_requests(16 * MIB).await.unwrap();
    assert_eq!(most().await, None, "it has no limit");
    desk.app.shutdown().await;
}

/// What `status` reports of it.
async fn alarms(app: &App) -> Vec<(String, String)> {
    let alarms = app.status().await.unwrap().alarms;
    let reported = alarms.into_iter().map(|alarm| (alarm.code, alarm.subject));
    reported.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_stream_of_requests_is_an_alarm_until_a_larger_limit_is_set() {
    let data = TempData::new();
    let app = started(&data, 2 * MIB).await;
    let enrolment = app.enroll(&"acme/bot".parse().unwrap()).await.unwrap();
    assert_eq!(alarms(&app).await, []);
    let agent = Agent::connect(enrolment.clone()).await;
    let mut asked = 0;
    let refused = loop {
        match ask(&agent, &format!("r{asked}"), 400_000).await {
            Ok(_) => asked += 1,
            Err(code) => break code,
        }
    };
    assert_eq!((asked, refused), (5, MAXIMUM_BYTES));
    let room = app.bus().unwrap().rooms().await.unwrap()[0];
    assert!(room.is_full() && room.is_alarming(), "{room:?}");
    app.shutdown().await;

    let app = started(&data, 2 * MIB).await;
    let reported = [("stream_full".to_owned(), "CS_REQUESTS".to_owned())];
    until("it is reported", || async {
        alarms(&app).await == reported
    })
    .await;
    app.shutdown().await;

    // The next look is a minute away, or at the next start.
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    assert_eq!(alarms(&app).await, reported);
    set_by_hand(&app, -1).await;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    until("a stream without a limit is not full", || async {
        alarms(&app).await.is_empty()
    })
    .await;
    app.shutdown().await;

    let app = started(&data, 16 * MIB).await;
    until("the alarm ends", || async { alarms(&app).await.is_empty() }).await;
    let agent = Agent::connect(enrolment).await;
    assert!(ask(&agent, "later", 400_000).await.is_ok());
    in_state(&app, "later", "pending").await;
    app.shutdown().await;

    // Less than the stream holds would cost requests that wait.
    let app = App::start(Options {
        requests_max_bytes: Some(MIB),
        ..options(&data)
    })
    .await
    .unwrap();
    let bus = app.bus().unwrap();
    let error = bus.limit_requests(MIB).await.unwrap_err();
    assert!(error.to_string().contains("CS_REQUESTS"), "{error}");
    assert_eq!(bus.rooms().await.unwrap()[0].most, 16 * MIB);
    app.shutdown().await;
}
