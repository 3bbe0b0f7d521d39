//! Turns the client's events into state, reconnect count and broadcast.
//!
//! Events are never waited for: the client waits for the callback before it reports the next event.

use super::event::{BusEvent, BusState, Insecure};
use super::largest::Largest;
use async_nats::{Client, Event, ServerError};
use std::future::{Ready, ready};
use tokio::sync::{broadcast, watch};

const EVENTS: usize = 256;

pub(super) struct Reports {
    pub(super) state: watch::Sender<BusState>,
    pub(super) events: broadcast::Sender<BusEvent>,
    pub(super) reconnects: watch::Sender<u64>,
    pub(super) largest: Largest,
}

impl Reports {
    pub(super) fn new(shown_url: &str) -> Self {
        let state = BusState {
            connected: false,
            url_without_secrets: shown_url.into(),
            server_version: String::new(),
            insecure: Vec::new(),
        };
        Self {
            state: watch::Sender::new(state),
            events: broadcast::Sender::new(EVENTS),
            reconnects: watch::Sender::new(0),
            largest: Largest::default(),
        }
    }

    pub(super) fn connected(&self, client: &Client, insecure: Vec<Insecure>) {
        self.state.send_modify(|state| {
            state.connected = client.connection_state() == async_nats::connection::State::Connected;
            state.server_version = client.server_info().version;
            state.insecure = insecure;
        });
    }

    pub(super) fn callback(&self) -> impl Fn(Event) -> Ready<()> + Send + Sync + 'static {
        let state = self.state.clone();
        let events = self.events.clone();
        let reconnects = self.reconnects.clone();
        let largest = self.largest.clone();
        let was_down = std::sync::atomic::AtomicBool::new(false);
        move |event| {
            use std::sync::atomic::Ordering::Relaxed;
            if is_too_large(&event) {
                largest.refused();
            }
            let reported = match event {
                Event::Connected => {
                    state.send_modify(|state| state.connected = true);
                    if was_down.swap(false, Relaxed) {
                        reconnects.send_modify(|count| *count += 1);
                    }
                    BusEvent::Connected
                }
                Event::Disconnected | Event::Closed => {
                    was_down.store(true, Relaxed);
                    state.send_modify(|state| state.connected = false);
                    BusEvent::Disconnected
                }
                event => match trouble(event) {
                    Some(trouble) => trouble,
                    None => return ready(()),
                },
            };
            // Nobody may be listening.
            let _ = events.send(reported);
            ready(())
        }
    }
}

/// The warning for an event that is neither the loss nor the return of a connection.
pub(super) fn trouble(event: Event) -> Option<BusEvent> {
    Some(match event {
        Event::LameDuckMode => BusEvent::LameDuck,
        Event::SlowConsumer(_) => BusEvent::SlowConsumer,
        Event::ServerError(ServerError::Other(text)) if is_violation(&text) => {
            BusEvent::PermissionsViolation(text)
        }
        Event::ServerError(error) => BusEvent::Error(error.to_string()),
        Event::ClientError(error) => BusEvent::Error(error.to_string()),
        Event::Connected | Event::Disconnected | Event::Closed | Event::Draining => return None,
    })
}

/// Whether the server ends the connection over a message that is larger than the account or the user may send.
fn is_too_large(event: &Event) -> bool {
    let Event::ServerError(ServerError::Other(text)) = event else {
        return false;
    };
    text.to_ascii_lowercase()
        .contains("maximum payload violation")
}

fn is_violation(text: &str) -> bool {
    text.to_ascii_lowercase().contains("permissions violation")
}
