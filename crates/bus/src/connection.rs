//! The console's connection to the bus.
//!
//! The default account needs an explicit option, every wait has a limit, and messages and logs hold no secret.

use super::delivery::Deliveries;
use super::event::{BusEvent, BusState, Insecure};
use super::identity::{USER_INFO, UserInfo};
use super::largest::Largest;
use super::server_clock::{self, Sample, ServerClock};
use super::unix::time_since_boot;
use super::url::{self, Address, UrlSecret};
use super::{BusError, binary, connection_events, connection_watch, login_file, tls};
use async_nats::connection::State;
use async_nats::{Client, ConnectErrorKind, ConnectOptions, HeaderMap, Message, Request};
use bytes::Bytes;
use countersign_wire::TlsFiles;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// A forbidden request is never answered, so every wait is short.
pub(super) const REQUEST_LIMIT: Duration = Duration::from_secs(2);
/// A server that hangs closes no connection: it is given up after three of these without an answer.
const PING_EVERY: Duration = Duration::from_secs(5);
const LONGEST_RECONNECT_PAUSE: Duration = Duration::from_secs(4);
const CLOCK_SAMPLES: usize = 3;
/// What nats-server says to who comes when `max_connections` are there: "maximum connections exceeded" of the server,
/// "maximum account active connections exceeded" of the account.
const TOO_MANY: &str = "connections exceeded";

/// How the console logs in.
#[derive(Clone)]
pub enum Credentials {
    /// The seed of a user nkey (`SU…`).
    NkeySeed(String),
    /// A file with such a seed.
    NkeyFile(PathBuf),
    /// A `.creds` file.
    CredsFile(PathBuf),
    /// User and password, or a token, as written in the URL.
    UrlUserPassword,
    /// None; for servers that ask for none.
    None,
}

/// Where and as whom to connect.
#[derive(Clone)]
pub struct BusOptions {
    /// `nats://`, `tls://` or a bare host; several separated by commas.
    pub url: String,
    /// How to log in.
    pub credentials: Credentials,
    /// Whom to trust over TLS, and this console's own certificate.
    pub tls: TlsFiles,
    /// Shown in the server's list of connections.
    pub console_id: String,
    /// Accept consoles and agents in one account.
    pub allow_single_account: bool,
}

/// Which of several servers is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Another one each time: consoles spread over the cluster.
    Any,
    AsGiven,
}

/// A connection to the bus, and a second one for what others wrote; clones share them, and they close when the last one is dropped.
#[derive(Clone)]
pub struct Bus {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    state: watch::Sender<BusState>,
    events: broadcast::Sender<BusEvent>,
    reconnects: watch::Sender<u64>,
    clock: ServerClock,
    deliveries: Deliveries,
    largest: Largest,
    /// Ends the tasks of this connection with it.
    closing: CancellationToken,
    _close_on_drop: DropGuard,
}

impl Bus {
    /// Connects once, within 10 s; afterwards the connection restores itself without end.
    ///
    /// Errors: `bus_bad_options`, `bus_unreachable`, `bus_auth_refused`, `bus_tls`,
    /// `bus_single_account`, `bus_server_too_old`, `bus_account_unknown`, `bus_too_many_connections`.
    pub async fn connect(options: BusOptions) -> Result<Self, BusError> {
        Self::connect_to(options, Order::Any).await
    }

    /// The same, and turns to a server only where those before it in the URL do not answer.
    pub async fn connect_in_order(options: BusOptions) -> Result<Self, BusError> {
        Self::connect_to(options, Order::AsGiven).await
    }

    async fn connect_to(options: BusOptions, order: Order) -> Result<Self, BusError> {
        let (connect, address) = prepared(&options, order).await?;
        let plain_text = address.plain_text;
        let reported = connection_events::Reports::new(&address.shown);
        let connect = connect
            .max_reconnects(None)
            .reconnect_delay_callback(reconnect_pause)
            .event_callback(reported.callback());
        let client = first_connection(&address, connect).await?;
        let version = client.server_info().version;
        if !binary::new_enough(&version) {
            let url = address.shown;
            return Err(BusError::ServerTooOld { url, version });
        }
        let (info, offset) = ask_server(&client).await.map_err(|error| match error {
            BusError::BadReply { .. } => error,
            BusError::TimedOut { .. } | BusError::NoJetStream { .. } => BusError::AccountUnknown,
            other => other,
        })?;
        let single = info.single_account(options.allow_single_account)?;
        let insecure = weaknesses(&client, plain_text, single);
        reported.connected(&client, insecure);
        let closing = CancellationToken::new();
        let deliveries = Deliveries::new((options, order), &reported, closing.clone());
        let bus = Self {
            inner: Arc::new(Inner {
                client,
                deliveries,
                state: reported.state,
                events: reported.events,
                reconnects: reported.reconnects,
                largest: reported.largest,
                clock: ServerClock::new(offset),
                _close_on_drop: closing.clone().drop_guard(),
                closing,
            }),
        };
        connection_watch::spawn(&bus, plain_text);
        Ok(bus)
    }

    /// The connection as it is now and as it changes.
    pub fn state(&self) -> watch::Receiver<BusState> {
        self.inner.state.subscribe()
    }

    /// What happens from now on; who falls more than 256 behind misses the oldest.
    pub fn events(&self) -> broadcast::Receiver<BusEvent> {
        self.inner.events.subscribe()
    }

    /// Counts the reconnects since the first connection.
    pub fn reconnected(&self) -> watch::Receiver<u64> {
        self.inner.reconnects.subscribe()
    }

    /// The server's time.
    pub fn clock(&self) -> &ServerClock {
        &self.inner.clock
    }

    /// The largest message that the server takes, in bytes; where it has refused one in the name of the account or the
    /// user, less than that one.
    pub fn max_payload(&self) -> usize {
        let reported = self.inner.client.max_payload();
        self.inner
            .largest
            .most()
            .map_or(reported, |most| most.min(reported))
    }

    /// The servers of the cluster as the server names them, without a login; empty for a single server.
    pub fn cluster(&self) -> Vec<String> {
        let info = self.inner.client.server_info();
        info.connect_urls
    }

    /// Ends the connections and their subscriptions after what was sent has left.
    pub async fn close(&self) {
        self.inner.closing.cancel();
        // Fails only when it is closed already.
        let _ = tokio::time::timeout(REQUEST_LIMIT, self.inner.client.drain()).await;
    }

    pub(super) fn client(&self) -> &Client {
        &self.inner.client
    }

    /// The connection on which messages of streams and heartbeats come.
    pub(super) fn deliveries(&self) -> &Deliveries {
        &self.inner.deliveries
    }

    pub(super) fn closing(&self) -> &CancellationToken {
        &self.inner.closing
    }

    pub(super) fn event_sender(&self) -> broadcast::Sender<BusEvent> {
        self.inner.events.clone()
    }

    pub(super) fn state_sender(&self) -> watch::Sender<BusState> {
        self.inner.state.clone()
    }

    pub(super) async fn request(
        &self,
        subject: &str,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Message, BusError> {
        let mut state = self.state();
        state.mark_unchanged();
        let lost = async {
            // Only a change counts: the answer to a request that was sent now cannot come later.
            while state.changed().await.is_ok() {
                if !state.borrow_and_update().connected {
                    return;
                }
            }
        };
        let on_the_way = self.inner.largest.sends(payload.len());
        let answer = tokio::select! {
            biased;
            answer = request(self.client(), subject, headers, payload) => answer,
            () = lost => Err(BusError::ConnectionLost { what: subject.into() }),
        };
        // That nobody answers is the server's own word.
        if matches!(answer, Ok(_) | Err(BusError::NoJetStream { .. })) {
            on_the_way.answered();
        }
        answer
    }
}

/// One request with its limit; nothing is sent while the connection is down, because it would
/// leave much later.
pub(super) async fn request(
    client: &Client,
    subject: &str,
    headers: Option<HeaderMap>,
    payload: Bytes,
) -> Result<Message, BusError> {
    if client.connection_state() != State::Connected {
        return Err(BusError::Disconnected);
    }
    let mut request = Request::new().payload(payload);
    if let Some(headers) = headers {
        request = request.headers(headers);
    }
    let answer = client.send_request(subject.to_owned(), request);
    let timed_out = || BusError::TimedOut {
        what: subject.into(),
    };
    match tokio::time::timeout(REQUEST_LIMIT, answer).await {
        Ok(Ok(message)) => Ok(message),
        Ok(Err(error)) => Err(match error.kind() {
            async_nats::RequestErrorKind::TimedOut => timed_out(),
            async_nats::RequestErrorKind::NoResponders => BusError::NoJetStream {
                why: format!("nobody answers {subject}"),
            },
            async_nats::RequestErrorKind::InvalidSubject
            | async_nats::RequestErrorKind::MaxPayloadExceeded => BusError::Refused {
                what: subject.into(),
                code: 0,
                description: error.to_string(),
            },
            async_nats::RequestErrorKind::Other => BusError::Disconnected,
        }),
        Err(_) => Err(timed_out()),
    }
}

/// Asks who we are and what time it is; the offset comes from the shortest of three round trips.
pub(super) async fn ask_server(client: &Client) -> Result<(UserInfo, i64), BusError> {
    let mut samples = Vec::with_capacity(CLOCK_SAMPLES);
    let mut last = None;
    for _ in 0..CLOCK_SAMPLES {
        let asked = time_since_boot();
        let reply = request(client, USER_INFO, None, Bytes::new()).await?;
        let answered = time_since_boot();
        let info = UserInfo::parse(&reply.payload)?;
        let server = i64::try_from(info.time.unix_timestamp_nanos()).unwrap_or(i64::MAX);
        samples.push(Sample {
            asked,
            answered,
            server,
        });
        last = Some(info);
    }
    let unreadable = || BusError::BadReply {
        what: USER_INFO.into(),
        why: "no usable time in it".into(),
    };
    let offset = server_clock::best_offset(&samples).ok_or_else(unreadable)?;
    Ok((last.ok_or_else(unreadable)?, offset))
}

pub(super) fn weaknesses(client: &Client, plain_text: bool, single: bool) -> Vec<Insecure> {
    let info = client.server_info();
    let mut found = Vec::new();
    if single {
        found.push(Insecure::SingleAccount);
    }
    if plain_text && !info.tls_required {
        found.push(Insecure::NoTls);
    }
    if !info.auth_required {
        found.push(Insecure::OpenPermissions);
    }
    found
}

/// Everything about a connection but what it does when it is lost.
pub(super) async fn prepared(
    options: &BusOptions,
    order: Order,
) -> Result<(ConnectOptions, Address), BusError> {
    let (mut address, secret) = url::parse(&options.url)?;
    let always_tls = address.asks_for_tls || options.tls.ask_for_tls();
    address.plain_text &= !always_tls;
    let connect = tls::apply(login(options, secret)?, &options.tls, always_tls)?
        .name(format!("countersign console {}", options.console_id))
        .connection_timeout(HANDSHAKE_LIMIT)
        .request_timeout(Some(REQUEST_LIMIT))
        .ping_interval(PING_EVERY);
    let connect = match order {
        Order::Any => connect,
        Order::AsGiven => connect.retain_servers_order(),
    };
    Ok((connect, address))
}

pub(super) async fn first_connection(
    address: &Address,
    connect: ConnectOptions,
) -> Result<Client, BusError> {
    let connect = connect.connect(address.servers.clone());
    let late = |_| {
        unreachable(
            address,
            format!("no answer in {} s", CONNECT_LIMIT.as_secs()),
        )
    };
    tokio::time::timeout(CONNECT_LIMIT, connect)
        .await
        .map_err(late)?
        .map_err(|error| connect_error(address, &error))
}

fn login(options: &BusOptions, secret: Option<UrlSecret>) -> Result<ConnectOptions, BusError> {
    let bad = |why: String| BusError::BadOptions { why };
    let connect = ConnectOptions::new();
    Ok(match (&options.credentials, secret) {
        (Credentials::NkeySeed(seed), _) => {
            nkeys::KeyPair::from_seed(seed)
                .map_err(|_| bad("the nkey seed is not valid".into()))?;
            connect.nkey(seed.clone())
        }
        (Credentials::NkeyFile(path), _) => login_file::nkey(path.clone())?,
        (Credentials::CredsFile(path), _) => login_file::creds(path.clone())?,
        (Credentials::UrlUserPassword, None) => {
            return Err(bad("the URL has no user and password".into()));
        }
        (Credentials::None, None) => connect,
        (Credentials::UrlUserPassword | Credentials::None, Some(secret)) => match secret {
            UrlSecret::UserPassword(user, password) => connect.user_and_password(user, password),
            UrlSecret::Token(token) => connect.token(token),
        },
    })
}

/// 50 ms at first, 4 s at most, and never the same for all consoles of a bus that comes back.
pub(super) fn reconnect_pause(attempt: usize) -> Duration {
    if attempt <= 1 {
        return Duration::ZERO;
    }
    let exponent = u32::try_from(attempt - 2).unwrap_or(u32::MAX).min(10);
    let longest = Duration::from_millis(50)
        .saturating_mul(1 << exponent)
        .min(LONGEST_RECONNECT_PAUSE);
    longest.mul_f64(rand::random_range(0.5..=1.0))
}

fn unreachable(address: &Address, why: String) -> BusError {
    BusError::Unreachable {
        url: address.shown.clone(),
        why,
    }
}

fn connect_error(address: &Address, error: &async_nats::ConnectError) -> BusError {
    let url = address.shown.clone();
    if error.to_string().contains(TOO_MANY) {
        return BusError::TooManyConnections { url };
    }
    if let Some(why) = tls::fault(error) {
        return BusError::Tls { url, why };
    }
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            BusError::AuthRefused { url }
        }
        ConnectErrorKind::Tls => BusError::Tls {
            url,
            why: error.to_string(),
        },
        ConnectErrorKind::ServerParse => BusError::BadOptions {
            why: error.to_string(),
        },
        _ => unreachable(address, error.to_string()),
    }
}
