//! Reads a stream from a sequence on, without end, in order, each message once.
//!
//! Refuses acknowledgements and server-side positions: the position is the caller's, committed with
//! its rows (protocol, section 7). Every doubt (a lost connection, a restarted server, a gap, a
//! silent consumer) is answered by a new consumer at the next wanted sequence.

use super::BusEvent;
use super::connection::Bus;
use super::publish::{KEY, SIGNATURE};
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, Context};
use bytes::Bytes;
use futures::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Messages that may wait for the reader.
const QUEUE: usize = 2_000;
/// Kibibytes of payload that may wait for the reader.
const QUEUE_KIB: u32 = 64 * 1024;
const PULL_MESSAGES: usize = 1_000;
const PULL_BYTES: usize = 16 * 1024 * 1024;
const PULL_EXPIRES: Duration = Duration::from_secs(10);
/// After twice this time of silence the consumer is thought dead.
const HEARTBEAT: Duration = Duration::from_secs(2);
const FORGET_CONSUMER_AFTER: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// One message as the stream has it.
#[derive(Debug)]
pub struct StreamMessage {
    /// The stream.
    pub stream: Arc<str>,
    /// Its sequence.
    pub seq: u64,
    /// When the server stored it, by the server's clock.
    pub stamp: OffsetDateTime,
    /// Its subject.
    pub subject: String,
    /// Header `CS-Key`.
    pub key: Option<String>,
    /// Header `CS-Sig`.
    pub sig: Option<String>,
    /// Header `KV-Operation` (`DEL` or `PURGE`), on key-value streams.
    pub(super) operation: Option<String>,
    /// The bytes.
    pub payload: Bytes,
    /// Its share of the queue, given back when the message is dropped.
    share: Option<OwnedSemaphorePermit>,
}

impl StreamMessage {
    pub(super) fn new(
        stream: impl Into<Arc<str>>,
        seq: u64,
        stamp: OffsetDateTime,
        subject: String,
        headers: &HeaderMap,
        payload: Bytes,
    ) -> Self {
        let text = |name| headers.get(name).map(|value| value.as_str().to_owned());
        Self {
            stream: stream.into(),
            seq,
            stamp,
            subject,
            key: text(KEY),
            sig: text(SIGNATURE),
            operation: text("KV-Operation"),
            payload,
            share: None,
        }
    }
}

impl Bus {
    /// Every message of the stream from `next_seq` (at least 1) on.
    ///
    /// The queue holds 2,000 messages or 64 MiB; a slow reader slows the reading, nothing is lost.
    /// It ends when the receiver is dropped or the bus is closed; while the stream cannot be read
    /// [`BusEvent::IntakeStalled`] tells why.
    pub fn subscribe(&self, stream: &str, next_seq: u64) -> mpsc::Receiver<StreamMessage> {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let intake = Intake {
            context: jetstream::new(self.client().clone()),
            bus_events: self.event_sender(),
            pull_bytes: PULL_BYTES.max(2 * self.max_payload()),
            stream: stream.into(),
            next: next_seq.max(1),
            budget: Arc::new(Semaphore::new(QUEUE_KIB as usize)),
            queue: queue.clone(),
        };
        let closing = self.closing().clone();
        tokio::spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = queue.closed() => {}
                () = intake.run() => {}
            }
        });
        receiver
    }
}

struct Intake {
    context: Context,
    bus_events: tokio::sync::broadcast::Sender<BusEvent>,
    pull_bytes: usize,
    stream: Arc<str>,
    next: u64,
    budget: Arc<Semaphore>,
    queue: mpsc::Sender<StreamMessage>,
}

/// The reader is gone.
struct Gone;

impl Intake {
    async fn run(mut self) {
        let mut failures = 0_u32;
        loop {
            let before = self.next;
            let why = match self.read().await {
                Ok(why) => why,
                Err(Gone) => return,
            };
            failures = if self.next > before {
                0
            } else {
                failures.saturating_add(1)
            };
            tracing::debug!(stream = %self.stream, next = self.next, why, "intake starts a new consumer");
            // The first trouble after progress is usual: a server restarts, a consumer is reset.
            if failures == 2 {
                // Nobody may be listening.
                let _ = self.bus_events.send(BusEvent::IntakeStalled {
                    stream: self.stream.to_string(),
                    why,
                });
            }
            tokio::time::sleep(pause(failures)).await;
        }
    }

    /// Reads through one consumer until something is wrong with it, and tells what.
    async fn read(&mut self) -> Result<String, Gone> {
        let consumer = match self.consumer().await {
            Ok(consumer) => consumer,
            Err(why) => return Ok(why),
        };
        let why = self.read_from(&consumer).await;
        let name = consumer.cached_info().name.clone();
        let delete = async {
            let stream = self.context.get_stream_no_info(&self.stream).await.ok()?;
            stream.delete_consumer(&name).await.ok()
        };
        // The server forgets it by itself; 1,000 on one stream is its limit.
        let _ = tokio::time::timeout(super::connection::REQUEST_LIMIT, delete).await;
        why
    }

    async fn consumer(&self) -> Result<PullConsumer, String> {
        let config = pull::Config {
            description: Some("Countersign console".into()),
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: self.next,
            },
            ack_policy: AckPolicy::None,
            inactive_threshold: FORGET_CONSUMER_AFTER,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let create = self
            .context
            .create_consumer_on_stream(config, &*self.stream);
        match tokio::time::timeout(super::connection::REQUEST_LIMIT, create).await {
            Ok(Ok(consumer)) => Ok(consumer),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("no answer to the creation of a consumer".into()),
        }
    }

    async fn read_from(&mut self, consumer: &PullConsumer) -> Result<String, Gone> {
        let open = consumer
            .stream()
            .max_messages_per_batch(PULL_MESSAGES)
            .max_bytes_per_batch(self.pull_bytes)
            .expires(PULL_EXPIRES)
            .heartbeat(HEARTBEAT)
            .messages();
        let mut messages = match tokio::time::timeout(super::connection::REQUEST_LIMIT, open).await
        {
            Ok(Ok(messages)) => messages,
            Ok(Err(error)) => return Ok(error.to_string()),
            Err(_) => return Ok("no answer to a pull".into()),
        };
        let mut delivered = 0;
        while let Some(message) = messages.next().await {
            let message = match message {
                Ok(message) => message,
                Err(error) => return Ok(error.to_string()),
            };
            let info = match message.info() {
                Ok(info) => info,
                Err(error) => return Ok(error.to_string()),
            };
            // The consumer counts what it sends; a jump means that something was lost on the way.
            if info.consumer_sequence != delivered + 1 {
                return Ok(format!(
                    "message {} of the consumer came after {delivered}",
                    info.consumer_sequence
                ));
            }
            delivered = info.consumer_sequence;
            let (seq, stamp) = (info.stream_sequence, info.published);
            if seq < self.next {
                continue;
            }
            self.hand_over(seq, stamp, message.message).await?;
            self.next = seq + 1;
        }
        Ok("the consumer ended".into())
    }

    async fn hand_over(
        &self,
        seq: u64,
        stamp: OffsetDateTime,
        message: async_nats::Message,
    ) -> Result<(), Gone> {
        let headers = message.headers.unwrap_or_default();
        let subject = message.subject.into_string();
        let mut message = StreamMessage::new(
            self.stream.clone(),
            seq,
            stamp,
            subject,
            &headers,
            message.payload,
        );
        let kib = u32::try_from(message.payload.len() / 1024 + 1)
            .unwrap_or(QUEUE_KIB)
            .min(QUEUE_KIB);
        let share = self.budget.clone().acquire_many_owned(kib).await;
        message.share = Some(share.map_err(|_| Gone)?);
        self.queue.send(message).await.map_err(|_| Gone)
    }
}

fn pause(failures: u32) -> Duration {
    if failures == 0 {
        return Duration::ZERO;
    }
    FIRST_PAUSE
        .saturating_mul(1 << failures.min(12))
        .min(LONGEST_PAUSE)
}
