//! Reading streams: in order, each message once, whatever happens to the server.

use crate::server::{publication, until};
use bytes::Bytes;
use countersign_core::bus::{Bus, MAX_BATCH, Publication, PublishOutcome, drain_batch};
use countersign_testkit::TestServer;
use futures::{StreamExt, stream};
use std::time::Duration;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(30);

fn numbered(number: usize, size: usize) -> Publication {
    Publication {
        subject: format!("countersign.v1.decision.acme.bot.{number}"),
        payload: Bytes::from(vec![b'x'; size]),
        key: None,
        sig: None,
    }
}

/// As the outbox does: a missing answer is followed by reading the subject, then by another try.
async fn publish_until_stored(bus: &Bus, publication: Publication) {
    loop {
        match bus.publish_once(publication.clone()).await {
            PublishOutcome::Stored { .. } => return,
            PublishOutcome::Refused { code: 10071, .. } => return,
            PublishOutcome::Refused { .. } | PublishOutcome::NoAnswer => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

async fn publish_all(bus: &Bus, numbers: std::ops::Range<usize>) {
    stream::iter(numbers)
        .for_each_concurrent(200, |number| {
            publish_until_stored(bus, numbered(number, 200))
        })
        .await;
}

#[tokio::test]
async fn a_message_arrives_with_its_sequence_stamp_subject_headers_and_bytes() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let subject = "countersign.v1.decision.acme.bot.1";
    let mut intake = bus.subscribe("CS_DECISIONS", 1);
    let before = bus.clock().now();
    assert_eq!(
        bus.publish_once(publication(subject, "one")).await,
        PublishOutcome::Stored { seq: 1 }
    );
    let second = bus.publish_once(publication(subject, "two")).await;
    assert!(
        matches!(second, PublishOutcome::Refused { code: 10071, .. }),
        "{second:?}"
    );
    let message = timeout(LIMIT, intake.recv()).await.unwrap().unwrap();
    assert_eq!(
        (&*message.stream, message.seq, &*message.subject),
        ("CS_DECISIONS", 1, subject)
    );
    assert_eq!(
        (message.key.as_deref(), message.sig.as_deref()),
        (Some("UKEY"), Some("sig"))
    );
    assert_eq!(&message.payload[..], b"one");
    assert!((message.stamp - before).abs() < time::Duration::seconds(1));
    let read = bus
        .read_last("CS_DECISIONS", subject)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (read.seq, read.stamp, read.payload),
        (1, message.stamp, message.payload)
    );
    assert_eq!((read.key, read.sig), (message.key, message.sig));
    let nothing = bus
        .read_last("CS_DECISIONS", "countersign.v1.decision.a.b.c")
        .await
        .unwrap();
    assert!(nothing.is_none());
}

#[tokio::test]
async fn reading_starts_at_the_wanted_sequence() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    publish_all(&bus, 0..50).await;
    for (from, first) in [(0, 1), (1, 1), (20, 20), (50, 50)] {
        let mut intake = bus.subscribe("CS_DECISIONS", from);
        assert_eq!(
            timeout(LIMIT, intake.recv()).await.unwrap().unwrap().seq,
            first
        );
    }
    let mut intake = bus.subscribe("CS_DECISIONS", 51);
    assert!(
        timeout(Duration::from_millis(200), intake.recv())
            .await
            .is_err()
    );
    publish_all(&bus, 50..51).await;
    assert_eq!(
        timeout(LIMIT, intake.recv()).await.unwrap().unwrap().seq,
        51
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_under_load_loses_repeats_and_reorders_nothing() {
    const MESSAGES: usize = 6_000;
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let mut intake = bus.subscribe("CS_DECISIONS", 1);
    let publisher = tokio::spawn({
        let bus = bus.clone();
        async move { publish_all(&bus, 0..MESSAGES).await }
    });
    let mut read = Vec::new();
    let mut kills = 0;
    while read.len() < MESSAGES {
        let batch = timeout(LIMIT, drain_batch(&mut intake, MAX_BATCH))
            .await
            .unwrap();
        assert!((1..=MAX_BATCH).contains(&batch.len()));
        read.extend(
            batch
                .into_iter()
                .map(|message| (message.seq, message.subject)),
        );
        if kills < 3 && read.len() > (kills + 1) * MESSAGES / 5 {
            kills += 1;
            until("the server", async || server.embedded().pid().is_some()).await;
            server.kill9();
        }
    }
    publisher.await.unwrap();
    assert_eq!(kills, 3);
    let sequences: Vec<u64> = read.iter().map(|(seq, _)| *seq).collect();
    assert!(
        sequences.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "gap or disorder"
    );
    assert_eq!((sequences[0], sequences.len()), (1, MESSAGES));
    assert_eq!(
        bus.last_sequence("CS_DECISIONS").await.unwrap(),
        MESSAGES as u64
    );
    let mut subjects: Vec<&str> = read.iter().map(|(_, subject)| &**subject).collect();
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!(subjects.len(), MESSAGES);
}

#[tokio::test]
async fn a_deleted_consumer_and_a_gap_in_the_stream_are_survived() {
    let mut server = TestServer::start().await;
    let agent = server.agent("acme", "bot").await;
    let bus = server.console_with_streams().await;
    let admin = async_nats::ConnectOptions::with_nkey(server.console_key().seed.clone())
        .connect(server.url())
        .await
        .unwrap();
    let requests = async_nats::jetstream::new(admin)
        .get_stream("CS_REQUESTS")
        .await
        .unwrap();
    let client = agent.connect().await;
    let send = async |id: &str| {
        client
            .request(agent.subject("request", id), "{}".into())
            .await
            .unwrap();
    };
    for id in ["1", "2", "3", "4"] {
        send(id).await;
    }
    requests.delete_message(2).await.unwrap();
    let mut intake = bus.subscribe("CS_REQUESTS", 1);
    let mut next = async || timeout(LIMIT, intake.recv()).await.unwrap().unwrap().seq;
    assert_eq!([next().await, next().await, next().await], [1, 3, 4]);
    let names: Vec<_> = requests.consumer_names().collect().await;
    for name in names {
        requests.delete_consumer(&name.unwrap()).await.unwrap();
    }
    send("5").await;
    assert_eq!(next().await, 5);
}

#[tokio::test]
async fn a_slow_reader_loses_nothing_and_bounds_what_waits() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    // 120 MiB, far more than may wait.
    for number in 0..40 {
        publish_until_stored(&bus, numbered(number, 3 * 1024 * 1024)).await;
    }
    let mut intake = bus.subscribe("CS_DECISIONS", 1);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(
        intake.len() <= 22,
        "{} messages of 3 MiB wait",
        intake.len()
    );
    for seq in 1..=40 {
        assert_eq!(
            timeout(LIMIT, intake.recv()).await.unwrap().unwrap().seq,
            seq
        );
    }
}

#[tokio::test]
async fn consumers_end_with_their_reader() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    publish_all(&bus, 0..1).await;
    let admin = async_nats::ConnectOptions::with_nkey(server.console_key().seed.clone())
        .connect(server.url())
        .await
        .unwrap();
    let decisions = async_nats::jetstream::new(admin)
        .get_stream("CS_DECISIONS")
        .await
        .unwrap();
    let mut intake = bus.subscribe("CS_DECISIONS", 1);
    timeout(LIMIT, intake.recv()).await.unwrap().unwrap();
    until("a consumer", async || {
        decisions.consumer_names().count().await == 1
    })
    .await;
    drop(intake);
    until("the end of the consumer", async || {
        decisions.consumer_names().count().await == 0
    })
    .await;
}

#[tokio::test]
async fn closing_the_bus_ends_its_readers() {
    let server = TestServer::start().await;
    let bus = server.console_with_streams().await;
    let mut intake = bus.subscribe("CS_DECISIONS", 1);
    let mut watch = bus.policy_watch(1);
    bus.close().await;
    assert!(timeout(LIMIT, intake.recv()).await.unwrap().is_none());
    assert!(
        timeout(LIMIT, watch.changes.recv())
            .await
            .unwrap()
            .is_none()
    );
    until("the end of the connection", async || {
        !bus.state().borrow().connected
    })
    .await;
}
