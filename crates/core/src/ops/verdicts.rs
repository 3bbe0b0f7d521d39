//! Gives verdicts and takes held ones back, for every front end.

use std::time::Duration;

use countersign_wire::{Origin, RequestKey, Risk, Verdict};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::decide::undo;
use super::job::{Accepted, DecideCommand, Job, Refused};
use super::publisher::Settled;
use super::{edited, response};
use crate::Fault;
use crate::domain::{DecideRefusal, State, Timestamp, already};
use crate::runtime::{App, Role};
use crate::store::{decisions, outbox, request_list};

/// How long a caller waits for the stream; afterwards the decision is queued.
pub(super) const SETTLE_LIMIT: Duration = Duration::from_secs(5);
/// How long a verdict waits until the past is read.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(30);
/// How long the anchor of a dangerous approval may hold up the answer.
const ANCHOR_LIMIT: Duration = Duration::from_secs(1);
/// Who was first where an agent no longer asks.
pub(super) const WITHDREW: &str = "the agent withdrew first";
const PROJECTED_LOOK: Duration = Duration::from_millis(50);
const SEEN_LIMIT: Duration = Duration::from_secs(2);
const SEEN_LOOK: Duration = Duration::from_millis(10);

/// A verdict that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// Held, not sent; can be undone until then.
    Held {
        /// When it is signed and sent.
        release_at: Timestamp,
    },
    /// The stream has acknowledged it.
    Stored {
        /// As sent: `terminate` may have become `deny`.
        verdict: Verdict,
        /// Its id.
        decision_id: Uuid,
        /// Its sequence in `CS_DECISIONS`.
        seq: u64,
    },
    /// It is one of several votes and is on the stream; other operators are waited for.
    Voted {
        /// `approve` or `modify`.
        verdict: Verdict,
        /// The vote's id.
        vote_id: Uuid,
        /// Its sequence in `CS_DECISIONS`.
        seq: u64,
    },
}

impl App {
    /// Gives a verdict and waits for the stream's acknowledgement, unless it is held.
    ///
    /// # Errors
    /// Those of the command line contract; `ErrorCode::Queued` when the bus did not answer: the
    /// decision then stays in the outbox.
    pub async fn decide(&self, mut command: DecideCommand) -> Result<Decided, Fault> {
        self.knows_the_past().await?;
        let key = command.key.clone();
        let human = command.origin == Origin::Operator && command.verdict.lets_it_run();
        self.fit(&mut command).await?;
        let (reply, accepted) = oneshot::channel();
        self.submit(Job::Decide(Box::new(command), reply)).await?;
        match self.answer(accepted).await? {
            Err(refused) => Err(self.explain(&key, refused).await),
            Ok(Accepted::Held { release_at }) => Ok(Decided::Held { release_at }),
            Ok(Accepted::Voted {
                verdict,
                vote_id,
                settled,
            }) => {
                let decided = self.voted(&key, verdict, vote_id, settled).await;
                if is_dangerous(self, &key).await {
                    self.anchor().await;
                }
                decided
            }
            Ok(Accepted::Queued {
                verdict,
                decision_id,
                risk,
                settled,
            }) => {
                let seq = self.settled(&key, settled).await?;
                if human && risk >= Risk::High {
                    self.anchor().await;
                }
                Ok(Decided::Stored {
                    verdict,
                    decision_id,
                    seq,
                })
            }
        }
    }

    /// Holds what an operator wrote against what the request says of it.
    async fn fit(&self, command: &mut DecideCommand) -> Result<(), Fault> {
        if !matches!(command.verdict, Verdict::Respond | Verdict::Modify) {
            return Ok(());
        }
        let Some(row) = request_list::by_key(self.reader(), &command.key).await? else {
            return Ok(());
        };
        // Of one that is over another refusal says more.
        if !row.state.parse().is_ok_and(State::is_open) {
            return Ok(());
        }
        match command.verdict {
            Verdict::Respond => {
                let response = command.response.take();
                command.response = Some(response::fitted(&row.raw, response)?);
            }
            Verdict::Modify => {
                let checked = edited::checked(&row.raw, command.edited_args.as_ref());
                checked
                    .map_err(|error| Fault::invalid_args(format!("{}: {error}", command.key)))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Waits until everything on the bus is known; a console that will not know it says why.
    async fn knows_the_past(&self) -> Result<(), Fault> {
        if self.bus().is_none() || self.role() != Role::Console {
            return Ok(());
        }
        let (mut caught_up, mut health) = (self.caught_up(), self.health());
        let known = async {
            tokio::select! {
                _ = caught_up.wait_for(|done| *done) => None,
                // Then it stays in the outbox, and the bus decides who was first.
                () = self.is_cut_off() => None,
                health = health.wait_for(|health| health.read_only.is_some()) => {
                    health.ok().and_then(|health| health.read_only.clone())
                }
            }
        };
        match tokio::time::timeout(CATCH_UP_LIMIT, known).await {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(Fault::read_only(why)),
            Err(_) => Err(Fault::read_only(
                "still catching up with the bus; try again in a moment",
            )),
        }
    }

    /// Takes a held approval back.
    ///
    /// # Errors
    /// `ErrorCode::AlreadyDecided` when it is no longer held.
    pub async fn undo(&self, key: &RequestKey) -> Result<(), Fault> {
        let held = key.clone();
        let undone = self.ask(move |writer, batch| undo(writer, batch, &held));
        match undone.await? {
            Ok(()) => Ok(()),
            Err(refused) => Err(self.explain(key, refused).await),
        }
    }

    /// Puts the audit head on the bus. This may fail without failing the decision: the next anchor covers it.
    pub(crate) async fn anchor(&self) {
        let shared = &self.inner.shared;
        let (Some(bus), Some(realm)) = (self.bus(), shared.realm()) else {
            return;
        };
        let published = super::anchor::publish(shared, &bus, &realm);
        match tokio::time::timeout(ANCHOR_LIMIT, published).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the audit head is not anchored"),
            Err(_) => tracing::warn!("the audit head is not anchored yet"),
        }
    }

    async fn settled(
        &self,
        key: &RequestKey,
        settled: oneshot::Receiver<Settled>,
    ) -> Result<u64, Fault> {
        let connected = self.bus().is_some_and(|bus| bus.state().borrow().connected);
        // Without a connection nothing can settle before it is back.
        let limit = if connected {
            SETTLE_LIMIT
        } else {
            Duration::from_millis(100)
        };
        // Beside a console that stops, that console or the next one sends it: the store shows it.
        let settled = async {
            tokio::select! {
                settled = settled => settled.ok(),
                decision = self.projected(key) => Some(decision),
            }
        };
        match tokio::time::timeout(limit, settled).await {
            Ok(Some(Settled::Stored { seq, reads })) => {
                let reads = match reads {
                    Some(reads) => Some(reads),
                    None => {
                        self.seen(key).await;
                        self.state_of(key).await
                    }
                };
                match reads {
                    Some(State::Expired) => Err(Fault::too_late(key)),
                    Some(State::Void) => Err(Fault::failed(format!(
                        "the decision on {key} is stored but does not verify; check with `countersign operators list` whether this console's key is active"
                    ))),
                    Some(State::Withdrawn) => Err(already(key, State::Withdrawn, WITHDREW)),
                    _ => Ok(seq),
                }
            }
            Ok(Some(Settled::Lost { who })) => {
                self.seen(key).await;
                match self.state_of(key).await {
                    Some(State::Expired) => Err(Fault::too_late(key)),
                    state => {
                        let state = state.filter(|state| !state.is_open());
                        Err(already(key, state.unwrap_or(State::Decided), &who))
                    }
                }
            }
            Ok(Some(Settled::Late)) => Err(Fault::too_late(key)),
            Ok(Some(Settled::TakenBack { why })) => Err(Fault::not_approvable(format!(
                "the decision on {key} was recalled before it reached the bus: {why}"
            ))),
            Ok(None) | Err(_) => match self.health().borrow().store_failed.clone() {
                Some(why) => Err(Fault::read_only(format!(
                    "the decision on {key} was sent, but its result cannot be stored here: {why}"
                ))),
                None => Err(Fault::queued(key)),
            },
        }
    }

    /// What became of the outgoing decision, read from the store; only of use beside a console.
    async fn projected(&self, key: &RequestKey) -> Settled {
        if self.role() == Role::Console {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(PROJECTED_LOOK).await;
            let Ok(Some(decision)) = decisions::of_request(self.reader(), key).await else {
                continue;
            };
            let Ok(Some(row)) = request_list::by_key(self.reader(), key).await else {
                continue;
            };
            let ours = outbox::read(self.reader(), row.id).await;
            if matches!(ours, Ok(Some(out)) if out.state == "stored") {
                let seq = u64::try_from(decision.stream_seq).unwrap_or(0);
                return Settled::Stored { seq, reads: None };
            }
            let at = Timestamp(decision.stored_at);
            let who = super::decision_words::decision_summary(&decision.payload, at).1;
            return Settled::Lost { who };
        }
    }

    async fn state_of(&self, key: &RequestKey) -> Option<State> {
        let row = request_list::by_key(self.reader(), key).await.ok()??;
        row.state.parse().ok()
    }

    /// Waits until the decision is projected, so that who decides sees it when asking next. This may time out: the
    /// decision is on the stream.
    pub(super) async fn seen(&self, key: &RequestKey) {
        let look = async {
            while !matches!(decisions::of_request(self.reader(), key).await, Ok(Some(_))) {
                tokio::time::sleep(SEEN_LOOK).await;
            }
        };
        let _ = tokio::time::timeout(SEEN_LIMIT, look).await;
    }

    async fn explain(&self, key: &RequestKey, refused: Refused) -> Fault {
        match refused {
            Refused::NotFound => Fault::unknown(key, "history"),
            Refused::InvalidArgs(why) => Fault::invalid_args(format!("{key}: {why}")),
            Refused::ReadOnly(why) => Fault::read_only(why),
            Refused::Domain(refusal) => {
                let who = match refusal {
                    DecideRefusal::AlreadyDecided(_) => self.who_decided(key).await,
                    _ => String::new(),
                };
                refusal.fault(key, &who)
            }
        }
    }

    /// Who, what and when, as far as it is known here.
    async fn who_decided(&self, key: &RequestKey) -> String {
        let unknown = || "somebody was first".to_owned();
        if let Ok(Some(decision)) = decisions::of_request(self.reader(), key).await {
            let at = Timestamp(decision.stored_at);
            return super::decision_words::decision_summary(&decision.payload, at).1;
        }
        let Ok(Some(row)) = request_list::by_key(self.reader(), key).await else {
            return unknown();
        };
        let out = outbox::read(self.reader(), row.id).await.ok().flatten();
        match (out, row.decided_at.map(Timestamp)) {
            (Some(out), Some(at)) => super::decision_words::decision_summary(&out.payload, at).1,
            _ => match row.verdict {
                Some(verdict) => format!(
                    "{verdict} at {}",
                    row.decided_at
                        .map_or_else(String::new, |at| Timestamp(at).rfc3339())
                ),
                None => unknown(),
            },
        }
    }
}

/// Whether a call is of high or critical risk; one that cannot be read counts as such.
async fn is_dangerous(app: &App, key: &RequestKey) -> bool {
    let line = request_list::by_key(app.reader(), key).await.ok().flatten();
    line.is_none_or(|line| Risk::effective(&line.risk) >= Risk::High)
}
