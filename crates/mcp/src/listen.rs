//! Streamable HTTP for clients, at `/mcp`.
//!
//! Refuses what a page in a browser sends: it could reach a loopback address for a site of somebody else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use bytes::Bytes;
use futures::stream::unfold;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::answer;
use crate::http::SESSION;
use crate::id::Id;
use crate::message::{self, LARGEST};
use crate::visitor::Visitor;
use crate::visitors::{Served, Visitors};

/// How often a client hears that its connection is alive.
const COMMENT: Duration = Duration::from_secs(10);
/// How long a body may take to arrive.
const ARRIVES: Duration = Duration::from_secs(30);

struct Front {
    visitors: Visitors,
    /// Any host may be named; else only those of this machine.
    remote: bool,
}

/// Serves clients until `stop` comes; `bound` is reported the address.
///
/// Errors: the address is not of this machine alone without `allow_remote`, or is taken.
pub async fn listen(
    address: SocketAddr,
    allow_remote: bool,
    served: Served,
    bound: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    if !address.ip().is_loopback() && !allow_remote {
        let why = format!(
            "{address} can be reached from other machines; use 127.0.0.1, or --allow-remote"
        );
        return Err(std::io::Error::other(why));
    }
    let listener = TcpListener::bind(address).await?;
    bound(listener.local_addr()?);
    let front = Arc::new(Front {
        visitors: Visitors::new(served),
        remote: allow_remote,
    });
    let router = Router::new()
        .route("/mcp", post(posted).get(heard).delete(left))
        .with_state(Arc::clone(&front));
    let serving = axum::serve(listener, router);
    tokio::select! {
        served = serving => served?,
        () = stop => {}
    }
    front.visitors.end().await;
    Ok(())
}

async fn posted(State(front): State<Arc<Front>>, headers: HeaderMap, body: Body) -> Response {
    if front.refuses(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let Ok(Ok(body)) = timeout(ARRIVES, to_bytes(body, LARGEST)).await else {
        return json(StatusCode::BAD_REQUEST, message::too_long());
    };
    let line = match message::read_body(&body) {
        Ok(line) => line,
        Err(refused) => return json(StatusCode::BAD_REQUEST, answer::error(&refused)),
    };
    let value = countersign_wire::json_value(&line).unwrap_or_default();
    let is_request = value.get("method").is_some();
    let id = value.get("id").and_then(Id::of).filter(|_| is_request);
    let (visitor, messages) = match front.visitors.of(&headers, &value, id.as_ref()) {
        Ok(found) => found,
        Err(status) => return status.into_response(),
    };
    if !visitor.send(&line).await {
        return StatusCode::NOT_FOUND.into_response();
    }
    let (Some(id), Some(messages)) = (id, messages) else {
        return StatusCode::ACCEPTED.into_response();
    };
    let mut response = stream(
        messages,
        Some(Watch {
            visitor: Arc::clone(&visitor),
            id,
        }),
    );
    if value.get("method").and_then(Value::as_str) == Some("initialize")
        && let Ok(name) = HeaderValue::from_str(&visitor.name)
    {
        response.headers_mut().insert(SESSION, name);
    }
    response
}

async fn heard(State(front): State<Arc<Front>>, headers: HeaderMap) -> Response {
    match front.named(&headers) {
        Ok(visitor) => stream(visitor.listen(), None),
        Err(refused) => refused.into_response(),
    }
}

async fn left(State(front): State<Arc<Front>>, headers: HeaderMap) -> Response {
    match front.named(&headers) {
        Ok(visitor) => {
            visitor.over.cancel();
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => refused.into_response(),
    }
}

impl Front {
    fn named(&self, headers: &HeaderMap) -> Result<Arc<Visitor>, StatusCode> {
        match self.refuses(headers) {
            true => Err(StatusCode::FORBIDDEN),
            false => self.visitors.named(headers),
        }
    }

    /// A page may name any host that leads here, and every browser says that a page asks.
    fn refuses(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let own = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
        headers.contains_key(ORIGIN) || !(own || self.remote)
    }
}

fn json(status: StatusCode, message: Bytes) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], message).into_response()
}

/// Notices that the client closed the stream of its request.
struct Watch {
    visitor: Arc<Visitor>,
    id: Id,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let (visitor, id) = (Arc::clone(&self.visitor), self.id.clone());
        tokio::spawn(async move { visitor.closed(&id).await });
    }
}

fn stream(messages: mpsc::Receiver<Bytes>, watch: Option<Watch>) -> Response {
    let events = unfold((messages, watch), |(mut messages, watch)| async {
        let event = tokio::select! {
            message = messages.recv() => [b"data: ", message?.as_ref(), b"\n\n"].concat(),
            () = sleep(COMMENT) => b": waits\n\n".to_vec(),
        };
        Some((Ok::<_, std::convert::Infallible>(event), (messages, watch)))
    });
    let kind = HeaderValue::from_static("text/event-stream");
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, Body::from_stream(events)).into_response()
}
