//! One client over HTTP: the proxy hears it as it hears a client on standard input.

use std::collections::HashMap;
use std::time::Duration;

use axum::http::HeaderMap;
use bytes::Bytes;
use futures::StreamExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::id::Id;
use crate::lines::{Line, lines};
use crate::stdio::LARGEST_OF_SERVER;

/// Messages that wait to be read by one stream of a client.
const QUEUE: usize = 64;
/// How long a client may leave a stream unread.
const UNREAD: Duration = Duration::from_secs(10);

pub(crate) struct Visitor {
    /// Of its session.
    pub(crate) name: String,
    /// What it says to the server in every request.
    pub(crate) headers: HeaderMap,
    to_proxy: AsyncMutex<DuplexStream>,
    streams: Mutex<Streams>,
    /// Cancelled when the client has left, and when the proxy has ended.
    pub(crate) over: CancellationToken,
}

struct Streams {
    requests: HashMap<Id, Request>,
    /// What answers no request: the stream of a GET.
    others: Option<mpsc::Sender<Bytes>>,
    used: Instant,
}

struct Request {
    answer: mpsc::Sender<Bytes>,
    progress: Option<Value>,
}

impl Visitor {
    pub(crate) fn new(
        name: String,
        headers: HeaderMap,
        to_proxy: DuplexStream,
        over: CancellationToken,
    ) -> Self {
        Self {
            name,
            headers,
            to_proxy: AsyncMutex::new(to_proxy),
            streams: Mutex::new(Streams {
                requests: HashMap::new(),
                others: None,
                used: Instant::now(),
            }),
            over,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.over.is_cancelled()
    }

    /// Since when nothing is under way; none where something is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let streams = self.streams.lock();
        let listens = streams
            .others
            .as_ref()
            .is_some_and(|others| !others.is_closed());
        (streams.requests.is_empty() && !listens).then_some(streams.used)
    }

    /// The messages of a request's stream, which its answer ends; none where a request with this id is under way.
    pub(crate) fn expect(&self, id: &Id, message: &Value) -> Option<mpsc::Receiver<Bytes>> {
        let mut streams = self.streams.lock();
        if streams.requests.contains_key(id) {
            return None;
        }
        let (answer, messages) = mpsc::channel(QUEUE);
        let progress = message.pointer("/params/_meta/progressToken").cloned();
        streams
            .requests
            .insert(id.clone(), Request { answer, progress });
        streams.used = Instant::now();
        Some(messages)
    }

    /// The messages that answer no request.
    pub(crate) fn listen(&self) -> mpsc::Receiver<Bytes> {
        let (others, messages) = mpsc::channel(QUEUE);
        self.streams.lock().others = Some(others);
        messages
    }

    /// Hands a message of the client to the proxy; false where that has ended.
    pub(crate) async fn send(&self, message: &[u8]) -> bool {
        let mut to_proxy = self.to_proxy.lock().await;
        let line = [message, b"\n"].concat();
        tokio::select! {
            sent = to_proxy.write_all(&line) => sent.is_ok(),
            () = self.over.cancelled() => false,
        }
    }

    /// The client has closed the stream of a request before its answer.
    pub(crate) async fn closed(&self, id: &Id) {
        if self.streams.lock().requests.remove(id).is_some() {
            let params = json!({"requestId": id.value(), "reason": "the connection was closed"});
            let reported =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            self.send(reported.to_string().as_bytes()).await;
        }
    }

    /// Hands out what the proxy says, until it ends.
    pub(crate) async fn hear(&self, from_proxy: DuplexStream) {
        let mut lines = lines(from_proxy, LARGEST_OF_SERVER);
        while let Some(Ok(Line::Whole(message))) = lines.next().await {
            let Some(stream) = self.stream(&message) else {
                continue;
            };
            // Nobody reads it: the message is lost, the others are not held up.
            let _ = timeout(UNREAD, stream.send(message)).await;
        }
        self.over.cancel();
        self.streams.lock().requests.clear();
        self.streams.lock().others = None;
    }

    fn stream(&self, message: &[u8]) -> Option<mpsc::Sender<Bytes>> {
        let message = countersign_wire::json_value(message)?;
        let mut streams = self.streams.lock();
        streams.used = Instant::now();
        if message.get("method").is_none() {
            let id = message.get("id").and_then(Id::of)?;
            return streams.requests.remove(&id).map(|request| request.answer);
        }
        let token = message.pointer("/params/progressToken");
        let mut requests = streams.requests.values();
        let of_token = requests.find(|of| token.is_some() && of.progress.as_ref() == token);
        let any = || streams.requests.values().next();
        of_token
            .map(|of| of.answer.clone())
            .or_else(|| streams.others.clone())
            .or_else(|| any().map(|of| of.answer.clone()))
    }
}
