//! Questions to JetStream that only a stream's leader answers.
//!
//! Refuses direct get, which any replica answers and which may lag behind.

use super::BusError;
use super::connection::Bus;
use super::message::StreamMessage;
use super::publish::RefusedBecause;
use async_nats::HeaderMap;
use async_nats::jetstream::stream::{Config, Info, RawMessage};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

const STREAM_NOT_FOUND: u64 = 10059;
const MESSAGE_NOT_FOUND: u64 = 10037;
/// Not enabled for the account, not enabled at all.
const NO_JETSTREAM: [u64; 2] = [10039, 10076];

#[derive(serde::Deserialize)]
struct GotMessage {
    message: RawMessage,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Answer<T> {
    Refused { error: RefusedBecause },
    Given(T),
}

#[derive(Serialize)]
struct NextBySubject<'a> {
    seq: u64,
    next_by_subj: &'a str,
}

#[derive(Serialize)]
struct LastBySubject<'a> {
    last_by_subj: &'a str,
}

/// The stream, or none when there is no such stream.
pub(super) async fn stream_info(bus: &Bus, name: &str) -> Result<Option<Info>, BusError> {
    let subject = format!("$JS.API.STREAM.INFO.{name}");
    none_if(
        ask(bus, &subject, &serde_json::json!({})).await,
        STREAM_NOT_FOUND,
    )
}

pub(super) async fn create_stream(bus: &Bus, config: &Config) -> Result<Info, BusError> {
    ask(
        bus,
        &format!("$JS.API.STREAM.CREATE.{}", config.name),
        config,
    )
    .await
}

pub(super) async fn update_stream(bus: &Bus, config: &Config) -> Result<Info, BusError> {
    ask(
        bus,
        &format!("$JS.API.STREAM.UPDATE.{}", config.name),
        config,
    )
    .await
}

impl Bus {
    /// The last message stored on a subject, read from the stream's leader (`STREAM.MSG.GET`).
    ///
    /// None when nothing is stored there. Errors: `bus_refused`, `bus_timed_out`,
    /// `bus_disconnected`, `bus_bad_reply`, `bus_no_jetstream`.
    pub async fn read_last(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, BusError> {
        let question = LastBySubject {
            last_by_subj: subject,
        };
        let api = format!("$JS.API.STREAM.MSG.GET.{stream}");
        let answer: Result<GotMessage, _> = ask(self, &api, &question).await;
        match none_if(answer, MESSAGE_NOT_FOUND)? {
            None => Ok(None),
            Some(got) => stored(stream, got.message)
                .map(Some)
                .map_err(|why| unreadable(&api, why)),
        }
    }
}

impl Bus {
    /// Sequence of the newest message between `first` and `last` that is still in a stream, or of a newer one; none
    /// when it holds none. The sequence that the stream names as its last may be one of a message that was removed,
    /// and asked for the last message the server then finds none: it is looked for by halves. Errors as
    /// [`Bus::read_last`].
    pub async fn last_stored(
        &self,
        stream: &str,
        first: u64,
        last: u64,
    ) -> Result<Option<u64>, BusError> {
        let (mut found, mut low, mut none) = (None, first, last.saturating_add(1));
        // Mostly it is the last.
        let mut at = last;
        while low < none {
            match self.read_next(stream, ">", at).await? {
                Some(message) => {
                    found = Some(message.seq);
                    low = message.seq + 1;
                }
                None => none = at,
            }
            at = low + none.saturating_sub(low) / 2;
        }
        Ok(found)
    }

    /// The first message at or after `seq` on a subject, from the stream's leader; none when there is
    /// none. Errors as [`Bus::read_last`].
    pub async fn read_next(
        &self,
        stream: &str,
        subject: &str,
        seq: u64,
    ) -> Result<Option<StreamMessage>, BusError> {
        let question = NextBySubject {
            seq,
            next_by_subj: subject,
        };
        let api = format!("$JS.API.STREAM.MSG.GET.{stream}");
        let answer: Result<GotMessage, _> = ask(self, &api, &question).await;
        match none_if(answer, MESSAGE_NOT_FOUND)? {
            None => Ok(None),
            Some(got) => stored(stream, got.message)
                .map(Some)
                .map_err(|why| unreadable(&api, why)),
        }
    }
}

fn stored(stream: &str, raw: RawMessage) -> Result<StreamMessage, String> {
    let decode = |text: &str| STANDARD.decode(text).map_err(|error| error.to_string());
    let headers = match &raw.headers {
        Some(text) => parse_headers(&decode(text)?),
        None => HeaderMap::new(),
    };
    Ok(StreamMessage::new(
        stream,
        raw.sequence,
        raw.time,
        raw.subject,
        &headers,
        decode(&raw.payload)?.into(),
    ))
}

/// `NATS/1.0` and then a `Name: value` a line.
fn parse_headers(bytes: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let text = String::from_utf8_lossy(bytes);
    for line in text.split("\r\n").skip(1) {
        if let Some((name, value)) = line.split_once(':')
            && let Ok(name) = name.parse::<async_nats::HeaderName>()
            && let Ok(value) = value.trim().parse::<async_nats::HeaderValue>()
        {
            headers.append(name, value);
        }
    }
    headers
}

/// Asks JetStream's API and tells its errors with their codes.
pub(super) async fn ask<T: DeserializeOwned>(
    bus: &Bus,
    subject: &str,
    question: &impl Serialize,
) -> Result<T, BusError> {
    let body =
        serde_json::to_vec(question).map_err(|error| unreadable(subject, error.to_string()))?;
    let reply = bus.request(subject, None, Bytes::from(body)).await?;
    match serde_json::from_slice(&reply.payload) {
        Ok(Answer::Given(value)) => Ok(value),
        Ok(Answer::Refused { error }) => Err(refused(subject, error)),
        Err(error) => Err(unreadable(subject, error.to_string())),
    }
}

fn refused(subject: &str, error: RefusedBecause) -> BusError {
    if NO_JETSTREAM.contains(&error.err_code) {
        return BusError::NoJetStream {
            why: error.description,
        };
    }
    BusError::Refused {
        what: subject.into(),
        code: error.err_code,
        description: error.description,
    }
}

fn none_if<T>(answer: Result<T, BusError>, absent: u64) -> Result<Option<T>, BusError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(BusError::Refused { code, .. }) if code == absent => Ok(None),
        Err(error) => Err(error),
    }
}

fn unreadable(what: &str, why: String) -> BusError {
    BusError::BadReply {
        what: what.into(),
        why,
    }
}
