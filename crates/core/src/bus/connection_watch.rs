//! Keeps the clock and the account fresh: every 30 s, after each reconnect, and before a request is called overdue.
//!
//! Refuses to end the connection over a failed question; the next one is asked later.

use super::connection::{Bus, ask_server, weaknesses};
use super::server_clock::ServerClock;
use async_nats::connection::State;
use std::time::Duration;
use tokio::time::Instant;

const EVERY: Duration = Duration::from_secs(30);
/// Between two questions that somebody wants.
const WANTED_PAUSE: Duration = Duration::from_millis(50);
/// After a failure the clock is asked again sooner.
const AGAIN: Duration = Duration::from_secs(2);

/// Waits until somebody wants to know the time better, and not in a hurry.
async fn wanted(clock: &ServerClock) {
    tokio::time::sleep(WANTED_PAUSE).await;
    clock.wanted().await;
}

pub(super) fn spawn(bus: &Bus, plain_text: bool) {
    let client = bus.client().clone();
    let clock = bus.clock().clone();
    let state = bus.state_sender();
    let closing = bus.closing().clone();
    let mut reconnected = bus.reconnected();
    let watch = async move {
        let mut pause = EVERY;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = wanted(&clock) => {}
                changed = reconnected.changed() => if changed.is_err() { return },
            }
            // An event that told of it may have been dropped in a flood of others.
            let connected = client.connection_state() == State::Connected;
            state.send_if_modified(|state| {
                std::mem::replace(&mut state.connected, connected) != connected
            });
            let asked = Instant::now();
            match ask_server(&client).await {
                Ok((info, offset)) => {
                    clock.answered(asked, offset);
                    // It was allowed at the first connect or refused there; now it is only shown.
                    let single = info.single_account(true).unwrap_or(true);
                    let insecure = weaknesses(&client, plain_text, single);
                    let version = client.server_info().version;
                    state.send_if_modified(|state| {
                        let changed = state.insecure != insecure || state.server_version != version;
                        state.insecure = insecure;
                        state.server_version = version;
                        changed
                    });
                    pause = EVERY;
                }
                Err(error) => {
                    tracing::debug!(code = error.code(), "the server's clock was not learned");
                    pause = AGAIN;
                }
            }
        }
    };
    tokio::spawn(async move {
        tokio::select! {
            () = closing.cancelled() => {}
            () = watch => {}
        }
    });
}
