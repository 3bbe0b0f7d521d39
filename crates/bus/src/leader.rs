//! Questions to JetStream that only a stream's leader answers.
//!
//! Direct get is not used: any replica answers it, and a replica may lag behind.

use super::BusError;
use super::connection::{self, Bus};
use super::message::StreamMessage;
use super::publish::RefusedBecause;
use async_nats::jetstream::stream::{Config, Info, RawMessage};
use async_nats::{Client, HeaderMap, HeaderName, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

const STREAM_NOT_FOUND: u64 = 10059;
const MESSAGE_NOT_FOUND: u64 = 10037;
/// Not enabled for the account, not enabled at all.
const NO_JETSTREAM: [u64; 2] = [10039, 10076];
/// The cluster is not available, is not led, the only server of a stream is away.
const NO_LEADER: [u64; 3] = [10008, 10009, 10118];

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

/// The stream as its leader knows it, or none when it does not exist.
pub(super) async fn stream_info(bus: &Bus, name: &str) -> Result<Option<Info>, BusError> {
    let subject = format!("$JS.API.STREAM.INFO.{name}");
    let info: Option<Info> = none_if(
        ask(bus, &subject, &serde_json::json!({})).await,
        STREAM_NOT_FOUND,
    )?;
    match info {
        Some(info) if !is_led(&info) => Err(BusError::NoLeader { what: subject }),
        info => Ok(info),
    }
}

/// While a stream of a cluster has no leader any of its servers answers, also one that lags behind.
fn is_led(info: &Info) -> bool {
    info.cluster
        .as_ref()
        .is_none_or(|cluster| cluster.leader.as_deref().is_some_and(|led| !led.is_empty()))
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

/// The streams of the account from the `offset`th on, as many as the server names at once; none behind the last.
pub(super) async fn list_streams(bus: &Bus, offset: usize) -> Result<Vec<Config>, BusError> {
    #[derive(serde::Deserialize)]
    struct Listed {
        config: Config,
    }
    #[derive(serde::Deserialize)]
    struct Page {
        streams: Option<Vec<Listed>>,
    }
    let question = serde_json::json!({ "offset": offset });
    let page: Page = ask(bus, "$JS.API.STREAM.LIST", &question).await?;
    let streams = page.streams.unwrap_or_default();
    Ok(streams.into_iter().map(|stream| stream.config).collect())
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
        let api = message_get(stream);
        got(stream, &api, ask(self, &api, &question).await)
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

    /// Subjects of messages from `first` to `last`, at so many even steps; of those that were removed, of the next
    /// one. Errors as [`Bus::read_last`].
    pub async fn sampled(
        &self,
        stream: &str,
        first: u64,
        last: u64,
        samples: u64,
    ) -> Result<BTreeMap<u64, String>, BusError> {
        let step = (last.saturating_sub(first) / samples.max(1)).max(1);
        let mut found = BTreeMap::new();
        for sample in 0..samples {
            let seq = first.saturating_add(sample * step);
            if let Some(message) = self.read_next(stream, ">", seq).await? {
                found.insert(message.seq, message.subject);
            }
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
        let api = message_get(stream);
        got(stream, &api, ask(self, &api, &question).await)
    }
}

/// The first message at or after `seq`: as JSON, whatever its subject and headers hold.
pub(super) async fn message_at(
    client: &Client,
    stream: &str,
    seq: u64,
) -> Result<Option<StreamMessage>, BusError> {
    let question = NextBySubject {
        seq,
        next_by_subj: ">",
    };
    let api = message_get(stream);
    let body = body(&api, &question)?;
    let reply = connection::request(client, &api, None, body).await?;
    got(stream, &api, answer(&api, &reply.payload))
}

fn message_get(stream: &str) -> String {
    format!("$JS.API.STREAM.MSG.GET.{stream}")
}

fn got(
    stream: &str,
    api: &str,
    answer: Result<GotMessage, BusError>,
) -> Result<Option<StreamMessage>, BusError> {
    match none_if(answer, MESSAGE_NOT_FOUND)? {
        None => Ok(None),
        Some(got) => stored(stream, got.message)
            .map(Some)
            .map_err(|why| unreadable(api, why)),
    }
}

fn stored(stream: &str, raw: RawMessage) -> Result<StreamMessage, String> {
    let decode = |text: &str| STANDARD.decode(text).map_err(|error| error.to_string());
    let headers = match &raw.headers {
        Some(text) => read_headers(&decode(text)?),
        None => Some(HeaderMap::new()),
    };
    let unreadable = headers.is_none() || !is_readable(&raw.subject);
    let mut message = StreamMessage::new(
        stream,
        raw.sequence,
        raw.time,
        raw.subject,
        &headers.unwrap_or_default(),
        decode(&raw.payload)?.into(),
    );
    message.unreadable = unreadable;
    Ok(message)
}

/// `NATS/1.0` and then a `Name: value` a line, where a line may go on in those after it; none where the client cannot
/// read it from the wire, or takes it for word of the server: then no agent reads it either.
fn read_headers(block: &[u8]) -> Option<HeaderMap> {
    let mut lines = std::str::from_utf8(block).ok()?.lines().peekable();
    let status = lines.next()?.strip_prefix("NATS/1.0")?;
    if !status.trim().is_empty() {
        return None;
    }
    let mut headers = HeaderMap::new();
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let (name, value) = line.split_once(':')?;
        let name: HeaderName = name.parse().ok()?;
        let mut value = value.trim_start().to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with(char::is_whitespace)) {
            value.push_str(more);
        }
        headers.append(name, value.trim_end().parse::<HeaderValue>().ok()?);
    }
    Some(headers)
}

/// The server puts U+FFFD where bytes are not UTF-8, and the client ends a subject at any white space.
fn is_readable(subject: &str) -> bool {
    !subject.contains(|c: char| c == char::REPLACEMENT_CHARACTER || c.is_whitespace())
}

/// Asks JetStream's API and returns its errors with their codes.
pub(super) async fn ask<T: DeserializeOwned>(
    bus: &Bus,
    subject: &str,
    question: &impl Serialize,
) -> Result<T, BusError> {
    let body = body(subject, question)?;
    let reply = bus.request(subject, None, body).await?;
    answer(subject, &reply.payload)
}

fn body(subject: &str, question: &impl Serialize) -> Result<Bytes, BusError> {
    let body = serde_json::to_vec(question);
    body.map(Bytes::from)
        .map_err(|error| unreadable(subject, error.to_string()))
}

fn answer<T: DeserializeOwned>(subject: &str, payload: &[u8]) -> Result<T, BusError> {
    match serde_json::from_slice(payload) {
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
    if NO_LEADER.contains(&error.err_code) {
        return BusError::NoLeader {
            what: subject.into(),
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
