//! One question from its first byte to its answer.
//!
//! A question that nobody awaits any more is closed: however this ends without an answer, the console learns it. A
//! question that another asked, or one that the journal keeps for a later process, is never taken back.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{DecisionVerdict, Stage, Withdraw, withdraw_subject};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::afterwards::{Afterwards, Why};
use crate::ask::Degraded;
use crate::clock::{Timer, wall_clock};
use crate::draft::What;
use crate::handle::AskHandle;
use crate::inner::Inner;
use crate::judge::{Asked, FirstSent, claimed_id};
use crate::outbox::{Letter, Slot};
use crate::receipts::Report;
use crate::resume::{end_entry, resume};
use crate::wait::{End, Wait};
use crate::{Ask, Decision, GateError};

pub(crate) async fn ask(
    inner: Arc<Inner>,
    ask: Ask,
    handle: AskHandle,
) -> Result<Decision, GateError> {
    if inner.closing.is_cancelled() {
        return Err(GateError::Closed);
    }
    let slot = inner.outbox.slot().ok_or(GateError::TooManyWaiting {
        limit: inner.max_waiting,
    })?;
    let lifetime = inner.lifetime(ask.lifetime);
    let raw = matches!(ask.what, What::Raw(_));
    let kept_since = ask.kept_since.filter(|_| raw);
    // The timer starts before the request leaves, so it ends before the server's deadline.
    let mut timer = Timer::resume(lifetime, kept_since.unwrap_or_default());
    connected(&inner, &timer).await?;
    if raw && kept_since.is_none() {
        // Its bytes name the whole lifetime, whenever they leave.
        timer = Timer::start(lifetime);
    }
    let info = &inner.info;
    let mut asked = ask
        .what
        .build(&inner.key, info, wall_clock(), timer.remaining())?;
    match kept_since {
        Some(_) => {
            asked.first_sent = FirstSent::Journal;
            timer.shorten(asked.lifetime);
        }
        None => timer.shorten(timer.elapsed() + asked.lifetime),
    }
    let (asked, timer, entry) = match (&inner.journal, ask.key) {
        (Some(journal), Some(key)) => {
            let resumed = resume(&inner, journal.clone(), key, asked, timer).await?;
            (resumed.asked, resumed.timer, Some(resumed.entry))
        }
        _ => (asked, timer, None),
    };
    let asked = Arc::new(asked);

    let waiter = inner.waiting.enter(&asked.key.request_id)?;
    let mut open = Open {
        owner: Arc::downgrade(&inner),
        runtime: Handle::current(),
        asked: Arc::clone(&asked),
        timer,
        slot: Some(slot),
        kept: entry.is_some() || kept_since.is_some(),
        reason: None,
    };
    let wait = Wait {
        bus: &inner.bus,
        outbox: &inner.outbox,
        looks: &inner.looks,
        timing: &inner.timing,
        asked: &asked,
        waiter: &waiter,
        handle: &handle,
        timer,
    };
    let end = tokio::select! {
        biased;
        () = handle.withdrawn() => {
            open.kept = false;
            end_entry(entry).await?;
            open.reason = handle.reason();
            let receipts = inner.receipts(&asked.key);
            let verdict = DecisionVerdict::Withdrawn;
            return Ok(Decision::unanswered(asked.key.clone(), verdict, handle.reason(), receipts));
        }
        () = inner.closing.cancelled() => {
            open.reason = Some("the agent is stopping".to_owned());
            return Err(GateError::Closed);
        }
        end = wait.run() => end,
    };
    if matches!(end, Err(GateError::AlreadyAsked { .. })) {
        open.settle();
        end_entry(entry).await?;
        return Err(end.err().unwrap_or(GateError::Closed));
    }
    let end = end?;
    // Before anything else: an answer is handed out once, whatever happens to this process from here on.
    end_entry(entry).await?;
    let slot = open.settle();
    if let End::Silence { travelled, .. } = end {
        if let Some(slot) = slot {
            let owner = Arc::downgrade(&inner);
            let asked = Arc::clone(&asked);
            let why = Why::Late { travelled };
            let later = Afterwards {
                owner,
                asked,
                slot,
                why,
            };
            inner.afterwards.spawn(later.watch(inner.closing.clone()));
        }
        return Ok(answer(&inner, &asked, None, end, None));
    }
    Ok(answer(&inner, &asked, slot, end, ask.degraded))
}

fn answer(
    inner: &Inner,
    asked: &Asked,
    slot: Option<Slot>,
    end: End,
    degraded: Option<Degraded>,
) -> Decision {
    let mut receipts = inner.receipts(&asked.key);
    match end {
        End::Answered(verified, stored) => {
            if let Some(slot) = slot {
                let id = verified.decision.decision_id.to_string();
                let degraded = degraded.map(|words| words(&verified.decision));
                let report = Report {
                    degraded: degraded.unwrap_or_default(),
                    ..Report::stage(Stage::Received)
                };
                receipts.begin(slot, id, report);
            }
            Decision::standing(asked, *verified, &stored, receipts)
        }
        End::Faulty(fault, stored) => {
            tracing::warn!(request = %asked.key, "a stored decision does not count: {fault}");
            let id = claimed_id(&stored.payload);
            if let Some(slot) = slot {
                let report = Report::saying(Stage::Refused, fault.as_str());
                receipts.begin(slot, id.clone(), report);
            }
            Decision::faulty(asked.key.clone(), fault, &stored, id, receipts)
        }
        End::Silence { unread, .. } => {
            let verdict = DecisionVerdict::Expired;
            Decision::unanswered(asked.key.clone(), verdict, None, receipts).unread_for(unread)
        }
    }
}

/// Nothing is sent while the connection is down: it would leave much later.
async fn connected(inner: &Inner, timer: &Timer) -> Result<(), GateError> {
    let mut reconnects = inner.bus.reconnects();
    let mut refused = inner.bus.login_refused();
    while !inner.bus.connected() {
        let limit = timer.remaining();
        if limit.is_zero() {
            let waited = timer.elapsed();
            return Err(GateError::NotPlaced {
                waited,
                refused: None,
            });
        }
        if inner.closing.is_cancelled() {
            return Err(GateError::Closed);
        }
        if *refused.borrow_and_update() {
            return Err(GateError::LoginRefused);
        }
        // Whichever comes first; looks again in any case.
        tokio::select! {
            Ok(()) = reconnects.changed() => {}
            Ok(()) = refused.changed() => {}
            () = sleep(limit.min(Duration::from_millis(500))) => {}
        }
    }
    Ok(())
}

/// A question that may be on the bus. Unless it is settled, dropping it publishes a withdrawal, for which room was set
/// aside.
struct Open {
    owner: Weak<Inner>,
    /// It may be dropped outside.
    runtime: Handle,
    asked: Arc<Asked>,
    timer: Timer,
    slot: Option<Slot>,
    /// The journal has it: it stays, and whoever asks with its key next gets the answer.
    kept: bool,
    reason: Option<String>,
}

impl Open {
    fn settle(&mut self) -> Option<Slot> {
        self.slot.take()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        if self.kept {
            return;
        }
        let reported = slot.post(withdrawal(&self.asked, self.reason.take()));
        let Some(inner) = self.owner.upgrade() else {
            return;
        };
        if inner.closing.is_cancelled() {
            return;
        }
        if let Some(slot) = inner.outbox.slot() {
            let owner = Weak::clone(&self.owner);
            let asked = Arc::clone(&self.asked);
            let timer = self.timer;
            let why = Why::Withdrawn { timer, reported };
            let later = Afterwards {
                owner,
                asked,
                slot,
                why,
            };
            let watch = later.watch(inner.closing.clone());
            inner.afterwards.spawn_on(watch, &self.runtime);
        }
    }
}

pub(crate) fn withdrawal(asked: &Asked, reason: Option<String>) -> Letter {
    // It counts whatever its body says.
    let payload = serde_json::to_vec(&Withdraw { v: 1, reason }).unwrap_or_default();
    Letter {
        subject: withdraw_subject(&asked.key),
        payload: Bytes::from(payload),
        first: true,
    }
}
