//! A connection of its own for what others wrote: the messages of streams, and heartbeats.
//!
//! Requests and their answers have a connection of their own. The client gives a connection up, or ends with a panic,
//! at a subject or a header block that it cannot read, and every agent can send one: what is published and asked must
//! not be lost with it.

use super::BusError;
use super::connection::{BusOptions, Order, first_connection, prepared, reconnect_pause};
use super::connection_events::{self, Reports};
use super::event::{BusEvent, BusState};
use async_nats::connection::State;
use async_nats::{Client, Event};
use parking_lot::Mutex;
use std::future::{Ready, ready};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Lost again within this time, it is not opened again at once: whoever sends such things may not stop.
const SOON: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(500);
/// Losses of that kind in a row before a warning. Streams cause fewer: they are then read in another way.
const REPORTED: u32 = 4;

/// The connection, from the first time that somebody asks for it.
pub(super) struct Deliveries {
    options: (BusOptions, Order),
    /// The connection that asks.
    bus: watch::Receiver<BusState>,
    events: broadcast::Sender<BusEvent>,
    closing: CancellationToken,
    now: OnceLock<watch::Receiver<Delivery>>,
}

/// The connection as it is now; each loss and each return is a change.
#[derive(Clone, Default)]
pub(super) struct Delivery {
    /// Keeps its subscriptions when it is lost and comes back; another one when it had ended.
    pub(super) client: Option<Client>,
    up: bool,
}

impl Delivery {
    /// The client, while it is connected.
    pub(super) fn connected(&self) -> Option<Client> {
        self.client.clone().filter(|_| self.up)
    }
}

impl Deliveries {
    pub(super) fn new(
        options: (BusOptions, Order),
        reported: &Reports,
        closing: CancellationToken,
    ) -> Self {
        Self {
            options,
            bus: reported.state.subscribe(),
            events: reported.events.clone(),
            closing,
            now: OnceLock::new(),
        }
    }

    pub(super) fn now(&self) -> watch::Receiver<Delivery> {
        let open = || {
            let (now, receiver) = watch::channel(Delivery::default());
            let (options, closing) = (self.options.clone(), self.closing.clone());
            let losses = Arc::new(Losses {
                bus: self.bus.clone(),
                events: self.events.clone(),
                last: Mutex::new((None, 0)),
            });
            tokio::spawn(async move {
                tokio::select! {
                    () = closing.cancelled() => {}
                    () = keep_open(&options, &now, &losses) => {}
                }
                // Ends with its last handle.
                now.send_replace(Delivery::default());
            });
            receiver
        };
        self.now.get_or_init(open).clone()
    }
}

async fn keep_open(
    options: &(BusOptions, Order),
    now: &watch::Sender<Delivery>,
    losses: &Arc<Losses>,
) {
    let mut failed = 0;
    loop {
        let ended = CancellationToken::new();
        let events = losses.events.clone();
        let reported = callback(now.clone(), events, ended.clone().drop_guard());
        match open(options, reported, Arc::clone(losses)).await {
            Ok(client) => {
                failed = 0;
                now.send_modify(|delivery| {
                    delivery.up = client.connection_state() == State::Connected;
                    delivery.client = Some(client);
                });
                ended.cancelled().await;
                now.send_replace(Delivery::default());
                losses.soon();
            }
            Err(error) => {
                failed += 1;
                tracing::warn!(%error, "the second connection, for what others wrote, was not opened: agents are not heard and messages are read one by one; see docs/outside-server.md");
            }
        }
        tokio::time::sleep(PAUSE.max(reconnect_pause(failed))).await;
    }
}

async fn open(
    (options, order): &(BusOptions, Order),
    reported: impl Fn(Event) -> Ready<()> + Send + Sync + 'static,
    losses: Arc<Losses>,
) -> Result<Client, BusError> {
    let (connect, address) = prepared(options, *order).await?;
    let opened = AtomicBool::new(false);
    let connect = connect
        .max_reconnects(None)
        .reconnect_delay_callback(move |attempt| {
            let pause = reconnect_pause(attempt);
            // The first time it is not a loss that is asked about, and later tries are about the same one.
            let lost = opened.swap(true, Relaxed) && attempt <= 1;
            if lost && losses.soon() {
                return pause.max(PAUSE);
            }
            pause
        })
        .event_callback(reported);
    first_connection(&address, connect).await
}

/// The client lets go of its callback when it ends, with a panic too.
fn callback(
    now: watch::Sender<Delivery>,
    events: broadcast::Sender<BusEvent>,
    until: DropGuard,
) -> impl Fn(Event) -> Ready<()> + Send + Sync + 'static {
    move |event| {
        let _until = &until;
        match event {
            Event::Connected => now.send_modify(|delivery| delivery.up = true),
            Event::Disconnected | Event::Closed => {
                now.send_modify(|delivery| delivery.up = false);
            }
            event => {
                if let Some(trouble) = connection_events::trouble(event) {
                    // Nobody may be listening.
                    let _ = events.send(trouble);
                }
            }
        }
        ready(())
    }
}

/// How often the connection was lost soon after it came.
struct Losses {
    bus: watch::Receiver<BusState>,
    events: broadcast::Sender<BusEvent>,
    last: Mutex<(Option<Instant>, u32)>,
}

impl Losses {
    /// Counts a loss; whether the one before was a moment ago.
    fn soon(&self) -> bool {
        let now = Instant::now();
        let mut last = self.last.lock();
        let (before, count) = *last;
        let soon = before.is_some_and(|before| now.duration_since(before) < SOON);
        // A server that is gone takes both connections.
        let alone = self.bus.borrow().connected;
        let count = if soon && alone { count + 1 } else { 0 };
        *last = (Some(now), count);
        if count == REPORTED {
            // Nobody may be listening.
            let _ = self.events.send(BusEvent::DeliveryLost);
        }
        soon
    }
}
