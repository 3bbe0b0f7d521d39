//! A bus of three servers that keep each stream three times.

use std::time::Duration;

use countersign_core::{App, Fault, Options};
use countersign_testkit::{Cluster, TempData};
use countersign_wire::{AgentKey, ErrorCode, RequestKey, Verdict};
use serde_json::Value;

use crate::agent::{Agent, in_state, options, verdict};

/// How long servers of a cluster may take to choose a leader, and an agent or a console to find it.
const ELECTED: Duration = Duration::from_secs(60);

async fn joined(cluster: &Cluster, data: &TempData) -> App {
    let options = || Options {
        nats_url: Some(cluster.url()),
        allow_single_account: true,
        replicas: 3,
        ..options(data)
    };
    let start = async {
        loop {
            match App::start(options()).await {
                Ok(app) => return app,
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    };
    let app = tokio::time::timeout(ELECTED, start).await.unwrap();
    caught_up(&app).await;
    app
}

async fn caught_up(app: &App) {
    let mut done = app.caught_up();
    let done = done.wait_for(|done| *done);
    tokio::time::timeout(ELECTED, done).await.unwrap().unwrap();
}

/// Publishes until the stream has the request, as an agent does.
async fn asked(agent: &Agent, request: &Value) -> RequestKey {
    let id = request["request_id"].as_str().unwrap();
    let subject = agent.subject("request", id);
    let payload = serde_json::to_vec(request).unwrap();
    let ask = async {
        loop {
            let sent = agent
                .client
                .request(subject.clone(), payload.clone().into());
            let sent = tokio::time::timeout(Duration::from_secs(2), sent).await;
            let reported = sent.ok().and_then(Result::ok);
            let reported: Value = reported.map_or(Value::Null, |reported| {
                serde_json::from_slice(&reported.payload).unwrap()
            });
            if reported["seq"].as_u64().is_some_and(|seq| seq > 0) {
                return agent.key(id);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(ELECTED, ask).await.unwrap()
}

async fn goes_the_whole_way(app: &App, agent: &Agent, id: &str) {
    let key = asked(agent, &agent.request(id)).await;
    let listed = async {
        while app.find(id).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(ELECTED, listed).await.unwrap();
    let decided = async {
        while let Err(error) = app.decide(verdict(&key, Verdict::Approve)).await {
            // Queued while the bus has no leader; it is sent automatically.
            if error.code == ErrorCode::AlreadyDecided {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(ELECTED, decided).await.unwrap();
    in_state(app, id, "decided").await;
    assert_eq!(agent.decision(id).await["verdict"], "approve");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_goes_on_without_one_server_and_without_a_leader_the_console_only_waits() {
    let mut cluster = Cluster::start().await;
    let data = TempData::new();
    let app = joined(&cluster, &data).await;
    let key: AgentKey = "acme/bot".parse().unwrap();
    let agent = Agent::connect(app.enroll(&key).await.unwrap()).await;
    goes_the_whole_way(&app, &agent, "three").await;
    cluster.kill(0);
    goes_the_whole_way(&app, &agent, "two").await;
    cluster.kill(1);
    let lost = async {
        loop {
            let reported = app.status().await.unwrap();
            assert_eq!(reported.read_only, None);
            if let Some(bus) = app.bus()
                && let Err(error) = bus.survey().await
                && error.code() == "bus_no_leader"
            {
                assert_eq!(Fault::from(error).code, ErrorCode::BusUnreachable);
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(ELECTED, lost).await.unwrap();
    // What comes after is nats-server's: of servers that were started again here, a stream had no leader for more than a
    // minute in half of the runs, whichever of them came back and however they had ended.
    app.shutdown().await;
}
