//! OTLP over HTTP: `POST /v1/traces`, protobuf or JSON, gzip or not.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, ORIGIN, RETRY_AFTER,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message as _;
use serde_json::json;
use tokio::net::TcpListener;
use tonic::service::Routes;

use super::BODY_MAX;
use super::connections::{Connections, server};
use super::decode::{Encoding, too_large, unzip};
use super::intake::{Intake, Taken};
use super::status::{Reason, Refused, RpcStatus};

/// How long a body may take to arrive.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// Serves until `stop` ends and what was taken is answered.
pub(super) async fn serve(
    (listener, connections): (TcpListener, Connections),
    intake: Arc<Intake>,
    stop: impl Future<Output = ()> + Send,
) {
    let router = Router::new()
        .route("/v1/traces", post(export))
        .fallback(nothing_here)
        .with_state(intake);
    let served = server()
        .accept_http1(true)
        .add_routes(Routes::from(router))
        .serve_with_incoming_shutdown(connections.of(listener), stop);
    if let Err(error) = served.await {
        tracing::error!(%error, "the OTLP receiver over HTTP has ended");
    }
}

/// Says what is taken: exporters of logs and metrics (Claude Code's own) otherwise fail without a word.
async fn nothing_here(headers: HeaderMap) -> Response {
    let encoding = Encoding::of(text(&headers, &CONTENT_TYPE)).unwrap_or(Encoding::Json);
    let message = "only traces are taken here, at POST /v1/traces; turn the export of logs and metrics off, or send it elsewhere";
    refusal(encoding, &Refused::new(Reason::NotFound, message))
}

async fn export(State(intake): State<Arc<Intake>>, headers: HeaderMap, body: Body) -> Response {
    let content_type = text(&headers, &CONTENT_TYPE);
    let Some(encoding) = Encoding::of(content_type) else {
        let refused = Refused::new(
            Reason::MediaType,
            "Content-Type must be application/x-protobuf or application/json",
        );
        return refusal(Encoding::Json, &refused);
    };
    match take(&intake, &headers, body, encoding).await {
        Ok(taken) => success(encoding, taken),
        Err(refused) => refusal(encoding, &refused),
    }
}

async fn take(
    intake: &Intake,
    headers: &HeaderMap,
    body: Body,
    encoding: Encoding,
) -> Result<Taken, Refused> {
    // A page that a person looks at could otherwise write into this person's traces.
    if headers.contains_key(ORIGIN) {
        return Err(Refused::new(
            Reason::Origin,
            "web pages may not send spans here",
        ));
    }
    let authorization = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    let sender = intake.sender(authorization)?;
    let zipped = match text(headers, &CONTENT_ENCODING).map(str::trim) {
        None | Some("" | "identity") => false,
        Some(word) if word.eq_ignore_ascii_case("gzip") => true,
        Some(_) => {
            return Err(Refused::new(
                Reason::MediaType,
                "Content-Encoding must be gzip or identity",
            ));
        }
    };
    let _turn = intake.turn().await?;
    let body = match tokio::time::timeout(BODY_LIMIT, to_bytes(body, BODY_MAX)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return Err(too_large()),
        Err(_) => {
            return Err(Refused::new(
                Reason::Invalid,
                "the body did not arrive in time",
            ));
        }
    };
    let request = if zipped {
        encoding.read(&unzip(&body)?)?
    } else {
        encoding.read(&body)?
    };
    drop(body);
    intake.take(request, sender).await
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn success(encoding: Encoding, taken: Taken) -> Response {
    let partial = taken.partial();
    let body = match encoding {
        Encoding::Protobuf => ExportTraceServiceResponse {
            partial_success: partial.map(|(rejected_spans, error_message)| {
                ExportTracePartialSuccess {
                    rejected_spans,
                    error_message,
                }
            }),
        }
        .encode_to_vec(),
        Encoding::Json => match partial {
            // Whole numbers of 64 bits are texts in the JSON of protobuf.
            Some((count, message)) => json!({
                "partialSuccess": { "rejectedSpans": count.to_string(), "errorMessage": message },
            }),
            None => json!({}),
        }
        .to_string()
        .into_bytes(),
    };
    ([(CONTENT_TYPE, encoding.content_type())], body).into_response()
}

fn refusal(encoding: Encoding, refused: &Refused) -> Response {
    let status = RpcStatus::from(refused);
    let body = match encoding {
        Encoding::Protobuf => status.encode_to_vec(),
        Encoding::Json => json!({ "code": status.code, "message": status.message })
            .to_string()
            .into_bytes(),
    };
    let code = StatusCode::from_u16(refused.reason.http()).unwrap_or(StatusCode::BAD_REQUEST);
    let headers = [(CONTENT_TYPE, encoding.content_type())];
    let mut response = (code, headers, body).into_response();
    if let Some(after) = refused.reason.retry_after() {
        response
            .headers_mut()
            .insert(RETRY_AFTER, after.as_secs().into());
    }
    response
}
