//! An agent whose login is taken away while it is connected and waits.

use std::time::Duration;

use async_nats::connection::State;
use countersign_wire::Verdict;
use tokio::time::Instant;

use crate::agent::{Agent, Desk, in_state, listed, verdict};

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_agent_is_cut_off_within_a_second_and_what_it_asked_stays_decidable() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let bystander = desk.agent("bystander").await;
    let key = agent.ask(&agent.request("r1")).await;
    listed(&desk.app, "r1").await;
    let name = agent.enrolment.agent_key();
    let begun = Instant::now();
    desk.app.revoke(&name).await.unwrap();
    while agent.client.connection_state() == State::Connected {
        assert!(begun.elapsed() < Duration::from_secs(1), "still connected");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(bystander.client.connection_state(), State::Connected);
    let old = async_nats::ConnectOptions::with_nkey(agent.enrolment.nkey_seed.reveal().to_owned());
    assert!(old.connect(&agent.enrolment.nats_url).await.is_err());

    desk.app.decide(verdict(&key, Verdict::Deny)).await.unwrap();
    in_state(&desk.app, "r1", "decided").await;

    let again = Agent::connect(desk.app.enroll(&name).await.unwrap()).await;
    assert_ne!(again.enrolment.nkey_seed, agent.enrolment.nkey_seed);
    assert_eq!(again.decision("r1").await["verdict"], "deny");
    let key = again.ask(&again.request("r2")).await;
    listed(&desk.app, "r2").await;
    desk.app
        .decide(verdict(&key, Verdict::Approve))
        .await
        .unwrap();
    assert_eq!(again.decision("r2").await["verdict"], "approve");
    assert_eq!(agent.client.connection_state(), State::Disconnected);
    desk.app.shutdown().await;
}
