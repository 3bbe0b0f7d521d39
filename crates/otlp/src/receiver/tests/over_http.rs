//! The receiver over HTTP, spoken to in plain bytes.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::status::RpcStatus;
use super::*;

pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines();
        lines
            .filter_map(|line| line.split_once(": "))
            .find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
    }
}

pub(super) async fn post(address: SocketAddr, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    send(address, "POST /v1/traces", headers, body).await
}

async fn send(address: SocketAddr, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut head = format!(
        "{line} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    // A receiver that has refused reads no further.
    let _ = stream.write_all(body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let end = answer.windows(4).position(|at| at == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        head,
        body: answer[end + 4..].to_vec(),
    }
}

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
const JSON: (&str, &str) = ("content-type", "application/json; charset=utf-8");
const GZIP: (&str, &str) = ("content-encoding", "gzip");

async fn receiver(sink: &Arc<Kept>, options: Options) -> (Receiver, SocketAddr) {
    let receiver = Receiver::start(options, Arc::clone(sink) as _)
        .await
        .unwrap();
    let address = receiver.http.unwrap();
    (receiver, address)
}

#[tokio::test]
async fn protobuf_and_json_plain_and_zipped_are_stored_before_they_are_answered() {
    let sink = Kept::new(None, 10);
    let (receiver, address) = receiver(&sink, options()).await;
    let (protobuf, json) = (
        request(2).encode_to_vec(),
        serde_json::to_vec(&request(2)).unwrap(),
    );
    for (number, (headers, body)) in [
        (vec![PROTOBUF], protobuf.clone()),
        (vec![PROTOBUF, GZIP], zipped(&protobuf)),
        (vec![JSON], json.clone()),
        (vec![JSON, GZIP], zipped(&json)),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = post(address, &headers, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(sink.count(), (number + 1) * 2);
        let kind = answer.header("content-type").unwrap();
        if headers[0] == PROTOBUF {
            assert_eq!(kind, "application/x-protobuf");
            let read = ExportTraceServiceResponse::decode(answer.body.as_slice()).unwrap();
            assert_eq!(read.partial_success, None);
        } else {
            assert_eq!((kind, answer.text().as_str()), ("application/json", "{}"));
        }
    }
    receiver.stop().await;
    let events = sink.events.lock().unwrap();
    assert!(
        events
            .iter()
            .all(|event| event.payload == events[0].payload || event.payload == events[1].payload)
    );
}

#[tokio::test]
async fn spans_that_cannot_be_taken_are_a_partial_success() {
    let sink = Kept::new(None, 10);
    let (receiver, address) = receiver(&sink, options()).await;
    let mut request = request(3);
    request.resource_spans[0].scope_spans[0].spans[1]
        .trace_id
        .clear();
    let answer = post(address, &[JSON], &serde_json::to_vec(&request).unwrap()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["partialSuccess"]["rejectedSpans"], "1");
    let answer = post(address, &[PROTOBUF], &request.encode_to_vec()).await;
    let read = ExportTraceServiceResponse::decode(answer.body.as_slice()).unwrap();
    let partial = read.partial_success.unwrap();
    assert_eq!(partial.rejected_spans, 1);
    assert!(partial.error_message.contains("trace_id"));
    assert_eq!(sink.count(), 4);
    receiver.stop().await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_a_status_of_the_same_form() {
    let sink = Kept::new(None, 10);
    let (receiver, address) = receiver(&sink, options()).await;
    let bomb = zipped(&vec![0; BODY_MAX + 2]);
    for (headers, body, status) in [
        (vec![("content-type", "text/plain")], b"{}".to_vec(), 415),
        (vec![], b"{}".to_vec(), 415),
        (vec![JSON, ("content-encoding", "br")], b"{}".to_vec(), 415),
        (vec![JSON], b"{\"resourceSpans\": 3}".to_vec(), 400),
        (vec![JSON], vec![b'['; 100_000], 400),
        (vec![PROTOBUF], vec![0xff; 64], 400),
        (vec![PROTOBUF, GZIP], b"no gzip".to_vec(), 400),
        (vec![PROTOBUF, GZIP], bomb, 413),
        (vec![JSON], vec![b'{'; 500_000], 413),
        (
            vec![JSON, ("origin", "http://evil.example")],
            b"{}".to_vec(),
            403,
        ),
        (
            vec![JSON, ("authorization", "Bearer wrong")],
            b"{}".to_vec(),
            401,
        ),
        (
            vec![JSON, ("authorization", "Basic eA==")],
            b"{}".to_vec(),
            401,
        ),
    ] {
        let answer = post(address, &headers, &body).await;
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.text());
        assert_eq!(answer.header("retry-after"), None);
        if headers.first() == Some(&PROTOBUF) {
            let read = RpcStatus::decode(answer.body.as_slice()).unwrap();
            assert!(!read.message.is_empty() && read.details.is_empty());
        } else {
            assert!(
                answer.json()["message"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty())
            );
        }
    }
    let large = vec![b' '; BODY_MAX + 1];
    assert_eq!(post(address, &[JSON], &large).await.status, 413);
    assert_eq!(send(address, "GET /v1/traces", &[], b"").await.status, 405);
    for line in ["POST /v1/logs", "POST /v1/metrics", "GET /"] {
        for headers in [&[JSON][..], &[]] {
            let answer = send(address, line, headers, b"{}").await;
            let message = answer.json()["message"].as_str().map(str::to_owned);
            assert_eq!(
                (answer.status, &answer.json()["code"]),
                (404, &Value::from(5)),
                "{line}"
            );
            assert!(
                message.is_some_and(|text| text.contains("/v1/traces")),
                "{line}"
            );
        }
        let answer = send(address, line, &[PROTOBUF], b"").await;
        let read = RpcStatus::decode(answer.body.as_slice()).unwrap();
        assert_eq!((answer.status, read.code), (404, 5), "{line}");
        assert_eq!(answer.header("content-type"), Some(PROTOBUF.1), "{line}");
        assert!(read.message.contains("/v1/traces"), "{line}");
    }
    assert_eq!(sink.count(), 0);
    receiver.stop().await;
}

#[tokio::test]
async fn a_token_names_its_agent_and_can_be_asked_for() {
    let sink = Kept::new(None, 10);
    let strict = Options {
        require_token: true,
        ..options()
    };
    let (receiver, address) = receiver(&sink, strict).await;
    let body = request(1).encode_to_vec();
    let answer = post(address, &[PROTOBUF], &body).await;
    assert_eq!(answer.status, 401);
    let token = ("authorization", "bearer 0123456789abcdef");
    assert_eq!(post(address, &[PROTOBUF, token], &body).await.status, 200);
    let agent = sink.events.lock().unwrap()[0].agent.to_string();
    assert_eq!(agent, "acme/billing-bot");
    receiver.stop().await;
}

#[tokio::test]
async fn a_store_that_cannot_take_it_sends_the_sender_away_for_a_while() {
    let sink = Kept::new(Some("the bus cannot be reached"), 10);
    let (receiver, address) = receiver(&sink, options()).await;
    let answer = post(address, &[JSON], &serde_json::to_vec(&request(1)).unwrap()).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert_eq!(answer.json()["message"], "the bus cannot be reached");
    receiver.stop().await;
}

#[tokio::test]
async fn more_requests_than_fit_are_sent_away_and_the_others_are_stored() {
    let sink = Kept::new(None, 0);
    let (receiver, address) = receiver(&sink, options()).await;
    let body = Arc::new(request(1).encode_to_vec());
    let asking: Vec<_> = (0..12)
        .map(|_| {
            let body = Arc::clone(&body);
            tokio::spawn(async move { post(address, &[PROTOBUF], &body).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    sink.gate.add_permits(100);
    let mut statuses = Vec::new();
    for one in asking {
        let answer = one.await.unwrap();
        if answer.status == 429 {
            assert_eq!(answer.header("retry-after"), Some("1"));
        }
        statuses.push(answer.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [[200; 8].as_slice(), &[429; 4]].concat());
    assert_eq!(sink.count(), 8);
    receiver.stop().await;
}
