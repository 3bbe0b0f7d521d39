//! Reads a stream from a sequence on, without end, in order, each message once.
//!
//! It uses no acknowledgements and no server-side positions: the position is the caller's, committed with its rows
//! (protocol, section 7). Every doubt (a lost connection, a restarted server, a gap, a silent consumer) is answered by
//! a new consumer at the next wanted sequence, if the stream is still the one that was read: another one of its name
//! counts anew, and what it holds below that sequence would never come. Before that the next message is requested
//! directly: no consumer gets past one that the client cannot read.

use super::connection::{Bus, REQUEST_LIMIT};
use super::delivery::Delivery;
use super::event::BusState;
use super::message::StreamMessage;
use super::{BusEvent, leader};
use async_nats::Client;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, Context};
use futures::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::Instant;

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
/// For this long after a message that the client cannot read the next ones are requested one by one: each one that
/// comes through a consumer costs all streams their connection.
const CAREFUL: Duration = Duration::from_secs(30);
/// So many are asked for at once then: one by one a slow link would carry fewer than agents send.
const AHEAD: usize = 16;
/// So many that were removed in a row are not asked for one by one: a stream that keeps the last message of each subject
/// has gaps of any width.
const GAP: u64 = AHEAD as u64;
/// How often they are looked for then.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Bus {
    /// Every message of the stream from `next_seq` (at least 1) on.
    ///
    /// The queue holds 2,000 messages or 64 MiB; a slow reader slows the reading, nothing is lost. It ends when the
    /// receiver is dropped or the bus is closed; while the stream cannot be read [`BusEvent::IntakeStalled`] says why,
    /// and while it is another one than at first [`BusEvent::StreamReplaced`].
    pub fn subscribe(&self, stream: &str, next_seq: u64) -> mpsc::Receiver<StreamMessage> {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let mut intake = Intake {
            client: self.client().clone(),
            context: jetstream::new(self.client().clone()),
            bus_events: self.event_sender(),
            connection: self.state(),
            delivery: self.deliveries().now(),
            consumer: None,
            careful_until: Instant::now(),
            pull_bytes: PULL_BYTES.max(2 * self.max_payload()),
            stream: stream.into(),
            made: None,
            replaced: false,
            next: next_seq.max(1),
            budget: Arc::new(Semaphore::new(QUEUE_KIB as usize)),
            queue: queue.clone(),
        };
        let closing = self.closing().clone();
        tokio::spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = queue.closed() => intake.forget_consumer().await,
                () = intake.run() => intake.forget_consumer().await,
            }
        });
        receiver
    }
}

struct Intake {
    /// The connection that asks; its state.
    client: Client,
    context: Context,
    connection: watch::Receiver<BusState>,
    bus_events: tokio::sync::broadcast::Sender<BusEvent>,
    /// The one on which messages come.
    delivery: watch::Receiver<Delivery>,
    /// Name of the consumer that exists on the server for this intake.
    consumer: Option<String>,
    careful_until: Instant,
    pull_bytes: usize,
    stream: Arc<str>,
    /// When the stream that was read first was made.
    made: Option<OffsetDateTime>,
    /// Whether another one was there in its place when it was last looked at.
    replaced: bool,
    next: u64,
    budget: Arc<Semaphore>,
    queue: mpsc::Sender<StreamMessage>,
}

/// The reader is gone.
struct Gone;

/// Why a consumer is read no further.
enum Ended {
    /// The connection on which messages come is lost, maybe by the next one.
    Lost,
    Failed(String),
}

/// How a reading ahead ended.
enum Ahead {
    /// Nothing more is to be read in this way now.
    Read,
    /// At a wide gap: what lies in it is not asked for.
    Gap,
    Failed(String),
}

impl Intake {
    async fn run(&mut self) {
        let mut failures = 0_u32;
        loop {
            let before = self.next;
            let why = match self.round().await {
                Ok(Ok(())) => {
                    failures = 0;
                    continue;
                }
                Ok(Err(why)) => why,
                Err(Gone) => return,
            };
            failures = if self.next > before {
                0
            } else {
                failures.saturating_add(1)
            };
            tracing::debug!(stream = %self.stream, next = self.next, why, "intake starts a new consumer");
            // The first trouble after progress is usual: a server restarts, a consumer is reset.
            if failures >= 2 {
                // Nobody may be listening.
                let stream = self.stream.to_string();
                let _ = self.bus_events.send(match self.replaced {
                    true => BusEvent::StreamReplaced { stream, why },
                    false => BusEvent::IntakeStalled { stream, why },
                });
            }
            tokio::time::sleep(pause(failures)).await;
        }
    }

    /// Reads through one consumer until something is wrong with it, then what it may have met; returns what was wrong
    /// unless it was the connection.
    async fn round(&mut self) -> Result<Result<(), String>, Gone> {
        // A request made while the connection is down would only be sent later, one for each try.
        let connected = self
            .connection
            .wait_for(|state| state.connected)
            .await
            .is_ok();
        if !connected {
            return Err(Gone);
        }
        let ended = self.read().await?;
        self.forget_consumer().await;
        if let Err(why) = self.read_singly().await? {
            return Ok(Err(why));
        }
        Ok(match ended {
            Ended::Lost => Ok(()),
            Ended::Failed(why) => Err(why),
        })
    }

    async fn read(&mut self) -> Result<Ended, Gone> {
        let client = self.delivery.borrow_and_update().connected();
        let Some(client) = client else {
            return Ok(Ended::Lost);
        };
        let mut delivery = self.delivery.clone();
        let context = jetstream::new(client);
        let made = tokio::select! {
            biased;
            made = self.create_consumer(&context) => made,
            _ = delivery.changed() => return Ok(Ended::Lost),
        };
        match made {
            Ok(consumer) => self.read_from(&consumer).await,
            Err(why) => Ok(Ended::Failed(why)),
        }
    }

    /// Requests messages one by one, on the connection that nothing in them can end: one, and all while there are some
    /// that the client cannot read or their own connection is away.
    async fn read_singly(&mut self) -> Result<Result<(), String>, Gone> {
        loop {
            if !self.connection.borrow().connected {
                return Ok(Ok(()));
            }
            let last = match self.is_the_same().await {
                Ok(last) => last,
                Err(why) => return Ok(Err(why)),
            };
            loop {
                match self.read_ahead(last).await? {
                    Ahead::Gap => {}
                    Ahead::Read => break,
                    Ahead::Failed(why) => return Ok(Err(why)),
                }
            }
            if !self.is_careful() {
                return Ok(Ok(()));
            }
            self.delivery.mark_unchanged();
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                // That it is there again ends the waiting.
                _ = self.delivery.changed() => {}
            }
        }
    }

    /// Reads up to `last`, or as far as it is needed, some at a time.
    async fn read_ahead(&mut self, last: u64) -> Result<Ahead, Gone> {
        let (client, stream) = (self.client.clone(), self.stream.clone());
        let at_once = if self.is_careful() { AHEAD } else { 1 };
        let mut ahead = futures::stream::iter(self.next..=last)
            .map(async |seq| (seq, leader::message_at(&client, &stream, seq).await))
            .buffered(at_once);
        while let Some((asked, read)) = ahead.next().await {
            let message = match read {
                Ok(Some(message)) => message,
                // The last ones were removed.
                Ok(None) => return Ok(Ahead::Read),
                Err(error) => return Ok(Ahead::Failed(error.to_string())),
            };
            let found = message.seq;
            // For one that was removed the next one comes, and comes again for itself.
            if found >= self.next {
                if message.unreadable {
                    self.careful_until = Instant::now() + CAREFUL;
                }
                self.hand_over(message).await?;
            }
            if !self.is_careful() {
                return Ok(Ahead::Read);
            }
            if found - asked > GAP {
                return Ok(Ahead::Gap);
            }
        }
        Ok(Ahead::Read)
    }

    fn is_careful(&self) -> bool {
        Instant::now() < self.careful_until || self.delivery.borrow().connected().is_none()
    }

    /// The server would forget it after 30 s; 1,000 on one stream is its limit.
    async fn forget_consumer(&mut self) {
        let Some(name) = self.consumer.take() else {
            return;
        };
        if !self.connection.borrow().connected {
            return;
        }
        let delete = async {
            let stream = self.context.get_stream_no_info(&self.stream).await.ok()?;
            stream.delete_consumer(&name).await.ok()
        };
        // Failing is usual here: the consumer may be what was wrong.
        let _ = tokio::time::timeout(REQUEST_LIMIT, delete).await;
    }

    /// Refuses a stream that is not the one that was read so far. Returns its last sequence.
    async fn is_the_same(&mut self) -> Result<u64, String> {
        self.replaced = false;
        let look = self.context.get_stream(&*self.stream);
        let stream = match tokio::time::timeout(REQUEST_LIMIT, look).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err("no answer to a look at the stream".into()),
        };
        let info = stream.cached_info();
        if *self.made.get_or_insert(info.created) != info.created {
            self.replaced = true;
            return Err("the stream was made anew".into());
        }
        if info.state.last_sequence + 1 < self.next {
            self.replaced = true;
            return Err(format!(
                "the stream went back to {}",
                info.state.last_sequence
            ));
        }
        Ok(info.state.last_sequence)
    }

    async fn create_consumer(&mut self, context: &Context) -> Result<PullConsumer, String> {
        self.is_the_same().await?;
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
        let create = context.create_consumer_on_stream(config, &*self.stream);
        match tokio::time::timeout(REQUEST_LIMIT, create).await {
            Ok(Ok(consumer)) => {
                self.consumer = Some(consumer.cached_info().name.clone());
                Ok(consumer)
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("no answer to the creation of a consumer".into()),
        }
    }

    async fn read_from(&mut self, consumer: &PullConsumer) -> Result<Ended, Gone> {
        let failed = |why: String| Ok(Ended::Failed(why));
        let open = consumer
            .stream()
            .max_messages_per_batch(PULL_MESSAGES)
            .max_bytes_per_batch(self.pull_bytes)
            .expires(PULL_EXPIRES)
            .heartbeat(HEARTBEAT)
            .messages();
        let opened = tokio::select! {
            biased;
            opened = tokio::time::timeout(REQUEST_LIMIT, open) => opened,
            _ = self.delivery.changed() => return Ok(Ended::Lost),
        };
        let mut messages = match opened {
            Ok(Ok(messages)) => messages,
            Ok(Err(error)) => return failed(error.to_string()),
            Err(_) => return failed("no answer to a pull".into()),
        };
        let mut delivered = 0;
        loop {
            let next = tokio::select! {
                // What came before the connection was lost is read, so that the next one is the one that it met.
                biased;
                next = messages.next() => next,
                // The consumer may not have survived, and what was under way to us did not.
                _ = self.delivery.changed() => return Ok(Ended::Lost),
            };
            let message = match next {
                Some(Ok(message)) => message,
                Some(Err(error)) => return failed(error.to_string()),
                None => return failed("the consumer ended".into()),
            };
            let info = match message.info() {
                Ok(info) => info,
                Err(error) => return failed(error.to_string()),
            };
            // The consumer counts what it sends; a jump means that something was lost on the way.
            if info.consumer_sequence != delivered + 1 {
                return failed(format!(
                    "message {} of the consumer came after {delivered}",
                    info.consumer_sequence
                ));
            }
            delivered = info.consumer_sequence;
            let (seq, stamp) = (info.stream_sequence, info.published);
            if seq < self.next {
                continue;
            }
            let message = self.stored(seq, stamp, message.message);
            self.hand_over(message).await?;
        }
    }

    fn stored(
        &self,
        seq: u64,
        stamp: OffsetDateTime,
        message: async_nats::Message,
    ) -> StreamMessage {
        let headers = message.headers.unwrap_or_default();
        let subject = message.subject.into_string();
        StreamMessage::new(
            self.stream.clone(),
            seq,
            stamp,
            subject,
            &headers,
            message.payload,
        )
    }

    async fn hand_over(&mut self, mut message: StreamMessage) -> Result<(), Gone> {
        let seq = message.seq;
        let kib = u32::try_from(message.payload.len() / 1024 + 1)
            .unwrap_or(QUEUE_KIB)
            .min(QUEUE_KIB);
        let share = self.budget.clone().acquire_many_owned(kib).await;
        message.share = Some(share.map_err(|_| Gone)?);
        self.queue.send(message).await.map_err(|_| Gone)?;
        self.next = seq + 1;
        Ok(())
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
