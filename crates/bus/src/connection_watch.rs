//! Keeps the clock and the account fresh: every 30 s, after each reconnect, and before a request is called overdue.
//!
//! A failed question does not end the connection; the next one is asked later.

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
/// After this many failures in a row a person is warned. No caller can make it ask sooner.
const DEAF: u32 = 3;

/// How long after so many failures it is asked again.
fn pause_after(failed: u32) -> Duration {
    let doublings = failed.saturating_sub(DEAF).min(8);
    AGAIN.saturating_mul(1 << doublings).min(EVERY)
}

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
        let mut failed = 0_u32;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = wanted(&clock), if failed < DEAF => {}
                changed = reconnected.changed() => if changed.is_err() { return },
            }
            // The event for it may have been dropped in a flood of others.
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
                    failed = 0;
                }
                Err(error) => {
                    let code = error.code();
                    // Without a connection there is nobody to ask.
                    failed = if connected {
                        failed.saturating_add(1)
                    } else {
                        0
                    };
                    match failed {
                        DEAF => tracing::warn!(
                            code,
                            "the server does not report its time, and nothing expires until it does: let the console's login publish to `$SYS.REQ.USER.INFO` and hear the answer, see `countersign bus permissions`"
                        ),
                        _ => tracing::debug!(code, "the server's time could not be read"),
                    }
                    pause = pause_after(failed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_never_tells_its_time_is_asked_as_rarely_as_one_that_does() {
        let seconds = |failed| pause_after(failed).as_secs();
        assert_eq!([0, 1, 2, 3].map(seconds), [2; 4]);
        assert_eq!([4, 5, 6, 7].map(seconds), [4, 8, 16, 30]);
        assert_eq!(seconds(u32::MAX), 30);
    }
}
