//! A stream of requests that is full: it is told, and there is a way out.

use countersign_core::{App, Options};
use countersign_testkit::TempData;
use serde_json::json;

use crate::agent::{Agent, caught_up, in_state, options, until};

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

/// What `status` tells of it.
async fn alarms(app: &App) -> Vec<(String, String)> {
    let alarms = app.status().await.unwrap().alarms;
    let told = alarms.into_iter().map(|alarm| (alarm.code, alarm.subject));
    told.collect()
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
    let told = [("stream_full".to_owned(), "CS_REQUESTS".to_owned())];
    until("it is told", || async { alarms(&app).await == told }).await;
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
