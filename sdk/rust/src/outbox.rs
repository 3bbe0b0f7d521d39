//! Receipts and withdrawals on their way to the bus.
//!
//! Each is retried, with growing pauses, until a stream has it, the bus refuses it for good, or ten minutes have
//! passed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::{self, OwnedPermit, error::TrySendError};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::bus::{Bus, BusFault};
use crate::clock::Timer;

const AT_ONCE: usize = 256;
const TRIED_FOR: Duration = Duration::from_secs(600);
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// One message to store.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) subject: String,
    pub(crate) payload: Bytes,
    /// It must be the subject's first message.
    pub(crate) first: bool,
}

struct Queued {
    letter: Letter,
    delivered: oneshot::Sender<()>,
}

/// Where letters are handed in; clones share it.
#[derive(Clone)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<Queued>,
    unsent: Arc<watch::Sender<usize>>,
}

/// Room for one letter, so that handing it in can neither wait nor fail.
pub(crate) struct Slot {
    permit: OwnedPermit<Queued>,
    unsent: Arc<watch::Sender<usize>>,
}

impl Outbox {
    /// Starts delivering, until `stop`.
    pub(crate) fn start(bus: Bus, capacity: usize, stop: CancellationToken) -> Self {
        Self::with_lanes(AT_ONCE, bus, capacity, stop)
    }

    /// As [`start`](Self::start), one letter after another: of two of one subject the later is stored later.
    pub(crate) fn in_order(bus: Bus, capacity: usize, stop: CancellationToken) -> Self {
        Self::with_lanes(1, bus, capacity, stop)
    }

    fn with_lanes(lanes: usize, bus: Bus, capacity: usize, stop: CancellationToken) -> Self {
        let (queue, letters) = mpsc::channel(capacity);
        let unsent = Arc::new(watch::Sender::new(0));
        let lanes = Arc::new(Semaphore::new(lanes));
        tokio::spawn(deliver_all(bus, letters, lanes, Arc::clone(&unsent), stop));
        Self { queue, unsent }
    }

    /// None when the outbox is full or stopped.
    pub(crate) fn slot(&self) -> Option<Slot> {
        let permit = self.queue.clone().try_reserve_owned().ok()?;
        let unsent = Arc::clone(&self.unsent);
        Some(Slot { permit, unsent })
    }

    /// Hands in a letter; false when the outbox is full or stopped.
    pub(crate) fn post(&self, letter: Letter) -> bool {
        let (delivered, _) = oneshot::channel();
        self.unsent.send_modify(|count| *count += 1);
        match self.queue.try_send(Queued { letter, delivered }) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {
                self.unsent.send_modify(|count| *count -= 1);
                false
            }
        }
    }

    /// Waits until everything is delivered; false after the limit.
    pub(crate) async fn empty(&self, limit: Duration) -> bool {
        let mut unsent = self.unsent.subscribe();
        timeout(limit, unsent.wait_for(|count| *count == 0))
            .await
            .is_ok()
    }
}

impl Slot {
    /// Hands in the letter; the receiver resolves when it is stored or given up.
    pub(crate) fn post(self, letter: Letter) -> oneshot::Receiver<()> {
        let (delivered, when) = oneshot::channel();
        self.unsent.send_modify(|count| *count += 1);
        self.permit.send(Queued { letter, delivered });
        when
    }
}

async fn deliver_all(
    bus: Bus,
    mut letters: mpsc::Receiver<Queued>,
    lanes: Arc<Semaphore>,
    unsent: Arc<watch::Sender<usize>>,
    stop: CancellationToken,
) {
    let work = async {
        while let Some(Queued { letter, delivered }) = letters.recv().await {
            let Ok(lane) = Arc::clone(&lanes).acquire_owned().await else {
                return;
            };
            let (bus, unsent, stop) = (bus.clone(), Arc::clone(&unsent), stop.clone());
            tokio::spawn(async move {
                stop.run_until_cancelled(deliver(&bus, &letter)).await;
                unsent.send_modify(|count| *count -= 1);
                // Nobody may be waiting for it.
                let _ = delivered.send(());
                drop(lane);
            });
        }
    };
    stop.run_until_cancelled(work).await;
}

async fn deliver(bus: &Bus, letter: &Letter) {
    let timer = Timer::start(TRIED_FOR);
    let mut reconnects = bus.reconnects();
    let mut pause = SHORTEST_PAUSE;
    loop {
        let payload = letter.payload.clone();
        let why = match bus.store(&letter.subject, payload, letter.first).await {
            Ok(_) => return,
            Err(BusFault::Final(error)) => error.to_string(),
            Err(_) if !timer.remaining().is_zero() => {
                // Whichever comes first; a closed client is noticed by the limit.
                let _ = timeout(pause, reconnects.changed()).await;
                sleep(pause.mul_f64(rand::random_range(0.1..0.5))).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
            Err(_) => "the bus did not take it in time".to_owned(),
        };
        tracing::warn!(subject = letter.subject, "not delivered: {why}");
        return;
    }
}
