//! Events that were refused, or wait behind one: a line for each subject, of which the first one is tried.

use std::collections::{BTreeSet, HashMap, VecDeque};

use countersign_store::feed_events::KeptEvent;

/// The lines, and when the first ones are due.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// In the order of the log.
    lines: HashMap<String, VecDeque<KeptEvent>>,
    count: usize,
    /// First ones that are not under way: when, row, subject.
    due: BTreeSet<(i64, i64, String)>,
}

fn place(event: &KeptEvent) -> (i64, i64, String) {
    (event.due_at, event.seq, event.subject.clone())
}

impl Kept {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether one about it is kept.
    pub(crate) fn is_about(&self, subject: &str) -> bool {
        self.lines.contains_key(subject)
    }

    pub(crate) fn has(&self, subject: &str, seq: i64, id: &str) -> bool {
        self.lines.get(subject).is_some_and(|line| {
            let first = line.partition_point(|kept| kept.seq < seq);
            let of_row = line.range(first..).take_while(|kept| kept.seq == seq);
            of_row.into_iter().any(|kept| kept.id == id)
        })
    }

    /// When one is due.
    pub(crate) fn due_at(&self) -> Option<i64> {
        self.due.first().map(|(at, ..)| *at)
    }

    pub(crate) fn first_due(&self, now: i64) -> Option<KeptEvent> {
        let (at, _, subject) = self.due.first()?;
        let front = self.lines.get(subject)?.front()?;
        (*at <= now).then(|| front.clone())
    }

    /// Of the first ones the oldest that may be sent, also before its time.
    pub(crate) fn oldest(&self, may: impl Fn(&str, i64) -> bool) -> Option<&KeptEvent> {
        let may = |(_, seq, subject): &&(i64, i64, String)| may(subject, *seq);
        let (_, _, subject) = self.due.iter().filter(may).min_by_key(|(_, seq, _)| *seq)?;
        self.lines.get(subject)?.front()
    }

    /// In the order of the log, but behind one that is under way: what is sent again may be older than what is kept.
    pub(crate) fn put(&mut self, event: KeptEvent, is_under_way: bool) {
        self.count += 1;
        let line = self.lines.entry(event.subject.clone()).or_default();
        let at = line.partition_point(|kept| kept.seq <= event.seq);
        let at = at.max(usize::from(is_under_way).min(line.len()));
        if at == 0 {
            if let Some(first) = line.front() {
                self.due.remove(&place(first));
            }
            self.due.insert(place(&event));
        }
        line.insert(at, event);
    }

    /// The first one of a line is under way.
    pub(crate) fn start(&mut self, event: &KeptEvent) {
        self.due.remove(&place(event));
    }

    /// The first one of a line is not under way any more, and due not before this time. Returns it.
    pub(crate) fn put_back(&mut self, subject: &str, not_before: i64) -> Option<&KeptEvent> {
        let first = self.lines.get_mut(subject)?.front_mut()?;
        self.due.remove(&place(first));
        first.due_at = first.due_at.max(not_before);
        self.due.insert(place(first));
        Some(first)
    }

    /// One that was under way is the first of its line again, as it is now.
    pub(crate) fn refused(&mut self, event: KeptEvent) {
        self.take(&event.id, &event.subject);
        self.count += 1;
        self.due.insert(place(&event));
        let line = self.lines.entry(event.subject.clone()).or_default();
        line.push_front(event);
    }

    /// It is sent no more: the next one of its line is due.
    pub(crate) fn settle(&mut self, id: &str, subject: &str, now: i64) {
        self.take(id, subject);
        let Some(line) = self.lines.get_mut(subject) else {
            return;
        };
        match line.front_mut() {
            Some(first) => {
                first.due_at = now;
                self.due.insert(place(first));
            }
            None => _ = self.lines.remove(subject),
        }
    }

    fn take(&mut self, id: &str, subject: &str) {
        let line = self.lines.get_mut(subject);
        let first = line.and_then(|line| line.pop_front_if(|first| first.id == id));
        self.count -= usize::from(first.is_some());
    }
}
