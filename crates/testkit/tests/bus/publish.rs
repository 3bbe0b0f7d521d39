//! Publishing and heartbeats.

use crate::server::{publication, until};
use countersign_core::bus::{Publication, PublishOutcome};
use countersign_testkit::TestServer;
use futures::{StreamExt, stream};
use std::collections::BTreeSet;
use std::time::Duration;

#[tokio::test]
async fn a_thousand_in_flight_are_each_stored_once() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let outcomes: Vec<_> = stream::iter(0..3_000)
        .map(|number| {
            bus.publish_once(publication(
                &format!("countersign.v1.decision.a.b.{number}"),
                "x",
            ))
        })
        .buffer_unordered(1_000)
        .collect()
        .await;
    let sequences: BTreeSet<u64> = outcomes
        .iter()
        .map(|outcome| match outcome {
            PublishOutcome::Stored { seq } => *seq,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sequences, (1..=3_000).collect());
}

#[tokio::test]
async fn of_two_consoles_exactly_one_is_told_stored() {
    let server = TestServer::start().await;
    let first = server.console_with_streams().await;
    let second = server.console().await;
    for number in 0..50 {
        let subject = format!("countersign.v1.decision.a.b.{number}");
        let (one, two) = tokio::join!(
            first.publish_once(publication(&subject, "one")),
            second.publish_once(publication(&subject, "two"))
        );
        let stored = |outcome: &PublishOutcome| matches!(outcome, PublishOutcome::Stored { .. });
        assert!(stored(&one) != stored(&two), "{one:?} {two:?}");
        let kept = first
            .read_last("CS_DECISIONS", &subject)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            &kept.payload[..],
            if stored(&one) { &b"one"[..] } else { b"two" }
        );
    }
}

#[tokio::test]
async fn what_the_server_cannot_take_is_refused_and_what_is_not_sent_is_no_answer() {
    let mut server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let too_large = Publication {
        subject: "countersign.v1.decision.a.b.1".into(),
        payload: vec![0; 5 * 1024 * 1024].into(),
        key: None,
        sig: None,
    };
    let outcome = bus.publish_once(too_large).await;
    assert!(
        matches!(outcome, PublishOutcome::Refused { code: 0, .. }),
        "{outcome:?}"
    );
    let mut injected = publication("countersign.v1.decision.a.b.1", "x");
    injected.sig = Some("a\r\nNats-Rollup: all".into());
    let outcome = bus.publish_once(injected).await;
    assert!(
        matches!(outcome, PublishOutcome::Refused { code: 0, .. }),
        "{outcome:?}"
    );
    let nowhere = bus
        .publish_once(publication("countersign.v1.unknown.a.b", "x"))
        .await;
    assert_eq!(nowhere, PublishOutcome::NoAnswer);
    let mut connected = bus.state();
    let url = server.url();
    server.stop().await;
    connected.wait_for(|state| !state.connected).await.unwrap();
    let outcome = bus
        .publish_once(publication("countersign.v1.decision.a.b.2", "x"))
        .await;
    assert_eq!(outcome, PublishOutcome::NoAnswer);
    let error = bus
        .read_last("CS_DECISIONS", "countersign.v1.decision.a.b.2")
        .await
        .unwrap_err();
    assert_eq!(error.code(), "bus_disconnected");
    server.restart().await;
    assert_eq!(server.url(), url);
    until("the connection", async || bus.state().borrow().connected).await;
    // What was not sent then is not sent later.
    assert_eq!(bus.last_sequence("CS_DECISIONS").await.unwrap(), 0);
}

#[tokio::test]
async fn anchors_pile_up_on_one_subject() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    for seq in 1..=3 {
        let outcome = bus.publish_anchor("console-1", "{}".into()).await;
        assert_eq!(outcome, PublishOutcome::Stored { seq });
    }
}

#[tokio::test]
async fn signs_of_life_arrive_before_and_after_a_restart() {
    let mut server = TestServer::start().await;
    let agent = server.agent("acme", "bot").await;
    let bus = server.console().await;
    let mut signs = bus.subscribe_heartbeats();
    let client = agent.connect().await;
    let subject = agent.subject("alive", "");
    for round in 0..2 {
        let heard = async {
            loop {
                client
                    .publish(subject.clone(), r#"{"v":1}"#.into())
                    .await
                    .unwrap();
                if let Ok(Some(sign)) =
                    tokio::time::timeout(Duration::from_millis(50), signs.recv()).await
                {
                    return sign;
                }
            }
        };
        let sign = tokio::time::timeout(Duration::from_secs(20), heard)
            .await
            .unwrap();
        assert_eq!(
            (&*sign.subject, &sign.payload[..]),
            (&*subject, &br#"{"v":1}"#[..])
        );
        assert!((sign.at - bus.clock().now()).abs() < time::Duration::seconds(1));
        if round == 0 {
            server.restart().await;
        }
    }
}
