//! Which event of a webhook is sent next, and what becomes of it. Pure: time is an argument.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use countersign_store::feed_events::KeptEvent;

use crate::event::Event;
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
    /// By subject, oldest first: the first one is tried, the others wait behind it.
    kept: HashMap<String, VecDeque<KeptEvent>>,
    kept_count: usize,
    /// First ones that are not under way: when, row, subject.
    due: BTreeSet<(i64, i64, String)>,
    flying: HashSet<String>,
    /// The one try at the end of a rest.
    probe: Option<String>,
    /// The row of the last one that was refused.
    probed_to: i64,
    rest: Rest,
    refused_in_a_row: u32,
    pub(crate) changes: Changes,
    pub(crate) last_error: Option<String>,
    pub(crate) last_taken_at: Option<i64>,
    /// What came of the last try.
    pub(crate) result: &'static str,
    pub(crate) is_gone: bool,
}

impl Queue {
    pub(crate) fn new(retry_s: &[f64], rest: Rest, kept: Vec<KeptEvent>) -> Self {
        let mut queue = Self {
            retry_s: retry_s.to_vec(),
            window: VecDeque::new(),
            kept: HashMap::new(),
            kept_count: 0,
            due: BTreeSet::new(),
            flying: HashSet::new(),
            probe: None,
            probed_to: i64::MIN,
            rest,
            refused_in_a_row: 0,
            changes: Changes::default(),
            last_error: None,
            last_taken_at: None,
            result: "",
            is_gone: false,
        };
        for event in kept.into_iter().filter(|event| event.state == "retrying") {
            queue.put_behind(event);
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
        let first = self.due.first().map(|(at, _, _)| *at);
        self.rest.until().or(first)
    }

    /// What may be sent now.
    pub(crate) fn next(&mut self, now: i64) -> Option<Next> {
        let next = match self.rest.until() {
            Some(until) if now < until || !self.flying.is_empty() => None,
            Some(_) => self.first_probe(),
            None if self.flying.len() >= AT_ONCE => None,
            None => self.first_due(now).or_else(|| self.first_new(now)),
        }?;
        if let Next::Kept(event) = &next {
            self.due.remove(&place(event));
        }
        self.flying.insert(next.parts().1.to_owned());
        Some(next)
    }

    fn first_due(&self, now: i64) -> Option<Next> {
        let (at, _, subject) = self.due.first()?;
        let front = self.kept.get(subject)?.front()?;
        (*at <= now).then(|| Next::Kept(front.clone()))
    }

    /// The oldest of all behind this row, also of those whose time has not come.
    fn oldest(&mut self, after: i64) -> Option<Next> {
        let behind = self.due.iter().filter(|(_, seq, _)| *seq > after);
        let kept = behind.min_by_key(|(_, seq, _)| *seq);
        let kept = kept.and_then(|(_, _, subject)| self.kept.get(subject)?.front());
        let mut seen = HashSet::new();
        let new = self.window.iter_mut().find(|(event, slot)| {
            let waits = *slot == Slot::Waiting && !self.kept.contains_key(&event.subject);
            waits && seen.insert(event.subject.clone()) && event.seq > after
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

    /// The one try at the end of a rest: the oldest, and after one that was refused the next one, since a receiver that
    /// will never take the oldest would otherwise get nothing more.
    fn first_probe(&mut self) -> Option<Next> {
        let next = self
            .oldest(self.probed_to)
            .or_else(|| self.oldest(i64::MIN))?;
        self.probe = Some(next.parts().0.to_owned());
        Some(next)
    }

    fn first_new(&mut self, now: i64) -> Option<Next> {
        let mut behind = Vec::new();
        let mut found = None;
        for (event, slot) in self
            .window
            .iter_mut()
            .filter(|(_, slot)| *slot == Slot::Waiting)
        {
            if let Some(line) = self.kept.get(&event.subject) {
                // It is sent again, and a try of it is due anyway.
                let known = line.iter().any(|kept| kept.id == event.id);
                if known || self.kept_count + behind.len() < MOST_KEPT {
                    *slot = Slot::Done;
                    behind.extend((!known).then(|| waiting(event, now)));
                }
            } else if !self.flying.contains(&event.subject) {
                *slot = Slot::Flying;
                found = Some(Next::New(event.clone()));
                break;
            }
        }
        for event in behind {
            self.changes.kept.push(event.clone());
            self.put_behind(event);
        }
        self.shorten();
        found
    }

    fn put_behind(&mut self, event: KeptEvent) {
        self.kept_count += 1;
        let line = self.kept.entry(event.subject.clone()).or_default();
        if line.is_empty() {
            self.due.insert(place(&event));
        }
        line.push_back(event);
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
                (self.refused_in_a_row, self.last_error, self.last_taken_at) = (0, None, Some(now));
                self.report(false);
                if let Next::Kept(_) = next {
                    self.changes.settled.push(id.clone());
                }
                self.settle(&id, &subject, now);
                "taken"
            }
            Outcome::Refused(why) if !was_probe => {
                self.refused_in_a_row += 1;
                let is_dead = self.refuse(next, why, now);
                if self.refused_in_a_row >= IN_A_ROW || self.kept_count >= MOST_KEPT {
                    self.away(now, None, false);
                }
                if is_dead { "dead" } else { "refused" }
            }
            Outcome::Refused(why) => {
                (self.last_error, self.probed_to) = (Some(why), seq);
                self.put_back(&id, &subject);
                self.away(now, None, true);
                "refused"
            }
            Outcome::Away(why, asked_ms) => {
                (self.last_error, self.probed_to) = (Some(why), i64::MIN);
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
        self.changes.failing = Some(failing);
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
                let line = self.kept.entry(event.subject.clone()).or_default();
                match next {
                    Next::Kept(_) => drop(line.pop_front()),
                    Next::New(_) => self.kept_count += 1,
                }
                line.push_front(event.clone());
                self.due.insert(place(&event));
                self.mark_done(&event.id);
            }
            None => {
                event.state = "dead".to_owned();
                self.report(true);
                self.settle(&event.id, &event.subject, now);
            }
        }
        self.changes.kept.push(event);
        pause_s.is_none()
    }

    /// It is sent no more: the next one about the same thing may be.
    fn settle(&mut self, id: &str, subject: &str, now: i64) {
        self.mark_done(id);
        let Some(line) = self.kept.get_mut(subject) else {
            return;
        };
        if line.front().is_some_and(|kept| kept.id == id) {
            line.pop_front();
            self.kept_count -= 1;
        }
        match line.front_mut() {
            Some(first) => {
                first.due_at = now;
                self.due.insert(place(first));
            }
            None => _ = self.kept.remove(subject),
        }
    }

    fn mark_done(&mut self, id: &str) {
        for (event, slot) in self
            .window
            .iter_mut()
            .filter(|(_, slot)| *slot == Slot::Flying)
        {
            if event.id == id {
                *slot = Slot::Done;
            }
        }
    }

    fn put_back(&mut self, id: &str, subject: &str) {
        for (event, slot) in self
            .window
            .iter_mut()
            .filter(|(_, slot)| *slot == Slot::Flying)
        {
            if event.id == id {
                *slot = Slot::Waiting;
            }
        }
        if let Some(first) = self.kept.get(subject).and_then(VecDeque::front) {
            self.due.insert(place(first));
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

fn place(event: &KeptEvent) -> (i64, i64, String) {
    (event.due_at, event.seq, event.subject.clone())
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
