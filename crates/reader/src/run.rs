//! Reads waiting calls for as long as the settings say so.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use countersign_domain::reader::{
    ReadCall, ReaderAudit, ReaderFault, ReaderNote, ReaderState, Reading,
};
use countersign_wire::Sha256Digest;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::ask::{Asker, Http, Source};
use crate::card::{Call, Card};
use crate::config::Config;
use crate::line::Line;
use crate::pace::Rest;
use crate::{Answer, system_text};

/// The file is looked at this often, and so is what time brings.
const LOOK: Duration = Duration::from_secs(1);
/// Between two looks, however much changes.
const REST: Duration = Duration::from_millis(200);
/// A program that is missing is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
const HOUR_MS: i64 = 3_600_000;
/// Calls that are written as skipped at once: others write meanwhile.
const AT_ONCE: usize = 500;

/// What is written of earlier readings.
#[derive(Debug, Default)]
pub struct Before {
    /// How the reader was.
    pub state: ReaderState,
    /// Calls that were sent and not answered: row and `WS/AGENT/ID`.
    pub unanswered: Vec<(i64, String)>,
}

/// The console as a reader needs it.
#[expect(
    async_fn_in_trait,
    reason = "the console alone implements it, and its futures are Send"
)]
pub trait Desk {
    /// The server's time, ms.
    fn now(&self) -> i64;
    /// Returns when something of a request may have changed.
    async fn changed(&self);
    /// Calls that wait and were never sent or skipped, with their deadlines, and whether no rule or key answers them any
    /// more; none where that cannot be read.
    async fn waiting(&self, config: &Config) -> Option<Vec<(i64, i64, bool)>>;
    /// One of them with its `WS/AGENT/ID` and so many earlier ones; none where it waits no longer.
    async fn call(&self, row: i64, earlier: usize) -> Option<(String, Call)>;
    /// How many calls were sent after that time, ms; none where that cannot be read.
    async fn asked_since(&self, after: i64) -> Option<i64>;
    /// What is written.
    async fn before(&self) -> Before;
    /// Writes; true once that is durable.
    async fn note(&self, note: ReaderNote) -> bool;
}

type Settings = Result<Option<Config>, String>;

/// Reads until it is stopped. Other settings end what is under way.
pub async fn run<D: Desk, H: Http>(desk: D, source: Source<H>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let settings = source.read();
        let state = announce(&desk, &settings).await;
        let changed = async {
            while source.read() == settings {
                sleep(LOOK).await;
            }
        };
        let reading = async {
            let Ok(Some(config)) = &settings else {
                return pending().await;
            };
            read(&desk, Asker::new(config.clone(), source.clone()), state).await;
        };
        tokio::select! {
            () = changed => {}
            () = stop.cancelled() => {}
            () = reading => {}
        }
    }
    end_unanswered(&desk).await;
}

/// Ends what an earlier run left, and writes whether a reader is on.
async fn announce<D: Desk>(desk: &D, settings: &Settings) -> ReaderState {
    // What was being written when the settings changed is in the store after this.
    desk.note(ReaderNote::default()).await;
    let before = end_unanswered(desk).await;
    let mut state = ReaderState {
        on: matches!(settings, Ok(Some(_))),
        last_answer_at: before.state.last_answer_at,
        ..ReaderState::default()
    };
    if !before.unanswered.is_empty() {
        state.last_error = Some(ReaderFault::Stopped.to_string());
    }
    let mut row = before.state.on.then(|| ("reader_off", json!({})));
    match settings {
        Ok(None) => {}
        Ok(Some(config)) => {
            let system = Sha256Digest::of_bytes(system_text().as_bytes()).to_string();
            let (to, whose) = (config.to(), &config.workspaces);
            let detail = json!({ "to": to, "workspaces": whose, "system": system });
            row = Some(("reader_on", detail));
        }
        Err(fault) => {
            tracing::warn!("config.toml, {fault}; the second reader is off");
            state.last_error = Some(ReaderFault::Config.to_string());
        }
    }
    let mut note = ReaderNote::of(state.clone(), Vec::new());
    note.audit = row.map(|(action, detail)| ReaderAudit::of(action, "reader", detail));
    desk.note(note).await;
    state
}

async fn end_unanswered<D: Desk>(desk: &D) -> Before {
    let before = desk.before().await;
    let ended = before.unanswered.iter().map(|(row, subject)| {
        let audit = answered(subject, 0, &Err(ReaderFault::Stopped));
        ReadCall::of(*row, Reading::Failed, Some(audit))
    });
    let calls: Vec<ReadCall> = ended.collect();
    if !calls.is_empty() {
        desk.note(calls.into()).await;
    }
    before
}

/// A call that was asked about: row, `WS/AGENT/ID`, ms and what came of it.
type Asked = (i64, String, u64, Result<Answer, ReaderFault>);

struct Readings<'a, D, H> {
    desk: &'a D,
    asker: Arc<Asker<H>>,
    line: Line,
    /// Calls that a rule or key may still answer.
    early: HashSet<i64>,
    under_way: JoinSet<Asked>,
    rest: Rest,
    state: ReaderState,
    is_there: bool,
}

/// Never ends. Dropped, it ends what is under way.
async fn read<D: Desk, H: Http>(desk: &D, asker: Asker<H>, state: ReaderState) {
    let mut readings = Readings {
        desk,
        asker: Arc::new(asker),
        line: Line::default(),
        early: HashSet::new(),
        under_way: JoinSet::new(),
        rest: Rest::default(),
        state,
        is_there: true,
    };
    let (mut find, mut look) = (interval(LOOK_AGAIN), interval(LOOK));
    find.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    find.tick().await;
    readings.find().await;
    loop {
        readings.start().await;
        tokio::select! {
            _ = look.tick() => readings.look().await,
            () = async { sleep(REST).await; desk.changed().await } => readings.look().await,
            Some(Ok(asked)) = readings.under_way.join_next() => readings.done(asked).await,
            _ = find.tick(), if !readings.is_there => readings.find().await,
        }
    }
}

impl<D: Desk, H: Http> Readings<'_, D, H> {
    /// Looks for the program.
    async fn find(&mut self) {
        self.is_there = self.asker.is_there().await;
        let missing = Some(ReaderFault::Missing.to_string());
        if !self.is_there {
            self.state.last_error = missing;
        } else if self.state.last_error == missing {
            self.state.last_error = None;
        }
        self.note(Vec::new()).await;
    }

    /// Puts calls into the line that wait, and takes those out that wait no longer.
    async fn look(&mut self) {
        let Some(waiting) = self.desk.waiting(&self.asker.config).await else {
            return;
        };
        let mut gone: HashSet<i64> = self.early.drain().chain(self.line.take()).collect();
        for (row, deadline, is_for_people) in waiting {
            gone.remove(&row);
            match is_for_people {
                true => gone.extend(self.line.put(row, deadline)),
                false => drop(self.early.insert(row)),
            }
        }
        self.skip(gone).await;
    }

    async fn start(&mut self) {
        while self.is_agreed() {
            let now = self.desk.now();
            let Some(asked) = self.desk.asked_since(now - HOUR_MS).await else {
                return;
            };
            if !self.is_there || asked >= self.asker.config.per_hour.into() {
                let rows = self.line.take();
                return self.skip(rows).await;
            }
            let most = self.rest.at_once(now, self.asker.config.at_once);
            if self.under_way.len() >= most {
                return;
            }
            let Some(row) = self.line.pop() else {
                return;
            };
            if !self.send(row).await {
                self.skip([row]).await;
            }
        }
    }

    /// Whether the settings still are those: no argument leaves after the consent has ended, though nobody noticed yet.
    fn is_agreed(&self) -> bool {
        self.asker.source.read() == Ok(Some(self.asker.config.clone()))
    }

    /// Writes that a call is asked about, then asks; false for one that waits no longer or is too large.
    async fn send(&mut self, row: i64) -> bool {
        let found = self.desk.call(row, self.asker.config.earlier).await;
        let Some((subject, Some(card))) = found.map(|(key, call)| (key, Card::of(call))) else {
            return false;
        };
        let audit = asked(&self.asker, &card, &subject);
        let call = ReadCall::of(row, Reading::Asked, Some(audit));
        if !self.desk.note(vec![call].into()).await {
            return false;
        }
        // It may have been decided meanwhile.
        let under_way = self.desk.before().await.unanswered;
        if !under_way.iter().any(|(asked, _)| *asked == row) || !self.is_agreed() {
            return true;
        }
        let asker = Arc::clone(&self.asker);
        self.under_way.spawn(async move {
            let begun = Instant::now();
            let answer = asker.ask(&card).await;
            let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            (row, subject, ms, answer)
        });
        true
    }

    async fn done(&mut self, (row, subject, ms, answer): Asked) {
        let now = self.desk.now();
        let audit = Some(answered(&subject, ms, &answer));
        let mut call = ReadCall::of(row, Reading::Failed, audit);
        match answer {
            Ok(answer) => {
                self.rest.answered();
                (self.state.last_error, self.state.last_answer_at) = (None, Some(now));
                call.reading = Reading::Answered;
                (call.marks, call.dropped) = (answer.marks, answer.dropped);
            }
            Err(fault) => {
                self.is_there &= fault != ReaderFault::Missing;
                self.rest.failed(now);
                self.state.last_error = Some(fault.to_string());
            }
        }
        self.note(vec![call]).await;
    }

    async fn note(&mut self, calls: Vec<ReadCall>) {
        self.state.resting_until = self.rest.until(self.desk.now());
        let note = ReaderNote::of(self.state.clone(), calls);
        self.desk.note(note).await;
    }

    async fn skip(&self, rows: impl IntoIterator<Item = i64>) {
        let skipped = |row| ReadCall::of(row, Reading::Skipped, None);
        let skipped: Vec<ReadCall> = rows.into_iter().map(skipped).collect();
        for calls in skipped.chunks(AT_ONCE) {
            self.desk.note(calls.to_vec().into()).await;
        }
    }
}

/// The row of the audit log before a card is sent.
#[must_use]
pub fn asked<H: Http>(asker: &Asker<H>, card: &Card, subject: &str) -> ReaderAudit {
    let text = asker.text(card);
    let digest = Sha256Digest::of_bytes(text.as_bytes()).to_string();
    let detail = json!({ "digest": digest, "bytes": text.len(), "to": asker.config.to() });
    ReaderAudit::of("reader_asked", subject, detail)
}

/// The row of its answer: places and words of the marks, or the failure's word.
#[must_use]
pub fn answered(subject: &str, ms: u64, answer: &Result<Answer, ReaderFault>) -> ReaderAudit {
    let detail = match answer {
        Ok(answer) => {
            let codes: Vec<&str> = answer.marks.iter().map(|mark| mark.code.as_str()).collect();
            let places: Vec<&str> = answer.marks.iter().map(|mark| mark.at.as_str()).collect();
            json!({ "ms": ms, "codes": codes, "places": places, "tokens": answer.tokens })
        }
        Err(fault) => json!({ "ms": ms, "failed": fault.as_str() }),
    };
    ReaderAudit::of("reader_answered", subject, detail)
}

#[cfg(test)]
mod tests;
