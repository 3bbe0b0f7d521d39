//! The connection of one agent: publish into a stream, read what is stored.
//!
//! It judges nothing that it carries, does not retry on its own, and does not send while the connection is down,
//! because that would leave much later. It never subscribes to `decision.>`, makes a consumer or sends a message id
//! (protocol, section 1).

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, HeaderMap, Message, Request, RequestErrorKind, StatusCode, Subscriber};
use bytes::Bytes;
use countersign_wire::{Stream, Timestamp};
use serde::Deserialize;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::judge::StoredMessage;
use crate::login::{LoggedIn, Login, Violations};
use crate::{Enrolment, GateError};

const SEQUENCE: &str = "Nats-Sequence";
const EXPECTED_LAST: &str = "Nats-Expected-Last-Subject-Sequence";
/// JetStream: the subject already holds a message.
const ALREADY_STORED: u64 = 10_071;
/// JetStream says these while it is busy, full or electing.
const PASSING: [u64; 4] = [10_008, 10_023, 10_047, 10_077];
/// Readings at once; after a reconnect every waiting request looks.
const READINGS: usize = 256;

/// The connection; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Bus {
    client: Client,
    limit: Duration,
    reconnects: watch::Receiver<u64>,
    refused: watch::Receiver<bool>,
    violations: Violations,
    readings: Arc<Semaphore>,
}

/// Why one exchange with the bus did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BusFault {
    /// It may work a moment later; the message may or may not have arrived.
    Passing(String),
    /// The bus refused it; it may take it a moment later. Nothing was stored.
    Busy(String),
    /// The connection is down; nothing was sent.
    Disconnected,
    /// Nobody takes the message; the streams are not there (yet).
    NoStream,
    /// It will not work.
    Final(GateError),
}

/// A message is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    /// By this publish.
    Now,
    /// The subject held one already.
    Before,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Acknowledgement {
    Refused {
        error: Refusal,
    },
    Stored {
        #[serde(rename = "seq")]
        _seq: u64,
    },
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

impl Bus {
    /// Logs in within `login.within`; later losses reconnect automatically, without end.
    pub(crate) async fn connect(enrolment: &Enrolment, login: &Login) -> Result<Self, GateError> {
        let LoggedIn {
            client,
            reconnects,
            refused,
            violations,
        } = login.connect(enrolment).await?;
        Ok(Self {
            client,
            limit: login.exchange,
            reconnects,
            refused,
            violations,
            readings: Arc::new(Semaphore::new(READINGS)),
        })
    }

    pub(crate) fn connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// True while the bus refuses to let the agent come back: its login was taken away.
    pub(crate) fn login_refused(&self) -> watch::Receiver<bool> {
        self.refused.clone()
    }

    /// Changes from now on: with every connection that came back, and when messages were missed.
    pub(crate) fn reconnects(&self) -> watch::Receiver<u64> {
        let mut reconnects = self.reconnects.clone();
        reconnects.mark_unchanged();
        reconnects
    }

    pub(crate) async fn subscribe(&self, subject: String) -> Result<Subscriber, GateError> {
        match timeout(self.limit, self.client.subscribe(subject)).await {
            Ok(Ok(subscriber)) => Ok(subscriber),
            Ok(Err(error)) => Err(unreachable(error)),
            Err(_) => Err(unreachable("no answer")),
        }
    }

    /// Sends without waiting for anybody; lost while the connection is down.
    pub(crate) async fn send(&self, subject: String, payload: Bytes) {
        if self.connected() {
            // Fails only while the client closes.
            let _ = timeout(self.limit, self.client.publish(subject, payload)).await;
        }
    }

    /// Publishes and waits until the stream has it. With `first` it must be the
    /// subject's first message.
    pub(crate) async fn store(
        &self,
        subject: &str,
        payload: Bytes,
        first: bool,
    ) -> Result<Placed, BusFault> {
        let mut request = Request::new().payload(payload);
        if first {
            let mut headers = HeaderMap::new();
            headers.insert(EXPECTED_LAST, "0");
            request = request.headers(headers);
        }
        let reply = self.exchange(subject, request).await?;
        match serde_json::from_slice(&reply.payload) {
            Ok(Acknowledgement::Stored { .. }) => Ok(Placed::Now),
            Ok(Acknowledgement::Refused { error }) => match error.err_code {
                ALREADY_STORED if first => Ok(Placed::Before),
                code if PASSING.contains(&code) => {
                    Err(BusFault::Busy(format!("{} ({code})", error.description)))
                }
                code => Err(BusFault::Final(GateError::Refused {
                    code,
                    description: error.description,
                })),
            },
            // Somebody else than JetStream answered; that proves nothing.
            Err(_) => Err(BusFault::Passing("not an acknowledgement".into())),
        }
    }

    /// What is stored on the subject; none if nothing is.
    pub(crate) async fn direct_get(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StoredMessage>, BusFault> {
        let late = |_| BusFault::Passing("too many readings".into());
        let reading = timeout(self.limit, self.readings.acquire())
            .await
            .map_err(late)?;
        let from = format!("$JS.API.DIRECT.GET.{stream}.{subject}");
        let reply = self.exchange(&from, Request::new()).await?;
        drop(reading);
        // A publisher may have stored a status of its own; what is stored has a sequence.
        let sequence = reply
            .headers
            .as_ref()
            .and_then(|headers| headers.get(SEQUENCE));
        if reply.status == Some(StatusCode::NOT_FOUND) && sequence.is_none() {
            return Ok(None);
        }
        let unusable = || BusFault::Passing("not the message that was asked for".into());
        let stored = stored_message(reply, stream).ok_or_else(unusable)?;
        if stored.subject == subject {
            Ok(Some(stored))
        } else {
            Err(unusable())
        }
    }

    /// What is stored on a `decision.` subject, or in a slot.
    pub(crate) async fn decision(&self, subject: &str) -> Result<Option<StoredMessage>, BusFault> {
        self.direct_get(Stream::Decisions.name(), subject).await
    }

    /// Sends what is buffered and closes, within the limit.
    pub(crate) async fn close(&self) {
        // Both fail only when the connection is gone already.
        let _ = timeout(self.limit, self.client.flush()).await;
        let _ = timeout(self.limit, self.client.drain()).await;
    }

    async fn exchange(&self, subject: &str, request: Request) -> Result<Message, BusFault> {
        if !self.connected() {
            return Err(BusFault::Disconnected);
        }
        // The limit below is the only one.
        let request = request.timeout(None);
        let answer = self.client.send_request(subject.to_owned(), request);
        let silent = || match self.violations.forbids(subject) {
            true => BusFault::Final(GateError::Forbidden {
                subject: subject.to_owned(),
            }),
            false => BusFault::Passing("no answer".into()),
        };
        match timeout(self.limit, answer).await {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(error)) => Err(match error.kind() {
                RequestErrorKind::TimedOut => silent(),
                RequestErrorKind::NoResponders => BusFault::NoStream,
                RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                    BusFault::Final(GateError::Refused {
                        code: 0,
                        description: error.to_string(),
                    })
                }
                RequestErrorKind::Other => BusFault::Passing(error.to_string()),
            }),
            Err(_) => Err(silent()),
        }
    }
}

impl BusFault {
    /// For an operation that is not tried again.
    pub(crate) fn into_error(self) -> GateError {
        match self {
            Self::Final(error) => error,
            Self::Passing(why) | Self::Busy(why) => GateError::Unreachable { why },
            Self::Disconnected => unreachable("the connection is down"),
            Self::NoStream => GateError::NoStreams,
        }
    }
}

pub(crate) fn unreachable(why: impl ToString) -> GateError {
    GateError::Unreachable {
        why: why.to_string(),
    }
}

fn stored_message(reply: Message, stream: &str) -> Option<StoredMessage> {
    let headers = reply.headers?;
    // Of a publisher's two values, one could be read in two ways. The server's are behind the publisher's.
    let only = |name: &str| {
        let mut values = headers.get_all(name).map(|value| value.as_str().to_owned());
        let value = values.next()?;
        values.next().is_none().then_some(value)
    };
    let last = |name: &str| {
        headers
            .get_all(name)
            .last()
            .map(|value| value.as_str().to_owned())
    };
    let stored_at: Timestamp = last("Nats-Time-Stamp")?.parse().ok()?;
    last("Nats-Stream")
        .is_none_or(|named| named == stream)
        .then_some(())?;
    Some(StoredMessage {
        subject: last("Nats-Subject")?,
        payload: reply.payload,
        key_header: only("CS-Key"),
        sig_header: only("CS-Sig"),
        stored_at: stored_at.get(),
        sequence: last(SEQUENCE)?.parse().ok()?,
    })
}
