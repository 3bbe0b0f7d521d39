#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod json_forms;
mod over_grpc;
mod over_http;
mod weights;

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::Mutex;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{FutureExt as _, StreamExt as _};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::*;

/// Keeps what it is given, as slowly as the test wants.
struct Kept {
    events: Mutex<Vec<Event>>,
    fails: Option<&'static str>,
    /// One permit for each store.
    gate: Semaphore,
    /// Stores that were begun.
    begun: watch::Sender<usize>,
}

impl Kept {
    fn new(fails: Option<&'static str>, stores: usize) -> Arc<Self> {
        Arc::new(Self {
            events: Mutex::default(),
            fails,
            gate: Semaphore::new(stores),
            begun: watch::Sender::new(0),
        })
    }

    fn count(&self) -> usize {
        self.events.lock().unwrap().len()
    }
}

impl Sink for Kept {
    fn store(&self, events: Vec<Event>) -> Storing<'_> {
        Box::pin(async move {
            self.begun.send_modify(|begun| *begun += 1);
            self.gate.acquire().await.unwrap().forget();
            if let Some(why) = self.fails {
                return Err(NotStored { why: why.into() });
            }
            self.events.lock().unwrap().extend(events);
            Ok(())
        })
    }
}

fn options() -> Options {
    let loopback = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let token = Sha256Digest::of_bytes(b"0123456789abcdef");
    Options {
        http: loopback,
        grpc: loopback,
        allow_remote: false,
        require_token: false,
        workspace: "default".parse().unwrap(),
        tokens: [(token, "acme/billing-bot".parse().unwrap())].into(),
    }
}

fn request(spans: usize) -> ExportTraceServiceRequest {
    let span = |number: usize| Span {
        trace_id: vec![7; 16],
        span_id: (number as u64 + 1).to_be_bytes().to_vec(),
        name: format!("span {number}"),
        start_time_unix_nano: 1_800_000_000_000_000_000,
        ..Span::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            scope_spans: vec![ScopeSpans {
                spans: (0..spans).map(span).collect(),
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

fn zipped(plain: &[u8]) -> Vec<u8> {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(plain).unwrap();
    zip.finish().unwrap()
}

#[tokio::test]
async fn an_address_that_others_can_reach_is_refused_unless_that_is_wanted() {
    let open = |allow_remote| Options {
        http: Some(SocketAddr::from(([0, 0, 0, 0], 0))),
        grpc: None,
        allow_remote,
        ..options()
    };
    let refused = Receiver::start(open(false), Kept::new(None, 1)).await;
    assert!(matches!(refused, Err(ReceiverError::NotLoopback(_))));
    let receiver = Receiver::start(open(true), Kept::new(None, 1))
        .await
        .unwrap();
    receiver.stop().await;
}

#[tokio::test]
async fn a_taken_address_is_named() {
    let first = Receiver::start(options(), Kept::new(None, 1))
        .await
        .unwrap();
    let again = Options {
        http: first.http,
        ..options()
    };
    let error = Receiver::start(again, Kept::new(None, 1))
        .await
        .unwrap_err();
    assert!(error.to_string().contains(&first.http.unwrap().to_string()));
    first.stop().await;
}

#[tokio::test]
async fn what_was_taken_is_stored_before_the_receiver_stops() {
    let sink = Kept::new(None, 0);
    let receiver = Receiver::start(options(), Arc::clone(&sink) as _)
        .await
        .unwrap();
    let address = receiver.http.unwrap();
    let asking = tokio::spawn(async move {
        let json = serde_json::to_vec(&request(3)).unwrap();
        over_http::post(address, &[("content-type", "application/json")], &json).await
    });
    // The sink holds it: it was taken and is not answered.
    sink.begun
        .subscribe()
        .wait_for(|begun| *begun == 1)
        .await
        .unwrap();
    let stopping = tokio::spawn(receiver.stop());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!stopping.is_finished());
    sink.gate.add_permits(1);
    let answer = asking.await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    stopping.await.unwrap();
    assert_eq!(sink.count(), 3);
}

#[tokio::test]
async fn no_more_connections_than_the_limit_are_accepted_of_both_ports_together() {
    let all = connections::Connections::new();
    let (mut streams, mut kept, mut accepted) = (Vec::new(), Vec::new(), VecDeque::new());
    for _ in 0..2 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for _ in 0..connections::CONNECTIONS {
            kept.push(TcpStream::connect(address).await.unwrap());
        }
        streams.push(Box::pin(all.clone().of(listener)));
    }
    for number in 0..connections::CONNECTIONS {
        accepted.push_back(streams[number % 2].next().await);
    }
    for stream in &mut streams {
        assert!(stream.next().now_or_never().is_none());
    }
    accepted.pop_front();
    assert!(streams[0].next().await.is_some());
}

/// The clock is paused: it goes on when everybody waits.
#[tokio::test(start_paused = true)]
async fn a_connection_that_sends_no_request_is_closed() {
    let sink = Kept::new(None, 10);
    let receiver = Receiver::start(options(), Arc::clone(&sink) as _)
        .await
        .unwrap();
    let (http, grpc) = (receiver.http.unwrap(), receiver.grpc.unwrap());
    for (port, begun) in [
        (http, "POST /v1/traces HTTP/1.1\r\nHost: x\r\n"),
        (http, ""),
        (grpc, "PRI * HTTP"),
        (grpc, ""),
        // Empty SETTINGS, and no answer to what it is asked at its end.
        (
            grpc,
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0",
        ),
    ] {
        let mut stream = TcpStream::connect(port).await.unwrap();
        stream.write_all(begun.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        let ended = tokio::time::timeout(Duration::from_secs(120), ended).await;
        assert!(ended.is_ok(), "{port} {begun:?} stays open");
    }
    receiver.stop().await;
}
