//! Which event of a webhook is sent next, and what becomes of it. Pure: time is an argument.

use std::collections::{HashSet, VecDeque};

use countersign_store::feed_events::KeptEvent;

use crate::event::Event;
use crate::kept::Kept;
use crate::rest::{Rest, pause};

/// Calls at a time.
const AT_ONCE: usize = 8;
/// Refusals without one event that is taken: the receiver is away.
const IN_A_ROW: u32 = 20;
/// Events that were refused, or wait behind one, at most.
const MOST_KEPT: usize = 10_000;

/// What a receiver said to one try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Taken,
    Refused(String),
    /// Also how long it asks to be left alone, ms.
    Away(String, Option<i64>),
    /// It wants nothing ever again.
    Gone,
    /// There is nothing to send any more: its row is gone with a store that was put back.
    Missing,
}

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    New(Event),
    /// Its body is made from its row.
    Kept(KeptEvent),
}

impl Next {
    fn parts(&self) -> (&str, &str, i64) {
        match self {
            Self::New(event) => (&event.id, &event.subject, event.seq),
            Self::Kept(event) => (&event.id, &event.subject, event.seq),
        }
    }
}

/// What is to be written.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) kept: Vec<KeptEvent>,
    pub(crate) settled: Vec<String>,
    pub(crate) failing: Option<bool>,
}

#[derive(Debug, PartialEq, Eq)]
enum Slot {
    Waiting,
    Flying,
    Done,
}

/// The events of one webhook that are not settled.
#[derive(Debug)]
pub(crate) struct Queue {
    retry_s: Vec<f64>,
    window: VecDeque<(Event, Slot)>,
    kept: Kept,
    flying: HashSet<String>,
    /// The one try at the end of a rest.
    probe: Option<String>,
    /// The row of the last one that was refused, and whose events were.
    probed_to: i64,
    probed: HashSet<String>,
    rest: Rest,
    refused_in_a_row: u32,
    /// Whether the alarm is active because of dead events: none that is taken ends it.
    has_dead: bool,
    reported: Option<bool>,
    pub(crate) changes: Changes,
    pub(crate) last_error: Option<String>,
    pub(crate) last_taken_at: Option<i64>,
    /// What came of the last try.
    pub(crate) result: &'static str,
    pub(crate) is_gone: bool,
}

impl Queue {
    pub(crate) fn new(
        retry_s: &[f64],
        rest: Rest,
        (kept, has_dead): (Vec<KeptEvent>, bool),
    ) -> Self {
        let mut queue = Self {
            retry_s: retry_s.to_vec(),
            window: VecDeque::new(),
            kept: Kept::default(),
            flying: HashSet::new(),
            probe: None,
            probed_to: i64::MIN,
            probed: HashSet::new(),
            rest,
            refused_in_a_row: 0,
            has_dead,
            reported: None,
            changes: Changes::default(),
            last_error: None,
            last_taken_at: None,
            result: "",
            is_gone: false,
        };
        for event in kept {
            queue.kept.put(event, false);
        }
        queue
    }

    /// Events that are not settled in memory.
    pub(crate) fn len(&self) -> usize {
        self.window.len()
    }

    /// The row before the first one that is not settled.
    pub(crate) fn settled_to(&self) -> Option<i64> {
        self.window.front().map(|(event, _)| event.seq - 1)
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.rest.until().is_some()
    }

    /// Takes events in the order of their rows.
    pub(crate) fn push(&mut self, events: Vec<Event>) {
        self.window
            .extend(events.into_iter().map(|event| (event, Slot::Waiting)));
    }

    /// When time makes something due.
    pub(crate) fn due_at(&self) -> Option<i64> {
        self.rest.until().or(self.kept.due_at())
    }

    /// What may be sent now.
    pub(crate) fn next(&mut self, now: i64) -> Option<Next> {
        self.rest.cap(now);
        let next = match self.rest.until() {
            Some(until) if now < until || !self.flying.is_empty() => None,
            Some(_) => self.first_probe(),
            None if self.flying.len() >= AT_ONCE => None,
            None => {
                self.queue_up(now);
                let kept = self.kept.first_due(now).map(Next::Kept);
                kept.or_else(|| self.first_new())
            }
        }?;
        if let Next::Kept(event) = &next {
            self.kept.start(event);
        }
        self.flying.insert(next.parts().1.to_owned());
        Some(next)
    }

    /// The oldest of all behind this row, also of those whose time has not come, but of these agents.
    fn oldest(&mut self, after: i64, but: &HashSet<String>) -> Option<Next> {
        let may = |subject: &str, seq| seq > after && !but.contains(agent_of(subject));
        let kept = self.kept.oldest(may);
        let mut seen = HashSet::new();
        let new = self.window.iter_mut().find(|(event, slot)| {
            let waits = *slot == Slot::Waiting && !self.kept.is_about(&event.subject);
            waits && seen.insert(event.subject.clone()) && may(&event.subject, event.seq)
        });
        match (kept, new) {
            (Some(kept), Some((event, _))) if kept.seq <= event.seq => {
                Some(Next::Kept(kept.clone()))
            }
            (_, Some((event, slot))) => {
                *slot = Slot::Flying;
                Some(Next::New(event.clone()))
            }
            (kept, None) => kept.cloned().map(Next::Kept),
        }
    }

    /// The one try at the end of a rest: the oldest. After one that was refused that of another agent, or else the next
    /// one, since a receiver that will never take the oldest would otherwise get nothing more.
    fn first_probe(&mut self) -> Option<Next> {
        let but = std::mem::take(&mut self.probed);
        let mut next = self.oldest(i64::MIN, &but);
        if next.is_some() {
            self.probed = but;
        } else {
            let all = HashSet::new();
            next = self.oldest(self.probed_to, &all);
            next = next.or_else(|| self.oldest(i64::MIN, &all));
        }
        let next = next?;
        self.probe = Some(next.parts().0.to_owned());
        Some(next)
    }

    /// Those about a subject of which one is kept wait behind it.
    fn queue_up(&mut self, now: i64) {
        let mut behind = Vec::new();
        for (event, slot) in &mut self.window {
            if *slot == Slot::Waiting && self.kept.is_about(&event.subject) {
                // It is sent again, and a try of it is due anyway.
                let known = self.kept.has(&event.subject, event.seq, &event.id);
                if known || self.kept.count() + behind.len() < MOST_KEPT {
                    *slot = Slot::Done;
                    behind.extend((!known).then(|| waiting(event, now)));
                }
            }
        }
        for event in behind {
            self.keep(event);
        }
        self.shorten();
    }

    fn first_new(&mut self) -> Option<Next> {
        let (event, slot) = self.window.iter_mut().find(|(event, slot)| {
            let subject = &event.subject;
            *slot == Slot::Waiting && !self.kept.is_about(subject) && !self.flying.contains(subject)
        })?;
        *slot = Slot::Flying;
        Some(Next::New(event.clone()))
    }

    fn keep(&mut self, event: KeptEvent) {
        self.changes.kept.push(event.clone());
        let is_under_way = self.flying.contains(&event.subject);
        self.kept.put(event, is_under_way);
    }

    /// Takes what came of a try.
    pub(crate) fn done(&mut self, next: &Next, outcome: Outcome, now: i64) {
        let (id, subject, seq) = next.parts();
        let (id, subject) = (id.to_owned(), subject.to_owned());
        self.flying.remove(&subject);
        let was_probe = self.probe.take_if(|probe| *probe == id).is_some();
        self.result = match outcome {
            Outcome::Taken => {
                self.rest.end();
                self.probed_to = i64::MIN;
                self.probed.clear();
                (self.refused_in_a_row, self.last_error, self.last_taken_at) = (0, None, Some(now));
                if !self.has_dead {
                    self.report(false);
                }
                self.taken(next, now);
                "taken"
            }
            Outcome::Missing => {
                self.taken(next, now);
                ""
            }
            Outcome::Refused(why) if !was_probe => {
                self.refused_in_a_row += 1;
                let is_dead = self.refuse(next, why, now);
                if self.refused_in_a_row >= IN_A_ROW || self.kept.count() >= MOST_KEPT {
                    self.away(now, None, false);
                }
                if is_dead { "dead" } else { "refused" }
            }
            Outcome::Refused(why) => {
                (self.last_error, self.probed_to) = (Some(why), seq);
                self.put_back(&id, &subject);
                self.park(&subject, now);
                self.away(now, None, true);
                "refused"
            }
            Outcome::Away(why, asked_ms) => {
                (self.last_error, self.probed_to) = (Some(why), i64::MIN);
                self.probed.clear();
                self.put_back(&id, &subject);
                self.away(now, asked_ms, was_probe);
                "away"
            }
            Outcome::Gone => {
                self.last_error = Some("410".to_owned());
                self.put_back(&id, &subject);
                self.is_gone = true;
                self.report(true);
                "refused"
            }
        };
        self.shorten();
    }

    /// Calls that were under way when a rest began say nothing new.
    fn away(&mut self, now: i64, asked_ms: Option<i64>, was_probe: bool) {
        if (!self.is_resting() || was_probe) && self.rest.begin(now, asked_ms) {
            self.report(true);
        }
    }

    fn report(&mut self, failing: bool) {
        if self.reported.replace(failing) != Some(failing) {
            self.changes.failing = Some(failing);
        }
    }

    fn taken(&mut self, next: &Next, now: i64) {
        let (id, subject, _) = next.parts();
        if let Next::Kept(_) = next {
            self.changes.settled.push(id.to_owned());
        }
        self.settle(id, subject, now);
    }

    /// The receiver may refuse all of this agent: what waits of it is kept and tried later, so that the events of others
    /// come into the window.
    fn park(&mut self, subject: &str, now: i64) {
        let agent = agent_of(subject);
        let pause_s = self.retry_s.first().copied().unwrap_or(1.);
        let due_at = |id: &str| now + pause(pause_s, id);
        let mut parked = Vec::new();
        for (event, slot) in self.window.iter_mut() {
            if *slot != Slot::Waiting || agent_of(&event.subject) != agent {
                continue;
            }
            let is_known = self.kept.has(&event.subject, event.seq, &event.id);
            if !is_known && self.kept.count() + parked.len() >= MOST_KEPT {
                break;
            }
            *slot = Slot::Done;
            parked.extend((!is_known).then(|| KeptEvent {
                due_at: due_at(&event.id),
                ..waiting(event, now)
            }));
        }
        // One that was kept already.
        let kept = self.kept.put_back(subject, now + pause(pause_s, subject));
        self.changes.kept.extend(kept.cloned());
        for event in parked {
            self.keep(event);
        }
        self.probed.insert(agent.to_owned());
    }

    /// Returns whether it is dead now.
    fn refuse(&mut self, next: &Next, why: String, now: i64) -> bool {
        self.last_error = Some(why.clone());
        let mut event = match next {
            Next::New(event) => waiting(event, now),
            Next::Kept(event) => event.clone(),
        };
        event.tries += 1;
        (event.last_at, event.last_error) = (now, Some(why));
        let pause_s = usize::try_from(event.tries - 1)
            .ok()
            .and_then(|tries| self.retry_s.get(tries).copied());
        match pause_s {
            Some(seconds) => {
                event.due_at = now + pause(seconds, &format!("{} {}", event.id, event.tries));
                self.mark(&event.id, Slot::Done);
                self.kept.refused(event.clone());
            }
            None => {
                event.state = "dead".to_owned();
                self.has_dead = true;
                // A person may have acknowledged the one before.
                self.reported = None;
                self.report(true);
                self.settle(&event.id, &event.subject, now);
            }
        }
        self.changes.kept.push(event);
        pause_s.is_none()
    }

    /// It is sent no more: the next one about the same thing may be.
    fn settle(&mut self, id: &str, subject: &str, now: i64) {
        self.mark(id, Slot::Done);
        self.kept.settle(id, subject, now);
    }

    fn put_back(&mut self, id: &str, subject: &str) {
        self.mark(id, Slot::Waiting);
        self.kept.put_back(subject, i64::MIN);
    }

    /// What became of one that was under way.
    fn mark(&mut self, id: &str, now: Slot) {
        let mut window = self.window.iter_mut();
        let found = window.find(|(event, slot)| *slot == Slot::Flying && event.id == id);
        if let Some((_, slot)) = found {
            *slot = now;
        }
    }

    fn shorten(&mut self) {
        while self
            .window
            .front()
            .is_some_and(|(_, slot)| *slot == Slot::Done)
        {
            self.window.pop_front();
        }
    }
}

/// `WS/AGENT` of what is about an agent, else all of it.
fn agent_of(subject: &str) -> &str {
    let mut slashes = subject.match_indices('/');
    match slashes.nth(1) {
        Some((at, _)) => &subject[..at],
        None => subject,
    }
}

fn waiting(event: &Event, now: i64) -> KeptEvent {
    KeptEvent {
        id: event.id.clone(),
        seq: event.seq,
        kind: event.kind.clone(),
        subject: event.subject.clone(),
        tries: 0,
        first_at: now,
        last_at: now,
        last_error: None,
        due_at: now,
        state: "retrying".to_owned(),
    }
}

#[cfg(test)]
mod tests;
