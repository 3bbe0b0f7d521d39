//! The receiver over gRPC, with the client that opentelemetry-proto generates.

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::SERVICE_NAME;
use prost::Message as _;
use tonic::client::Grpc;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use super::super::status::RpcStatus;
use super::*;

async fn client(receiver: &Receiver) -> TraceServiceClient<Channel> {
    let address = receiver.grpc.unwrap();
    TraceServiceClient::connect(format!("http://{address}"))
        .await
        .unwrap()
}

#[tokio::test]
async fn plain_and_zipped_calls_are_stored_before_they_are_answered() {
    let sink = Kept::new(None, 10);
    let receiver = Receiver::start(options(), Arc::clone(&sink) as _)
        .await
        .unwrap();
    let mut plain = client(&receiver).await;
    let mut zipped = plain.clone().send_compressed(CompressionEncoding::Gzip);
    let mut partly = request(3);
    partly.resource_spans[0].scope_spans[0].spans[0]
        .span_id
        .clear();
    let answer = plain.export(request(2)).await.unwrap().into_inner();
    assert_eq!((answer.partial_success, sink.count()), (None, 2));
    let answer = zipped.export(partly).await.unwrap().into_inner();
    assert_eq!(answer.partial_success.unwrap().rejected_spans, 1);
    assert_eq!(sink.count(), 4);
    drop((plain, zipped));
    receiver.stop().await;
}

#[tokio::test]
async fn tokens_are_read_from_the_metadata() {
    let sink = Kept::new(None, 10);
    let receiver = Receiver::start(options(), Arc::clone(&sink) as _)
        .await
        .unwrap();
    let mut client = client(&receiver).await;
    let with = |token: &'static str| {
        let mut request = Request::new(request(1));
        request
            .metadata_mut()
            .insert("authorization", token.parse().unwrap());
        request
    };
    client
        .export(with("Bearer 0123456789abcdef"))
        .await
        .unwrap();
    assert_eq!(
        sink.events.lock().unwrap()[0].agent.to_string(),
        "acme/billing-bot"
    );
    let refused = client.export(with("Bearer no")).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    drop(client);
    receiver.stop().await;
}

/// The clock is paused: it goes on when everybody waits.
#[tokio::test(start_paused = true)]
async fn a_call_of_a_sender_that_keeps_its_connection_is_answered_however_old_that_is() {
    let sink = Kept::new(None, 1);
    let receiver = Receiver::start(options(), Arc::clone(&sink) as _)
        .await
        .unwrap();
    let client = client(&receiver).await;
    client.clone().export(request(1)).await.unwrap();
    // In flight when the first connection is 60 s old, then 100 s.
    for (seconds, stored) in [(50, 2), (25, 3), (10, 4)] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let mut sender = client.clone();
        let call = tokio::spawn(async move { sender.export(request(1)).await });
        tokio::time::sleep(Duration::from_secs(15)).await;
        sink.gate.add_permits(1);
        let answer = call.await.unwrap();
        assert!(answer.is_ok(), "{answer:?}");
        assert_eq!(sink.count(), stored);
    }
    drop(client);
    receiver.stop().await;
}

/// Of a call whose body never comes.
struct Nothing;

impl Codec for Nothing {
    type Encode = ();
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self::Encoder {
        Self
    }

    fn decoder(&mut self) -> Self::Decoder {
        Self
    }
}

impl Encoder for Nothing {
    type Item = ();
    type Error = Status;

    fn encode(&mut self, (): (), _: &mut EncodeBuf<'_>) -> Result<(), Status> {
        Ok(())
    }
}

impl Decoder for Nothing {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, _: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        Ok(None)
    }
}

#[tokio::test]
async fn strangers_are_refused_before_their_bodies_arrive_and_hold_no_turn() {
    let sink = Kept::new(None, 1);
    let options = Options {
        require_token: true,
        ..options()
    };
    let receiver = Receiver::start(options, Arc::clone(&sink) as _)
        .await
        .unwrap();
    let address = format!("http://{}", receiver.grpc.unwrap());
    let channel = Channel::from_shared(address).unwrap().connect().await;
    let channel = channel.unwrap();
    let export = format!("/{}/Export", SERVICE_NAME);
    for token in [None, Some("Bearer no"), Some("Basic 0123456789abcdef")] {
        let mut request = Request::new(tonic::codegen::tokio_stream::pending());
        if let Some(token) = token {
            let token = token.parse().unwrap();
            request.metadata_mut().insert("authorization", token);
        }
        let mut stranger = Grpc::new(channel.clone());
        stranger.ready().await.unwrap();
        let path = PathAndQuery::from_maybe_shared(export.clone()).unwrap();
        let call = stranger.client_streaming::<_, (), (), _>(request, path, Nothing);
        let refused = tokio::time::timeout(Duration::from_secs(10), call).await;
        let refused = refused.expect("the body is not awaited").unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated, "{token:?}");
    }
    drop(channel);
    receiver.stop().await;
}

#[tokio::test]
async fn a_sender_is_told_when_to_try_again() {
    for (fails, stores, code, seconds) in [
        (Some("the bus cannot be reached"), 1, Code::Unavailable, 5),
        (None, 0, Code::ResourceExhausted, 1),
    ] {
        let sink = Kept::new(fails, stores);
        let receiver = Receiver::start(options(), Arc::clone(&sink) as _)
            .await
            .unwrap();
        let client = client(&receiver).await;
        let waiting: Vec<_> = (0..if fails.is_none() { 8 } else { 0 })
            .map(|_| {
                let mut client = client.clone();
                tokio::spawn(async move { client.export(request(1)).await })
            })
            .collect();
        let mut begun = sink.begun.subscribe();
        begun
            .wait_for(|begun| *begun == waiting.len())
            .await
            .unwrap();
        let refused = client.clone().export(request(1)).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
        let status = RpcStatus::decode(refused.details()).unwrap();
        assert_eq!(status.code, i32::from(code));
        assert!(status.details[0].type_url.ends_with("google.rpc.RetryInfo"));
        // Field 1, a message of two bytes: field 1, so many seconds.
        assert_eq!(status.details[0].value, [0x0a, 2, 0x08, seconds]);
        sink.gate.add_permits(100);
        for one in waiting {
            one.await.unwrap().unwrap();
        }
        drop(client);
        receiver.stop().await;
    }
}
