//! What both transports do with a request: who sent it, is there room, translate, store.

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::Sha256Digest;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::decode::Body;
use super::status::{Reason, Refused};
use super::{Options, Sink};
use crate::translate::{Refusal, Sender, translate};

/// Export requests that are read, translated or stored at the same time; each has at most [`super::BODY_MAX`] bytes.
const REQUESTS: usize = 8;
/// How long a request waits for its turn before its sender is asked to slow down.
const TURN: Duration = Duration::from_millis(500);
/// How long the sink may take.
const STORED: Duration = Duration::from_secs(20);

/// What was done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// Spans that were refused for good.
    pub(super) refused: usize,
    /// Why the first of them was.
    pub(super) why: Option<Refusal>,
}

impl Taken {
    /// The count and the sentence of a partial success.
    pub(super) fn partial(self) -> Option<(i64, String)> {
        let why = self.why?;
        let count = i64::try_from(self.refused).unwrap_or(i64::MAX);
        Some((count, why.to_string()))
    }
}

/// Shared by the transports.
pub(super) struct Intake {
    options: Options,
    sink: Arc<dyn Sink>,
    turns: Arc<Semaphore>,
}

impl Intake {
    pub(super) fn new(options: Options, sink: Arc<dyn Sink>) -> Self {
        Self {
            options,
            sink,
            turns: Arc::new(Semaphore::new(REQUESTS)),
        }
    }

    /// Who sends, by the header `Authorization`.
    pub(super) fn sender(&self, authorization: Option<&[u8]>) -> Result<Sender, Refused> {
        let refused = |message: &str| Refused::new(Reason::Unauthenticated, message);
        let Some(given) = authorization else {
            if self.options.require_token {
                return Err(refused(
                    "this receiver takes nothing without a token: send the header Authorization: Bearer TOKEN",
                ));
            }
            return Ok(Sender::Anybody(self.options.workspace.clone()));
        };
        let token = given
            .split_at_checked(7)
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "))
            .map(|(_, token)| token.trim_ascii());
        // By its digest, so that the time of the comparison reveals nothing about a token.
        let agent = token.and_then(|token| {
            let digest = Sha256Digest::of_bytes(token);
            self.options.tokens.get(&digest)
        });
        agent
            .map(|agent| Sender::Agent(agent.clone()))
            .ok_or_else(|| refused("no agent of this receiver has that token"))
    }

    /// Waits for room; held until the answer is known.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit, Refused> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        match tokio::time::timeout(TURN, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Refused::new(
                Reason::Busy,
                "more spans come than can be stored; send again later",
            )),
        }
    }

    /// Translates and stores; done when all of it is stored.
    pub(super) async fn take(
        &self,
        body: impl Into<Body>,
        sender: Sender,
    ) -> Result<Taken, Refused> {
        let Body {
            request,
            refused,
            why,
        } = body.into();
        // Some milliseconds of work for a large request: the other tasks go on meanwhile.
        let translated = tokio::task::spawn_blocking(move || translate(&request, &sender))
            .await
            .map_err(|_| Refused::new(Reason::Unavailable, "the console stops"))?;
        let taken = Taken {
            refused: refused + translated.refused,
            why: why.or(translated.why),
        };
        if translated.events.is_empty() {
            return Ok(taken);
        }
        let stored = self.sink.store(translated.events);
        match tokio::time::timeout(STORED, stored).await {
            Ok(Ok(())) => Ok(taken),
            Ok(Err(error)) => Err(Refused::new(Reason::Unavailable, error.to_string())),
            Err(_) => Err(Refused::new(
                Reason::Unavailable,
                format!("not stored within {} s", STORED.as_secs()),
            )),
        }
    }
}
