//! Messages that an enrolled agent may send and that the client library cannot read: it drops the connection.

use crate::server::{publication, until};
use countersign_core::bus::{BusEvent, PublishOutcome};
use countersign_testkit::TestServer;
use futures::StreamExt;
use std::time::Duration;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(30);

const NO_UTF8: &[u8] = b"NATS/1.0\r\nX: \xff\xfe\r\n\r\n";

/// The client ends with a panic at this one.
const ENDS_THE_CLIENT: &[u8] = b"NATS/1.0\r\nX: a\rb\r\n\r\n";

/// Header blocks that the server stores.
const HEADERS: [&[u8]; 22] = [
    ENDS_THE_CLIENT,
    NO_UTF8,
    b"NATS/1.0\r\nFoo\r\n\r\n",
    b"NATS/1.0\r\nA B: v\r\n\r\n",
    b"NATS/1.0\r\nA\0: v\r\n\r\n",
    b"NATS/1.0\r\n: v\r\n\r\n",
    b"NATS/1.0\r\n w\r\n\r\n",
    b"NATS/1.0\r\nA: v\r\n w\r\n\r\n",
    b"NATS/1.0\r\nA: b",
    b"NATS/1.0\r\n\r\n",
    b"NATS/1.0 abc\r\n\r\n",
    b"NATS/1.0 100 Idle Heartbeat\r\n\r\n",
    b"NATS/1.0 100 FlowControl Request\r\n\r\n",
    b"NATS/1.0 404 No Messages\r\n\r\n",
    b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: x\r\n\r\n",
    b"NATS/1.0 409 Consumer Deleted\r\n\r\n",
    b"NATS/1.0 409 Message Size Exceeds MaxBytes\r\n\r\n",
    b"NATS/1.0 423 x\r\n\r\n",
    b"NATS/1.0 503\r\n\r\n",
    b"NATS/1.0\r\nCS-Key: a\r\nCS-Key: b\r\n\r\n",
    b"NATS/1.0\r\nNats-Sequence: 1\r\nNats-Stream: CS_DECISIONS\r\n\r\n",
    b"HELLO\r\n\r\n",
];

/// What comes in the place of a request's id; the server takes these bytes.
const IDS: [&[u8]; 7] = [
    b"\xff\xfe",
    b"\xc3",
    "a\u{a0}b".as_bytes(),
    "\u{2028}".as_bytes(),
    b"a\x0bb",
    "\u{fffd}".as_bytes(),
    "é".as_bytes(),
];

/// Until a consumer of `CS_REQUESTS` waits for messages.
async fn waiting(server: &TestServer) {
    let admin = async_nats::ConnectOptions::with_nkey(server.console_key().seed.clone())
        .connect(server.url())
        .await
        .unwrap();
    let requests = async_nats::jetstream::new(admin)
        .get_stream("CS_REQUESTS")
        .await
        .unwrap();
    until("a consumer that waits", async || {
        let mut consumers = requests.consumers();
        while let Some(consumer) = consumers.next().await {
            if consumer.unwrap().num_waiting > 0 {
                return true;
            }
        }
        false
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_client_cannot_read_is_read_all_the_same() {
    let mut server = TestServer::start().await;
    let agent = server.agent("acme", "bot").await;
    let _streams = server.console_with_streams().await;
    let mut raw = agent.connect_raw().await;
    let mut sent: Vec<(Vec<u8>, &[u8])> = Vec::new();
    for headers in HEADERS {
        let subject = agent.subject("request", &format!("h{}", sent.len()));
        sent.push((subject.into_bytes(), headers));
    }
    for id in IDS {
        let subject = agent.subject("request", "");
        sent.push(([subject.as_bytes(), b".", id].concat(), b""));
    }
    for (number, (subject, headers)) in (1..).zip(sent) {
        let reported = format!("{} {}", headers.escape_ascii(), subject.escape_ascii());
        let payload = number.to_string();
        // A console that waits for it, and one that meets it when it starts. None needs a later message.
        let waits = server.console().await;
        let mut intake = waits.subscribe("CS_REQUESTS", number);
        waiting(&server).await;
        assert_eq!(
            raw.store(&subject, headers, payload.as_bytes()).await,
            number,
            "{reported}"
        );
        let starts = server.console().await;
        for intake in [&mut intake, &mut starts.subscribe("CS_REQUESTS", number)] {
            let message = timeout(LIMIT, intake.recv())
                .await
                .expect(&reported)
                .unwrap();
            let read = (message.seq, &*message.payload, &*message.subject);
            let lossy = String::from_utf8_lossy(&subject);
            assert_eq!(read, (number, payload.as_bytes(), &*lossy), "{reported}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_full_of_what_cannot_be_read_is_read_to_its_end_in_order() {
    let mut server = TestServer::start().await;
    let agent = server.agent("acme", "bot").await;
    let bus = server.console_with_streams().await;
    let mut raw = agent.connect_raw().await;
    let large = vec![b'x'; 3 * 1024 * 1024];
    const MESSAGES: u64 = 600;
    for number in 1..=MESSAGES {
        let headers: &[u8] = if number % 3 == 0 { NO_UTF8 } else { b"" };
        let payload = if number == 300 { &large[..] } else { b"{}" };
        let subject = agent.subject("request", &number.to_string());
        raw.store(subject.as_bytes(), headers, payload).await;
    }
    let mut intake = bus.subscribe("CS_REQUESTS", 1);
    for number in 1..=MESSAGES {
        let message = timeout(LIMIT, intake.recv()).await.unwrap().unwrap();
        assert_eq!(message.seq, number);
        assert_eq!(message.unreadable, number % 3 == 0, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signs_of_life_that_cannot_be_read_hold_up_neither_streams_nor_what_is_published() {
    let mut server = TestServer::start().await;
    let agent = server.agent("acme", "bot").await;
    let other = server.agent("acme", "other").await;
    let bus = server.console_with_streams().await;
    let mut intake = bus.subscribe("CS_REQUESTS", 1);
    let mut signs = bus.subscribe_heartbeats();
    let reconnects = *bus.reconnected().borrow();
    let mut events = bus.events();
    let mut raw = agent.connect_raw().await;
    let subject = agent.subject("alive", "");
    let flood = tokio::spawn(async move {
        loop {
            for headers in [NO_UTF8, ENDS_THE_CLIENT] {
                raw.publish(subject.as_bytes(), headers, b"{\"v\":1}").await;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    });
    let client = other.connect().await;
    for number in 1..=40 {
        let id = number.to_string();
        let sent = client.request(other.subject("request", &id), "{}".into());
        sent.await.unwrap();
        let message = timeout(Duration::from_secs(5), intake.recv()).await;
        assert_eq!(message.expect("a request in time").unwrap().seq, number);
        let decision = publication(&other.subject("decision", &id), "{}");
        let outcome = bus.publish_once(decision).await;
        assert_eq!(outcome, PublishOutcome::Stored { seq: number });
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    let reported = async { while events.recv().await.unwrap() != BusEvent::DeliveryLost {} };
    timeout(LIMIT, reported).await.unwrap();
    assert!(!flood.is_finished(), "it was sent all the time");
    flood.abort();
    assert_eq!(*bus.reconnected().borrow(), reconnects);
    let heard = async {
        loop {
            let sign = other.subject("alive", "");
            client.publish(sign, "{}".into()).await.unwrap();
            let sign = timeout(Duration::from_millis(50), signs.recv()).await;
            if let Ok(sign) = sign {
                return sign.unwrap().subject;
            }
        }
    };
    let sign = timeout(LIMIT, heard).await.unwrap();
    assert_eq!(sign, other.subject("alive", ""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signatures_in_headers_that_cannot_be_read_are_none() {
    let mut server = TestServer::start().await;
    let agent = server.agent("acme", "bot").await;
    let bus = server.console_with_streams().await;
    let mut raw = agent.connect_raw().await;
    let mut intake = bus.subscribe("CS_REQUESTS", 1);
    for (number, (tail, signed)) in [
        (&b"\r\n"[..], true),
        (b"X: 1\r\n 2\r\n\r\n", true),
        (b"X: \xff\r\n\r\n", false),
        (b"Foo\r\n\r\n", false),
        (b"X: a\rb\r\n\r\n", false),
    ]
    .into_iter()
    .enumerate()
    {
        let headers = [b"NATS/1.0\r\nCS-Key: a\r\nCS-Sig: b\r\n", tail].concat();
        let subject = agent.subject("request", &number.to_string());
        raw.store(subject.as_bytes(), &headers, b"{}").await;
        let message = timeout(LIMIT, intake.recv()).await.unwrap().unwrap();
        let again = bus
            .read_last("CS_REQUESTS", &subject)
            .await
            .unwrap()
            .unwrap();
        for read in [message, again] {
            let reported = (read.key.as_deref(), read.sig.as_deref());
            let expected = if signed {
                (Some("a"), Some("b"))
            } else {
                (None, None)
            };
            assert_eq!(reported, expected, "{}", tail.escape_ascii());
        }
    }
}
