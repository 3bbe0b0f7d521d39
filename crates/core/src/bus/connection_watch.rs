//! Keeps the clock and the account fresh: every 30 s and after each reconnect.
//!
//! Refuses to end the connection over a failed question; the next one is asked later.

use super::connection::{Bus, ask_server, weaknesses};
use async_nats::connection::State;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(30);
/// After a failure the clock is asked again sooner.
const AGAIN: Duration = Duration::from_secs(2);

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
                changed = reconnected.changed() => if changed.is_err() { return },
            }
            // An event that told of it may have been dropped in a flood of others.
            let connected = client.connection_state() == State::Connected;
            state.send_if_modified(|state| {
                std::mem::replace(&mut state.connected, connected) != connected
            });
            match ask_server(&client).await {
                Ok((info, offset)) => {
                    clock.adjust(offset);
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
