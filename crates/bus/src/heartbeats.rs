//! Heartbeats of agents: a plain subscription, nothing is stored.
//!
//! A heartbeat is dropped when the reader is late, or when it is larger than any real one: the next comes in 10 s
//! (protocol, section 1).

use super::connection::Bus;
use super::server_clock::ServerClock;
use async_nats::Subscriber;
use bytes::Bytes;
use futures::StreamExt;
use time::OffsetDateTime;
use tokio::sync::mpsc;

const SUBJECT: &str = "countersign.v1.alive.>";
const QUEUE: usize = 1_024;
const LARGEST: usize = 4 * 1024;

/// One heartbeat.
#[derive(Debug, Clone)]
pub struct Heartbeat {
    /// `countersign.v1.alive.{ws}.{agent}`, not yet checked against the grammar.
    pub subject: String,
    /// JSON `{v, instance_id}`, not yet checked.
    pub payload: Bytes,
    /// When it arrived, by the server's clock.
    pub at: OffsetDateTime,
}

impl Bus {
    /// Heartbeats from now on, also after reconnects.
    pub fn subscribe_heartbeats(&self) -> mpsc::Receiver<Heartbeat> {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let mut delivery = self.deliveries().now();
        let ended = queue.clone();
        let clock = self.clock().clone();
        let closing = self.closing().clone();
        let forward = async move {
            loop {
                let client = delivery.borrow_and_update().client.clone();
                if let Some(client) = client
                    && let Ok(heartbeats) = client.subscribe(SUBJECT).await
                {
                    forward(heartbeats, &queue, &clock).await;
                }
                // The client has ended; another one comes in its place.
                if delivery.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = ended.closed() => {}
                () = forward => {}
            }
        });
        receiver
    }
}

async fn forward(mut heartbeats: Subscriber, queue: &mpsc::Sender<Heartbeat>, clock: &ServerClock) {
    while let Some(message) = heartbeats.next().await {
        if message.payload.len() > LARGEST {
            continue;
        }
        let heartbeat = Heartbeat {
            subject: message.subject.into_string(),
            payload: message.payload,
            at: clock.now(),
        };
        if let Err(mpsc::error::TrySendError::Closed(_)) = queue.try_send(heartbeat) {
            return;
        }
    }
}
