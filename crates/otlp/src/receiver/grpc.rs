//! OTLP over gRPC: `TraceService/Export`.
//!
//! The generated server decodes before anybody can look; this one weighs the bytes first.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::SERVICE_NAME;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message as _;
use prost::bytes::Buf as _;
use tokio::net::TcpListener;
use tonic::codec::{
    Codec, CompressionEncoding, DecodeBuf, Decoder, EnabledCompressionEncodings, EncodeBuf, Encoder,
};
use tonic::codegen::http::header::AUTHORIZATION;
use tonic::codegen::{BoxFuture, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};

use super::BODY_MAX;
use super::connections::{Connections, server};
use super::decode::protobuf;
use super::intake::Intake;
use crate::translate::Sender;

/// How long one call may take in all.
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Serves until `stop` ends and what was taken is answered.
pub(super) async fn serve(
    (listener, connections): (TcpListener, Connections),
    intake: Arc<Intake>,
    stop: impl Future<Output = ()> + Send,
) {
    let served = server()
        .timeout(CALL_LIMIT)
        .add_service(Traces { intake })
        .serve_with_incoming_shutdown(connections.of(listener), stop);
    if let Err(error) = served.await {
        tracing::error!(%error, "the OTLP receiver over gRPC has ended");
    }
}

#[derive(Clone)]
struct Traces {
    intake: Arc<Intake>,
}

impl NamedService for Traces {
    const NAME: &'static str = SERVICE_NAME;
}

impl tonic::codegen::Service<http::Request<tonic::body::Body>> for Traces {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let method = request.uri().path().strip_prefix('/');
        let known = method.and_then(|path| path.strip_prefix(SERVICE_NAME)) == Some("/Export");
        let intake = Arc::clone(&self.intake);
        Box::pin(async move {
            if !known {
                return Ok(Status::unimplemented("only Export is served").into_http());
            }
            // Before its turn: whoever is not let in would hold one while its body arrives.
            let authorization = request.headers().get(AUTHORIZATION);
            let sender = match intake.sender(authorization.map(http::HeaderValue::as_bytes)) {
                Ok(sender) => sender,
                Err(refused) => return Ok(Status::from(refused).into_http()),
            };
            // Before anything is read: what waits here takes no memory but its connection's.
            let _turn = match intake.turn().await {
                Ok(turn) => turn,
                Err(refused) => return Ok(Status::from(refused).into_http()),
            };
            let export = Export { intake, sender };
            let mut gzip = EnabledCompressionEncodings::default();
            gzip.enable(CompressionEncoding::Gzip);
            let mut grpc = Grpc::new(Weighed)
                .apply_compression_config(gzip, EnabledCompressionEncodings::default())
                .apply_max_message_size_config(Some(BODY_MAX), None);
            Ok(grpc.unary(export, request).await)
        })
    }
}

struct Export {
    intake: Arc<Intake>,
    sender: Sender,
}

impl UnaryService<ExportTraceServiceRequest> for Export {
    type Response = ExportTraceServiceResponse;
    type Future = BoxFuture<Response<Self::Response>, Status>;

    fn call(&mut self, request: Request<ExportTraceServiceRequest>) -> Self::Future {
        let (intake, sender) = (Arc::clone(&self.intake), self.sender.clone());
        Box::pin(async move {
            let taken = intake.take(request.into_inner(), sender).await?;
            Ok(Response::new(ExportTraceServiceResponse {
                partial_success: taken.partial().map(|(rejected_spans, error_message)| {
                    ExportTracePartialSuccess {
                        rejected_spans,
                        error_message,
                    }
                }),
            }))
        })
    }
}

/// Protobuf, weighed before it is decoded.
#[derive(Default)]
struct Weighed;

impl Codec for Weighed {
    type Encode = ExportTraceServiceResponse;
    type Decode = ExportTraceServiceRequest;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self::Encoder {
        Self
    }

    fn decoder(&mut self) -> Self::Decoder {
        Self
    }
}

impl Encoder for Weighed {
    type Item = ExportTraceServiceResponse;
    type Error = Status;

    fn encode(&mut self, item: Self::Item, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(into)
            .map_err(|_| Status::internal("the answer does not fit"))
    }
}

impl Decoder for Weighed {
    type Item = ExportTraceServiceRequest;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Self::Item>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        Ok(Some(protobuf(&bytes)?))
    }
}
