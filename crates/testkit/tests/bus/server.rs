//! The server that the console runs.

use countersign_core::bus::{EmbeddedServer, Publication, PublishOutcome, STREAMS};
use countersign_testkit::TestServer;

fn publication(subject: &str, payload: &str) -> Publication {
    Publication {
        subject: subject.into(),
        payload: payload.to_owned().into(),
        key: None,
        sig: None,
    }
}

#[tokio::test]
async fn it_starts_connects_creates_and_stores_once() {
    let server = TestServer::start().await;
    let bus = server.console().await;
    let identity = bus.ensure(true, 1).await.unwrap();
    assert_eq!(identity.differences, []);
    assert_eq!(
        identity.streams.iter().map(|s| s.name).collect::<Vec<_>>(),
        STREAMS
    );
    let mut intake = bus.subscribe("CS_DECISIONS", 1);
    let subject = "countersign.v1.decision.acme.bot.1";
    let first = bus.publish_once(publication(subject, "one")).await;
    assert_eq!(first, PublishOutcome::Stored { seq: 1 });
    let second = bus.publish_once(publication(subject, "two")).await;
    assert!(
        matches!(second, PublishOutcome::Refused { code: 10071, .. }),
        "{second:?}"
    );
    let message = intake.recv().await.unwrap();
    assert_eq!((message.seq, &message.payload[..]), (1, &b"one"[..]));
    let read = bus
        .read_last("CS_DECISIONS", subject)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((read.seq, read.stamp), (1, message.stamp));
    assert!(
        bus.read_last("CS_DECISIONS", "countersign.v1.decision.a.b.c")
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn a_second_server_on_the_same_store_is_refused() {
    let server = TestServer::start().await;
    let Err(error) = EmbeddedServer::start(server.config()).await else {
        panic!("two servers on one store");
    };
    assert_eq!(error.code(), "bus_store_locked");
}
