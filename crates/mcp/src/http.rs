//! The proxy between a client on two streams and a server over streamable HTTP.
//!
//! Refuses to follow a redirect: headers may hold a secret that is the named server's alone.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use countersign_sdk::Which;
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Response, Url};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::answer;
use crate::desk::Asker;
use crate::events::Events;
use crate::lines::write;
use crate::message::{REVISION, one_line};
use crate::mirrored;
use crate::place::Place;
use crate::session::Session;
use crate::stdio::{LARGEST_OF_SERVER, read_client};

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const CONNECT: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_secs(1);
const LAST: Duration = Duration::from_secs(3);
const UNREACHABLE: i64 = -32000;

/// A server that is reached over HTTP.
#[derive(Debug, Clone)]
pub struct Remote {
    pub(crate) url: Url,
    headers: HeaderMap,
}

impl Remote {
    /// The server's URL, and headers that every request to it has.
    ///
    /// Errors: what is not a URL of HTTP, or no header, in words without its value.
    pub fn new(url: &str, headers: &[(String, String)]) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("no URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("the URL must begin with http:// or https://".to_owned());
        }
        let mut kept = HeaderMap::new();
        for (name, value) in headers {
            let bad = || format!("the header {name} cannot be sent");
            let key = HeaderName::try_from(name).map_err(|_| bad())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            kept.append(key, value);
        }
        let headers = kept;
        Ok(Self { url, headers })
    }

    /// The same server, with these headers where it has none of the name.
    pub(crate) fn with(mut self, headers: &HeaderMap) -> Self {
        for (name, value) in headers {
            if !self.headers.contains_key(name) {
                let mut value = value.clone();
                value.set_sensitive(true);
                self.headers.insert(name, value);
            }
        }
        self
    }

    pub(crate) fn request(&self, client: &Client, method: Method) -> RequestBuilder {
        let request = client.request(method, self.url.clone());
        request.headers(self.headers.clone())
    }

    /// This server as the place of a call.
    pub(crate) fn place(&self, place: Place) -> Place {
        place.of_address(self.shown(), self.url.as_str(), &self.headers())
    }

    /// The address without what is secret in it.
    fn shown(&self) -> String {
        let mut url = self.url.clone();
        // Fails only for addresses that have neither.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        url.set_query(url.query().map(|_| "hidden"));
        url.set_fragment(None);
        url.into()
    }

    /// Names and values in their order; the values may be secret.
    fn headers(&self) -> Vec<(&str, &[u8])> {
        let headers = self.headers.iter();
        let mut headers: Vec<_> = headers
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        headers.sort_unstable();
        headers
    }

    /// The host, as a name for the cards.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }
}

struct Link {
    client: Client,
    remote: Remote,
    session: Arc<Session>,
    /// What the server named at `initialize`.
    known: Mutex<HeaderMap>,
}

/// Relays between a client's two streams and a server over HTTP until the client leaves or `stop` comes.
///
/// Errors: no client for HTTP can be made.
pub async fn http(
    which: Which,
    console_forms: bool,
    mut asker: Asker,
    remote: Remote,
    (input, output): (
        impl AsyncRead + Unpin + Send + 'static,
        impl AsyncWrite + Unpin + Send + 'static,
    ),
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let client = client()?;
    asker.place = remote.place(asker.place);
    let (session, queues) = Session::new(which, console_forms, asker);
    let link = Arc::new(Link {
        client,
        remote,
        session: Arc::clone(&session),
        known: Mutex::new(HeaderMap::new()),
    });
    let over = CancellationToken::new();
    let written = tokio::spawn(write(queues.to_client, output, over.clone()));
    let read = tokio::spawn(read_client(Arc::clone(&session), input));
    let sending = tokio::spawn(Arc::clone(&link).send_all(queues.to_server));
    tokio::select! {
        _ = read => {}
        () = stop => {}
    }
    session.end().await;
    sending.abort();
    link.leave().await;
    over.cancel();
    let _ = timeout(LAST, written).await;
    Ok(())
}

pub(crate) fn client() -> io::Result<Client> {
    // Fails where it was done before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .redirect(Policy::none())
        .connect_timeout(CONNECT);
    client.build().map_err(io::Error::other)
}

impl Link {
    async fn send_all(self: Arc<Self>, mut messages: mpsc::Receiver<Bytes>) {
        while let Some(message) = messages.recv().await {
            let value = countersign_wire::json_value(&message).unwrap_or_default();
            let is_request = value.get("id").is_some() && value.get("method").is_some();
            let initialized = value.get("method") == Some(&json!("notifications/initialized"));
            let link = Arc::clone(&self);
            if is_request {
                tokio::spawn(async move { link.request(message, &value).await });
                continue;
            }
            // In their order: what the server is informed before the next request.
            if let Err(error) = self.post(message, &value).send().await {
                tracing::warn!("a message to the server was lost: {}", error.without_url());
            }
            if initialized {
                tokio::spawn(self.clone().listen());
            }
        }
    }

    fn post(&self, message: Bytes, value: &Value) -> RequestBuilder {
        let mut headers = self.known.lock().clone();
        let text = |value: &str| HeaderValue::from_str(value).ok();
        let revision = value
            .pointer("/params/_meta")
            .and_then(|meta| meta.get(REVISION)?.as_str());
        if let Some(revision) = revision.and_then(text) {
            headers.insert(PROTOCOL, revision);
            let method = value.get("method").and_then(Value::as_str);
            if let Some(method) = method.and_then(text) {
                headers.insert(METHOD, method);
            }
            let params = value.get("params");
            let named =
                params.and_then(|params| params.get("name").or(params.get("uri"))?.as_str());
            if let Some(name) = named.map(mirrored::encoded).as_deref().and_then(text) {
                headers.insert(NAME, name);
            }
            for (name, value) in self.mirrored(value) {
                if let (Ok(name), Some(value)) = (HeaderName::try_from(name), text(&value)) {
                    headers.insert(name, value);
                }
            }
        }
        self.ask(Method::POST)
            .headers(headers)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(message)
    }

    fn ask(&self, method: Method) -> RequestBuilder {
        self.remote.request(&self.client, method)
    }

    /// The arguments of a call that its server wants to see as headers.
    fn mirrored(&self, message: &Value) -> Vec<(String, String)> {
        let name = message.pointer("/params/name").and_then(Value::as_str);
        let relay = self.session.relay.lock();
        let schema = name.and_then(|name| relay.tools.get(name)?.args_schema.as_ref());
        let arguments = message.pointer("/params/arguments");
        match (schema, arguments) {
            (Some(schema), Some(arguments)) => mirrored::headers(schema, arguments),
            _ => Vec::new(),
        }
    }

    async fn request(&self, message: Bytes, value: &Value) {
        let id = value.get("id").cloned().unwrap_or_default();
        let failed = match self.post(message, value).send().await {
            Ok(response) => self.answered(response, value, &id).await.err(),
            Err(error) => Some(error.without_url().to_string()),
        };
        if let Some(why) = failed {
            let error = json!({"code": UNREACHABLE, "message": format!("the server did not answer: {why}")});
            let error = json!({"jsonrpc": "2.0", "id": id, "error": error});
            self.session.server_sent(answer::line(&error)).await;
        }
    }

    /// Takes the response to a request; why it holds no answer.
    async fn answered(
        &self,
        mut response: Response,
        asked: &Value,
        id: &Value,
    ) -> Result<(), String> {
        let initializes = asked.get("method") == Some(&json!("initialize"));
        if let Some(session) = response.headers().get(SESSION).filter(|_| initializes) {
            self.known.lock().insert(SESSION, session.clone());
        }
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        if kind.starts_with("text/event-stream") {
            let mut events = Events::default();
            let mut answered = false;
            while let Some(part) = response.chunk().await.map_err(words)? {
                let messages = events.take(&part, LARGEST_OF_SERVER);
                for message in messages.map_err(|_| "its message is too large".to_owned())? {
                    answered |= self.arrived(message, initializes, id).await;
                }
            }
            return answered
                .then_some(())
                .ok_or_else(|| "its stream ended".to_owned());
        }
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(words)? {
            body.extend_from_slice(&part);
            if body.len() > LARGEST_OF_SERVER {
                return Err("its message is too large".to_owned());
            }
        }
        let answered =
            kind.starts_with("application/json") && self.arrived(body, initializes, id).await;
        answered
            .then_some(())
            .ok_or_else(|| format!("HTTP {status}"))
    }

    /// Hands a message of the server on; whether it answers the request of this id.
    async fn arrived(&self, message: Vec<u8>, initializes: bool, id: &Value) -> bool {
        let value = countersign_wire::json_value(&message).unwrap_or_default();
        let answers = value.get("method").is_none() && value.get("id") == Some(id);
        let revision = value
            .pointer("/result/protocolVersion")
            .and_then(Value::as_str);
        if let Some(revision) = revision.filter(|_| initializes && answers)
            && let Ok(revision) = HeaderValue::from_str(revision)
        {
            self.known.lock().insert(PROTOCOL, revision);
        }
        let of_server = value.get("method").is_some();
        if answers || of_server {
            let line = Bytes::from(one_line(&message));
            self.session.server_sent(line).await;
        }
        answers
    }

    /// Hears what the server says unasked, where it offers that.
    async fn listen(self: Arc<Self>) {
        let mut events = Events::default();
        while !self.session.client_gone.is_cancelled() {
            let mut request = self.ask(Method::GET).headers(self.known.lock().clone());
            request = request.header(ACCEPT, "text/event-stream");
            if let Some(id) = &events.last_id {
                request = request.header(LAST_EVENT, id);
            }
            match request.send().await {
                Ok(response) if response.status().is_client_error() => return,
                Ok(mut response) if response.status().is_success() => {
                    while let Ok(Some(part)) = response.chunk().await {
                        let Ok(messages) = events.take(&part, LARGEST_OF_SERVER) else {
                            return;
                        };
                        for message in messages {
                            self.arrived(message, false, &Value::Null).await;
                        }
                    }
                }
                _ => {}
            }
            sleep(AGAIN).await;
        }
    }

    /// Ends the session with the server.
    async fn leave(&self) {
        let known = self.known.lock().clone();
        if known.contains_key(SESSION) {
            // A server that does not hear it lets the session run out.
            let _ = timeout(LAST, self.ask(Method::DELETE).headers(known).send()).await;
        }
    }
}

fn words(error: reqwest::Error) -> String {
    error.without_url().to_string()
}
