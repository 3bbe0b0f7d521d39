//! Carries signed decisions from the outbox to the stream.
//!
//! Only the stream is believed: a refusal or silence is followed by a look at what is stored, and what is neither
//! stored nor overdue is tried again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{KeyRole, Risk, Stream, is_bound_by_limits};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::decision_words::{decision_summary, given, vote_summary};
use super::draft::{fits, request_of};
use super::job::Job;
use super::policy_feed::PolicyKnown;
use super::realm::{KeyStatus, TrustedKeys};
use super::recall::{Recall, voters};
use crate::bus::{Bus, Publication, PublishOutcome, refusal};
use crate::clock::Clock;
use crate::domain::controls::Controls;
use crate::domain::{RequestRecord, State, Timestamp};
use crate::store::outbox::{Kind, OutboxRow};

/// Decisions on their way at the same time.
const IN_FLIGHT: usize = 1_024;
/// Callers that are looked through for those who no longer wait.
const SWEEP: usize = 4_096;
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// What left this console longer ago is on the stream by now, unless the network holds it back: then it is stored when
/// it arrives, whatever was made of the request meanwhile.
const UNDER_WAY: Duration = Duration::from_secs(3);

/// A signed decision or vote to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) kind: Kind,
    pub(crate) id: Uuid,
    pub(crate) request: i64,
    pub(crate) subject: String,
    pub(crate) payload: Bytes,
    pub(crate) key: String,
    pub(crate) sig: String,
    /// From here on it would read as expired; none for answers that need no person.
    pub(crate) deadline: Option<Timestamp>,
    /// That of its request; none for answers that need no person.
    pub(crate) risk: Option<Risk>,
    /// Whether it comes from an earlier outbox: it may have left this console already, and what it was judged by may
    /// have changed.
    pub(crate) kept: bool,
}

impl Outgoing {
    /// A message as it is in the outbox, none while it is only held; `waiting` is its request, if that waits for it.
    pub(crate) fn of_row(row: &OutboxRow, waiting: Option<&RequestRecord>) -> Option<Self> {
        Some(Self {
            kind: row.kind,
            id: row.id.parse().ok()?,
            request: row.request,
            subject: row.subject.clone(),
            payload: row.payload.clone().into(),
            key: row.signer.clone(),
            sig: row.sig.clone()?,
            deadline: waiting.map(|record| record.deadline_at),
            risk: waiting.map(|record| record.risk),
            kept: false,
        })
    }
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The stream holds it.
    Stored {
        seq: u64,
        /// What it made of the request, where this process projects.
        reads: Option<State>,
    },
    /// The stream holds another one.
    Lost { who: String },
    /// Nothing is stored and the deadline has passed.
    Late,
    /// It may not go out any more, and nothing is stored: it is decided again.
    TakenBack { why: String },
}

/// What the writer does about an end, or about a try that failed and why; none of an end that the stream reports.
pub(crate) type Outcome = fn(&Outgoing, Result<&Settled, String>) -> Option<Job>;

/// What is known of a decision while it is carried.
struct Way {
    /// When it last may have left this console; none if it surely did not.
    left: Option<Instant>,
    /// Whether time has passed since it was judged.
    waited: bool,
}

/// Callers that wait for what became of their decision.
#[derive(Clone, Default)]
pub(crate) struct Settlements(Arc<Mutex<HashMap<Uuid, oneshot::Sender<Settled>>>>);

impl Settlements {
    /// Has `waiter` notified of what becomes of a decision.
    pub(crate) fn expect(&self, decision_id: Uuid, waiter: oneshot::Sender<Settled>) {
        let mut waiters = self.0.lock();
        if waiters.len() >= SWEEP {
            waiters.retain(|_, waiter| !waiter.is_closed());
        }
        waiters.insert(decision_id, waiter);
    }

    /// Whether a caller waits for this decision.
    pub(crate) fn awaits(&self, decision_id: &Uuid) -> bool {
        self.0.lock().contains_key(decision_id)
    }

    /// Answers whoever waits for a decision with what became of it.
    pub(crate) fn settle(&self, decision_id: &Uuid, settled: Settled) {
        let waiter = self.0.lock().remove(decision_id);
        if let Some(waiter) = waiter {
            // Nobody waits any more: the streams inform everybody else.
            let _ = waiter.send(settled);
        }
    }
}

/// What the publisher works with.
#[derive(Clone)]
pub(crate) struct Publisher {
    pub(crate) bus: watch::Receiver<Option<Bus>>,
    /// Whether the bus is the remembered one; nothing is sent before that is known.
    pub(crate) compared: watch::Receiver<bool>,
    pub(crate) stop: CancellationToken,
    /// Whether this process projects the streams.
    pub(crate) projects: bool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) trusted: TrustedKeys,
    pub(crate) controls: Arc<RwLock<Controls>>,
    /// Whether the controls are those of the last seconds.
    pub(crate) policy_known: PolicyKnown,
    pub(crate) jobs: mpsc::Sender<Job>,
    /// What the writer does about it.
    pub(crate) outcome: Outcome,
    pub(crate) settlements: Settlements,
    /// Decisions that are carried, and those that were taken back: no copy of these goes out any more.
    pub(crate) in_flight: Arc<Mutex<HashSet<Uuid>>>,
}

impl Publisher {
    /// Sends what comes until the queue closes. A decision that is on its way already is not sent twice.
    pub(crate) async fn run(self, mut queue: mpsc::Receiver<Outgoing>, tasks: TaskTracker) {
        let places = Arc::new(Semaphore::new(IN_FLIGHT));
        while let Some(outgoing) = queue.recv().await {
            let id = outgoing.id;
            if !self.in_flight.lock().insert(id) {
                continue;
            }
            let Ok(place) = places.clone().acquire_owned().await else {
                return;
            };
            let publisher = self.clone();
            tasks.spawn(async move {
                let taken_back = tokio::select! {
                    () = publisher.stop.cancelled() => false,
                    taken_back = publisher.carry(outgoing) => taken_back,
                };
                if !taken_back {
                    publisher.in_flight.lock().remove(&id);
                }
                drop(place);
            });
        }
    }

    /// The bus, once it is reached and compared.
    async fn sound_bus(&self) -> Option<Bus> {
        let mut compared = self.compared.clone();
        compared.wait_for(|compared| *compared).await.ok()?;
        let mut bus = self.bus.clone();
        let bus = bus.wait_for(Option::is_some).await.ok()?;
        bus.clone()
    }

    /// Carries it to its end; returns whether that is that it was taken back.
    async fn carry(&self, outgoing: Outgoing) -> bool {
        let mut wait = FIRST_WAIT;
        let mut way = Way {
            left: outgoing.kept.then(Instant::now),
            waited: outgoing.kept || !*self.compared.borrow(),
        };
        loop {
            let Some(bus) = self.sound_bus().await else {
                return false;
            };
            match self.try_once(&bus, &outgoing, &mut way).await {
                Ok(settled) => {
                    self.close(&outgoing, &settled).await;
                    let taken_back = matches!(settled, Settled::TakenBack { .. });
                    // Where the streams are projected, the projection answers: then it can be seen, too.
                    if !(self.projects && matches!(settled, Settled::Stored { .. })) {
                        self.settlements.settle(&outgoing.id, settled);
                    }
                    return taken_back;
                }
                Err(error) => {
                    tracing::warn!(subject = %outgoing.subject, %error, "a decision is not stored yet");
                    if let Some(attempt) = (self.outcome)(&outgoing, Err(error))
                        && self.jobs.send(attempt).await.is_err()
                    {
                        return false;
                    }
                }
            }
            way.waited = true;
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Notifies the writer of an end that the stream does not report.
    async fn close(&self, outgoing: &Outgoing, settled: &Settled) {
        let Some(job) = (self.outcome)(outgoing, Ok(settled)) else {
            return;
        };
        // A closed queue means that the console stops; the row is found at the start.
        let _ = self.jobs.send(job).await;
    }

    fn is_overdue(&self, outgoing: &Outgoing) -> bool {
        outgoing
            .deadline
            .is_some_and(|deadline| self.clock.now() >= deadline)
    }

    /// Why it may not go out now. A vote is never recalled: it counts for its key alone, whoever else votes, lets nothing
    /// run, and is smaller than the decision that it was measured by.
    fn recall(
        &self,
        bus: &Bus,
        outgoing: &Outgoing,
        standing: &KeyStatus,
        waited: bool,
    ) -> Option<Recall> {
        if outgoing.kind == Kind::Vote {
            return None;
        }
        if matches!(standing, KeyStatus::Ended { .. }) {
            return Some(Recall::KeyRetired);
        }
        if *standing == KeyStatus::Active && self.is_beyond_limit(outgoing) {
            return Some(Recall::BeyondLimit);
        }
        // What is sent at once was agreed a moment ago.
        if waited && self.lacks_a_vote(outgoing) {
            return Some(Recall::VoteGone);
        }
        let too_large = || fits(outgoing.payload.len(), bus.max_payload()).is_err();
        self.recalled_by_controls(outgoing, waited)
            .or_else(|| too_large().then_some(Recall::TooLarge))
    }

    /// Whether its key was limited to less than it says, after it was signed.
    fn is_beyond_limit(&self, outgoing: &Outgoing) -> bool {
        let (Some(risk), Some(request)) = (outgoing.risk, request_of(&outgoing.subject)) else {
            return false;
        };
        !self
            .trusted
            .may_allow(&outgoing.key, &request.workspace, risk)
            && given(&outgoing.payload).is_none_or(is_bound_by_limits)
    }

    /// Whether a key that voted for it was retired or limited after that.
    fn lacks_a_vote(&self, outgoing: &Outgoing) -> bool {
        let (Some(risk), Some(request)) = (outgoing.risk, request_of(&outgoing.subject)) else {
            return false;
        };
        voters(&outgoing.payload).iter().any(|voter| {
            let key = voter.as_str();
            let person = matches!(
                self.trusted.role(key),
                Some(KeyRole::Human | KeyRole::Device)
            );
            !person || !self.trusted.may_allow(key, &request.workspace, risk)
        })
    }

    /// Why panic, a pause or a stop recalls it. What a console sends at once was judged a moment ago.
    fn recalled_by_controls(&self, outgoing: &Outgoing, waited: bool) -> Option<Recall> {
        let known = self.policy_known.is_fresh();
        let controls = self.controls.read();
        // Nearly always so, and then nothing has to be read.
        if known && controls.none() && !waited {
            return None;
        }
        let (subject, payload) = (&outgoing.subject, &outgoing.payload);
        Recall::by_controls(&controls, known, self.clock.now(), subject, payload)
    }

    async fn try_once(
        &self,
        bus: &Bus,
        outgoing: &Outgoing,
        way: &mut Way,
    ) -> Result<Settled, String> {
        let mut why = "its deadline has passed".to_owned();
        let standing = self.trusted.standing(&outgoing.key);
        let recall = self.recall(bus, outgoing, &standing, way.waited);
        if let Some(recall) = &recall {
            why = format!("it was recalled: {recall}");
        } else if standing != KeyStatus::Active {
            why = "its key is not active, so another operator must decide".to_owned();
        } else if !self.is_overdue(outgoing) {
            let publication = Publication {
                subject: outgoing.subject.clone(),
                payload: outgoing.payload.clone(),
                key: Some(outgoing.key.clone()),
                sig: Some(outgoing.sig.clone()),
            };
            let published = bus.publish_once(publication).await;
            way.left = Some(Instant::now());
            why = match published {
                PublishOutcome::Stored { seq } => {
                    return Ok(Settled::Stored { seq, reads: None });
                }
                PublishOutcome::Refused { code, description } => refusal(code, &description),
                PublishOutcome::NoAnswer => "no acknowledgement".to_owned(),
            };
        }
        // Asked before the look: what left at the last moment must be seen by it.
        let still = way.left.is_none_or(|left| left.elapsed() >= UNDER_WAY);
        let stored = bus
            .read_last(Stream::Decisions.name(), &outgoing.subject)
            .await;
        match stored.map_err(|error| format!("{why}; {error}"))? {
            Some(message) => {
                let (id, who) = match outgoing.kind {
                    Kind::Decision => {
                        decision_summary(&message.payload, Timestamp::from(message.stamp))
                    }
                    Kind::Vote => vote_summary(&message.payload),
                };
                let ours = id.as_deref() == Some(outgoing.id.to_string().as_str());
                Ok(if ours {
                    Settled::Stored {
                        seq: message.seq,
                        reads: None,
                    }
                } else {
                    Settled::Lost { who }
                })
            }
            None if self.is_overdue(outgoing) => Ok(Settled::Late),
            None => match recall {
                Some(recall) if recall.is_set() && still && self.projects => {
                    let why = recall.to_string();
                    Ok(Settled::TakenBack { why })
                }
                _ => Err(why),
            },
        }
    }
}
