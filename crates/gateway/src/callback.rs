//! Callbacks: "look now", to whoever asked for one. They say nothing of what was decided.

use std::time::Duration;

use countersign_post::{Call, Post, signature};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::ask::{Ask, Callback, State};
use crate::moment::Moment;
use crate::tokens::Tokens;

const LIMIT: Duration = Duration::from_secs(10);
/// Of an answer that says nothing to the gateway.
const LARGEST: usize = 64 * 1024;
const GONE: u16 = 410;
/// At the same time: each may hold a thread that looks a name up, and claims need threads too.
const ROOM: usize = 16;

/// Sends them.
pub(crate) struct Callbacks {
    post: Post,
    tokens: Tokens,
    room: Semaphore,
}

impl Callbacks {
    pub(crate) fn new(post: Post, tokens: Tokens) -> Self {
        let room = Semaphore::new(ROOM);
        Self { post, tokens, room }
    }

    /// Tries once, when there is room; whether nothing more is to be tried.
    pub(crate) async fn is_over(&self, ask: impl Fn() -> Ask) -> bool {
        let _room = self.room.acquire().await;
        let ask = ask();
        let state = ask.state(&Moment::now());
        let Some(callback) = ask.callback.as_ref().filter(|_| state != State::Claimed) else {
            return true;
        };
        let Some(token) = self.tokens.get(&callback.token) else {
            return self.tokens.is_gone(&callback.token);
        };
        let status = self
            .send(&ask, state, callback, &token.callback_secret)
            .await;
        status.is_some_and(|status| (200..300).contains(&status) || status == GONE)
    }

    async fn send(&self, ask: &Ask, state: State, to: &Callback, secret: &str) -> Option<u16> {
        let now = Moment::now();
        let body = json!({
            "type": format!("ask.{state}"),
            "timestamp": now.after(0.0),
            "data": { "v": 1, "id": ask.id, "state": state },
        });
        let body = body.to_string().into_bytes();
        let (id, timestamp) = (format!("ask_{}", ask.id), now.wall as i64);
        let signed = signature(&[secret.to_owned()], &id, timestamp, &body);
        let call = Call {
            url: &to.url,
            headers: vec![
                (
                    "user-agent",
                    format!("countersign/{}", env!("CARGO_PKG_VERSION")),
                ),
                ("webhook-id", id.clone()),
                ("webhook-timestamp", timestamp.to_string()),
                ("webhook-signature", signed),
            ],
            body: Some(body),
            timeout: LIMIT,
            largest: LARGEST,
        };
        match self.post.notify(call).await {
            Ok((status, _)) => Some(status),
            Err(error) => {
                // The address may be a secret.
                tracing::info!(request = %ask.id, "the callback was not taken: {error}");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
