//! One request's wait for its answer (protocol, section 1, "How an agent waits").
//!
//! Only a stored answer counts, read while the agent's own timer runs.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{
    DecisionFault, Tighten, Timestamp, VerifiedDecision, decision_subject, is_bound_by_limits,
    request_subject, tighten_subject,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::GateError;
use crate::bus::{Bus, BusFault, Placed, unreachable};
use crate::clock::{Timer, wall_clock};
use crate::handle::AskHandle;
use crate::judge::{Asked, FirstSent, StoredMessage, judge};
use crate::looks::Looks;
use crate::outbox::{Letter, Outbox};
use crate::timing::{Pace, Timing};
use crate::waiting::Waiter;

pub(crate) const LAST_LOOK: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How a wait ends.
#[derive(Debug)]
pub(crate) enum End {
    /// A valid decision.
    Answered(Box<VerifiedDecision>, StoredMessage),
    /// A decision is stored that does not count.
    Faulty(DecisionFault, StoredMessage),
    /// Nobody answered in time, as far as the bus showed.
    Silence {
        /// From the start of the timer until the bus had the request, so by no more is
        /// the server's deadline later than the timer's.
        travelled: Duration,
        /// Why the bus could not be read at the deadline.
        unread: Option<GateError>,
    },
}

pub(crate) struct Wait<'a> {
    pub(crate) bus: &'a Bus,
    pub(crate) outbox: &'a Outbox,
    pub(crate) looks: &'a Looks,
    pub(crate) timing: &'a Timing,
    pub(crate) asked: &'a Asked,
    pub(crate) waiter: &'a Waiter,
    pub(crate) handle: &'a AskHandle,
    pub(crate) timer: Timer,
}

impl Wait<'_> {
    pub(crate) async fn run(mut self) -> Result<End, GateError> {
        let subject = decision_subject(&self.asked.key);
        let refused = Mutex::default();
        let mut placing = pin!(place(self.bus, self.asked, &refused));
        // Its time may have run out while nobody waited: then nothing is published any more.
        let mut placed =
            self.asked.first_sent == FirstSent::Journal && self.timer.remaining().is_zero();
        let mut travelled = Duration::ZERO;
        let mut reconnects = self.bus.reconnects();
        let mut earlier = self.handle.earlier();
        let mut pace = Pace::new(self.timing);
        let mut patience = None;
        let mut shortened = false;
        loop {
            // How long the request has been there is known once it is placed.
            if placed && std::mem::take(&mut shortened) {
                self.tell_deadline();
            }
            let now = Instant::now();
            let end = now + self.timer.remaining();
            let mut soon = false;
            tokio::select! {
                biased;
                outcome = &mut placing, if !placed => {
                    placed = true;
                    travelled = self.timer.elapsed();
                    match outcome? {
                        Placed::Now => {
                            pace.placed();
                            continue;
                        }
                        Placed::Before => self.stood_before(),
                    }
                }
                () = self.waiter.hinted(), if pace.takes_hints() => soon = true,
                Ok(()) = reconnects.changed() => soon = true,
                Ok(()) = earlier.changed() => {
                    let until = *earlier.borrow_and_update();
                    shortened |= until.is_some_and(|until| self.shorten(until));
                    continue;
                }
                () = sleep_until(pace.next().min(end)) => {}
            }
            let last = self.timer.remaining().is_zero();
            // Until then nobody knows how long raw bytes were there, so how much of the timer is true.
            let mut unread = None;
            if placed || last || self.asked.first_sent != FirstSent::Unknown {
                match self.look(&subject, &mut patience, last).await? {
                    // An answer to another request of this id: that this one is not the first is said in a moment.
                    Look::Ends(End::Faulty(DecisionFault::WrongRequestDigest, _))
                        if !placed && !last =>
                    {
                        soon = true;
                    }
                    Look::Ends(end) => return Ok(end),
                    Look::Nothing => {}
                    Look::Again => soon = true,
                    Look::Unread(why) => {
                        soon = true;
                        unread = Some(why);
                    }
                }
            }
            if last && placed {
                return Ok(End::Silence { travelled, unread });
            } else if last {
                let waited = self.timer.elapsed();
                let refused = refused
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take();
                return Err(GateError::NotPlaced { waited, refused });
            }
            pace.looked(soon);
        }
    }

    async fn look(
        &self,
        subject: &str,
        until: &mut Option<Instant>,
        last: bool,
    ) -> Result<Look, GateError> {
        // A log that is read from its beginning goes on being read, whoever stops waiting for it.
        let limit = if last {
            LAST_LOOK
        } else {
            2 * self.timing.exchange
        };
        let stored = match timeout(limit, self.looks.decision(self.bus, subject)).await {
            Ok(Ok(Some(stored))) => stored,
            Ok(Ok(None)) => return Ok(Look::Nothing),
            Ok(Err(BusFault::Final(error))) => return Err(error),
            Ok(Err(BusFault::Passing(why))) => return Ok(Look::Unread(unreachable(why))),
            Ok(Err(_)) => return Ok(Look::Unread(self.away())),
            Err(_) => return Ok(Look::Unread(unreachable("no answer in time"))),
        };
        let lacking = self.looks.fault();
        let trust = self.looks.trust();
        match (
            judge(self.asked, &stored, &trust, self.timer.remaining()),
            lacking,
        ) {
            (Ok(verified), Some(fault)) if is_more_than_no(&verified) => {
                Ok(Look::Unread(GateError::Log(fault)))
            }
            (Err(fault), Some(lacking)) if may_change(fault) => {
                Ok(Look::Unread(GateError::Log(lacking)))
            }
            (Ok(verified), _) => Ok(Look::Ends(End::Answered(Box::new(verified), stored))),
            (Err(fault), None) if may_change(fault) && !last => {
                let patience = self.timing.unknown_key;
                match *until.get_or_insert_with(|| Instant::now() + patience) > Instant::now() {
                    true => Ok(Look::Again),
                    false => Ok(Look::Ends(End::Faulty(fault, stored))),
                }
            }
            (Err(fault), _) => Ok(Look::Ends(End::Faulty(fault, stored))),
        }
    }

    fn away(&self) -> GateError {
        match *self.bus.login_refused().borrow() {
            true => GateError::LoginRefused,
            false => unreachable("the connection is down"),
        }
    }

    /// The bus held the request already. Raw bytes may be from an earlier life of this agent: whether an own attempt
    /// was stored without an answer is undecidable, and only the agent's clock says for how long they were there.
    fn stood_before(&mut self) {
        if self.asked.first_sent != FirstSent::Unknown {
            return;
        }
        let passed = wall_clock().get() - self.asked.requested_at.get();
        let passed = Duration::try_from(passed).unwrap_or_default();
        let limit = passed.saturating_add(self.timer.remaining());
        self.timer = Timer::resume(self.asked.lifetime.min(limit), passed);
    }

    /// Whether the wait then ends earlier.
    fn shorten(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        let earlier = left < self.timer.remaining();
        if earlier {
            self.timer.shorten(self.timer.elapsed() + left);
        }
        earlier
    }

    /// The console shows the deadline that counts here.
    fn tell_deadline(&self) {
        let limit = self.timer.elapsed() + self.timer.remaining();
        let limit = time::Duration::try_from(limit).unwrap_or(countersign_wire::MAX_LIFETIME);
        let earlier = Tighten {
            v: 1,
            expires_at: Timestamp::new(self.asked.requested_at.get().saturating_add(limit)),
        };
        let Ok(payload) = serde_json::to_vec(&earlier) else {
            return;
        };
        let reported = self.outbox.post(Letter {
            subject: tighten_subject(&self.asked.key),
            payload: Bytes::from(payload),
            first: true,
        });
        if !reported {
            tracing::warn!(
                "the console was not informed of an earlier deadline: the outbox is full"
            );
        }
    }
}

enum Look {
    Ends(End),
    Nothing,
    Again,
    /// Whether anything is stored is not known.
    Unread(GateError),
}

/// What limits bind, and what needs a log in which nothing is missing.
fn is_more_than_no(verified: &VerifiedDecision) -> bool {
    let verdict = verified.decision.verdict.operator();
    verdict.is_some_and(is_bound_by_limits)
}

/// Whether an entry that is on its way to a replica of the stream could say otherwise.
fn may_change(fault: DecisionFault) -> bool {
    matches!(
        fault,
        DecisionFault::UnknownKey | DecisionFault::TooFewVotes | DecisionFault::BeyondLimit
    )
}

/// Stores the request, again after a loss. The bytes never change. "The subject is taken" ends it too: after a try
/// without an answer it is most likely this request that is there; if not, its decision names another `request_digest`.
/// Without such a try, and where the caller does not repeat its own bytes, it is another's. What the bus said when it
/// last refused it is left in `refused`.
async fn place(
    bus: &Bus,
    asked: &Asked,
    refused_with: &Mutex<Option<String>>,
) -> Result<Placed, GateError> {
    let subject = request_subject(&asked.key);
    let mut reconnects = bus.reconnects();
    let mut refused = bus.login_refused();
    let mut pause = Duration::from_millis(100);
    let mut may_stand = asked.first_sent != FirstSent::Now;
    loop {
        let outcome = bus.store(&subject, asked.payload.clone(), true).await;
        let busy = match &outcome {
            Err(BusFault::Busy(why)) => Some(why.clone()),
            _ => None,
        };
        *refused_with.lock().unwrap_or_else(PoisonError::into_inner) = busy;
        match outcome {
            Ok(Placed::Before) if !may_stand => {
                let request_id = asked.key.request_id.clone();
                return Err(GateError::AlreadyAsked { request_id });
            }
            Ok(placed) => return Ok(placed),
            Err(BusFault::Final(error)) => return Err(error),
            Err(BusFault::Disconnected) if *refused.borrow_and_update() => {
                return Err(GateError::LoginRefused);
            }
            Err(BusFault::Passing(_) | BusFault::Busy(_)) => may_stand = true,
            Err(BusFault::Disconnected | BusFault::NoStream) => {}
        }
        // Whichever comes first; then a little apart from the other requests.
        tokio::select! {
            Ok(()) = reconnects.changed() => {}
            Ok(()) = refused.changed() => {}
            () = sleep(pause) => {}
        }
        sleep(pause.mul_f64(rand::random_range(0.1..0.5))).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
