//! Reads waiting calls for as long as the settings say so.

use std::collections::HashSet;
use std::ffi::OsString;
use std::future::pending;
use std::path::PathBuf;
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

use crate::ask::Asker;
use crate::card::{Call, Card};
use crate::config::{self, Config, ConfigFault};
use crate::line::Line;
use crate::pace::{Allowance, Rest};
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

/// What was written before a reader began.
#[derive(Debug, Default)]
pub struct Before {
    /// How the last one was.
    pub state: ReaderState,
    /// Calls that were sent and not answered: row and `WS/AGENT/ID`.
    pub unanswered: Vec<(i64, String)>,
    /// When calls were sent in the last hour, ms, oldest first.
    pub asked: Vec<i64>,
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
    /// What was written before.
    async fn before(&self, since: i64) -> Before;
    /// Writes; true once that is durable.
    async fn note(&self, note: ReaderNote) -> bool;
}

/// Where the settings are, and what the reader needs of the program.
#[derive(Debug, Clone)]
pub struct Source {
    /// The data folder.
    pub folder: PathBuf,
    /// The line that starts [`crate::guard::run`].
    pub guard: Vec<OsString>,
    /// Whether a finding of the console has this word.
    pub knows_code: fn(&str) -> bool,
}

type Settings = Result<Option<Config>, ConfigFault>;

impl Source {
    fn read(&self) -> Settings {
        config::read_in(&self.folder)
    }

    async fn changed(&self, from: &Settings) {
        while self.read() == *from {
            sleep(LOOK).await;
        }
    }
}

/// Reads until it is stopped. Other settings end what is under way.
pub async fn run<D: Desk>(desk: D, source: Source, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let settings = source.read();
        let before = desk.before(desk.now() - HOUR_MS).await;
        let state = announce(&desk, &settings, &before).await;
        // What was written as sent while the settings changed.
        let before_now = desk.before(desk.now()).await;
        end_unanswered(&desk, before_now.unanswered).await;
        let reading = async {
            let Ok(Some(config)) = &settings else {
                return pending().await;
            };
            read(&desk, &source, config, (before.asked, state)).await;
        };
        tokio::select! {
            () = source.changed(&settings) => {}
            () = stop.cancelled() => {}
            () = reading => {}
        }
    }
    let before = desk.before(desk.now()).await;
    end_unanswered(&desk, before.unanswered).await;
}

/// Ends what an earlier run left, and writes whether a reader is on.
async fn announce<D: Desk>(desk: &D, settings: &Settings, before: &Before) -> ReaderState {
    end_unanswered(desk, before.unanswered.clone()).await;
    let last_answer_at = before.state.last_answer_at;
    let mut state = ReaderState {
        last_answer_at,
        ..ReaderState::default()
    };
    if !before.unanswered.is_empty() {
        state.last_error = Some(ReaderFault::Stopped.as_str().to_owned());
    }
    let mut row = before.state.on.then(|| ("reader_off", json!({})));
    match settings {
        Ok(None) => {}
        Ok(Some(config)) => {
            state.on = true;
            let system = Sha256Digest::of_bytes(system_text().as_bytes()).to_string();
            let (to, whose) = (config.to(), &config.workspaces);
            let detail = json!({ "to": to, "workspaces": whose, "system": system });
            row = Some(("reader_on", detail));
        }
        Err(fault) => {
            tracing::warn!("config.toml, {fault}; the second reader is off");
            state.last_error = Some(ReaderFault::Config.as_str().to_owned());
        }
    }
    let subject = "reader".to_owned();
    let audit = row.map(|(action, detail)| ReaderAudit {
        action,
        subject,
        detail,
    });
    let (calls, kept) = (Vec::new(), Some(state.clone()));
    desk.note(ReaderNote {
        calls,
        audit,
        state: kept,
    })
    .await;
    state
}

async fn end_unanswered<D: Desk>(desk: &D, left: Vec<(i64, String)>) {
    let ended = left.into_iter().map(|(row, subject)| {
        let audit = answered(subject, 0, &Err(ReaderFault::Stopped));
        ReadCall::of(row, Reading::Failed, Some(audit))
    });
    let calls: Vec<ReadCall> = ended.collect();
    if !calls.is_empty() {
        desk.note(calls.into()).await;
    }
}

/// A call that was asked about: row, `WS/AGENT/ID`, ms and what came of it.
type Asked = (i64, String, u64, Result<Answer, ReaderFault>);

struct Readings<'a, D> {
    desk: &'a D,
    source: &'a Source,
    asker: Arc<Asker>,
    line: Line,
    /// Calls in line that a rule or key may still answer.
    early: HashSet<i64>,
    under_way: JoinSet<Asked>,
    rest: Rest,
    hour: Allowance,
    state: ReaderState,
    is_there: bool,
}

/// Never ends. Dropped, it ends what is under way.
async fn read<D: Desk>(
    desk: &D,
    source: &Source,
    config: &Config,
    (asked, state): (Vec<i64>, ReaderState),
) {
    let mut readings = Readings {
        desk,
        source,
        asker: Arc::new(Asker::new(config.clone(), source.guard.clone())),
        line: Line::default(),
        early: HashSet::new(),
        under_way: JoinSet::new(),
        rest: Rest::default(),
        hour: Allowance::new(config.per_hour, asked),
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

impl<D: Desk> Readings<'_, D> {
    /// Looks for the program.
    async fn find(&mut self) {
        self.is_there = self.asker.is_there().await;
        let missing = Some(ReaderFault::Missing.as_str().to_owned());
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
        let mut gone: HashSet<i64> = self.line.take().into_iter().collect();
        self.early.clear();
        for (row, deadline, is_for_people) in waiting {
            gone.remove(&row);
            gone.extend(self.line.put(row, deadline));
            if !is_for_people {
                self.early.insert(row);
            }
        }
        self.skip(gone).await;
    }

    async fn start(&mut self) {
        loop {
            let now = self.desk.now();
            if !self.is_there || self.hour.is_spent(now) {
                let rows = self.line.take();
                return self.skip(rows).await;
            }
            let most = self.rest.at_once(now, self.asker.config.at_once);
            if self.under_way.len() >= most {
                return;
            }
            let Some(row) = self.line.pop(&self.early) else {
                return;
            };
            if !self.send(row).await {
                self.skip([row]).await;
            }
        }
    }

    /// Writes that a call is asked about, then asks; false for one that waits no longer or is too large.
    async fn send(&mut self, row: i64) -> bool {
        let found = self.desk.call(row, self.asker.config.earlier).await;
        let Some((subject, Some(card))) = found.map(|(key, call)| (key, Card::of(call))) else {
            return false;
        };
        let audit = asked(&self.asker, &card, subject.clone());
        let call = ReadCall::of(row, Reading::Asked, Some(audit));
        if !self.desk.note(vec![call].into()).await {
            return false;
        }
        // It was decided meanwhile.
        let under_way = self.desk.before(self.desk.now()).await.unanswered;
        if !under_way.iter().any(|(asked, _)| *asked == row) {
            return true;
        }
        // No argument leaves after the consent has ended, though the change was not noticed yet.
        if self.source.read().as_ref() != Ok(&Some(self.asker.config.clone())) {
            return true;
        }
        self.hour.take(self.desk.now());
        let (asker, knows_code) = (Arc::clone(&self.asker), self.source.knows_code);
        self.under_way.spawn(async move {
            let begun = Instant::now();
            let answer = asker.ask(&card, knows_code).await;
            let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            (row, subject, ms, answer)
        });
        true
    }

    async fn done(&mut self, (row, subject, ms, answer): Asked) {
        let now = self.desk.now();
        let audit = Some(answered(subject, ms, &answer));
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
                self.state.last_error = Some(fault.as_str().to_owned());
            }
        }
        self.note(vec![call]).await;
    }

    async fn note(&mut self, calls: Vec<ReadCall>) {
        self.state.resting_until = self.rest.until(self.desk.now());
        let (audit, state) = (None, Some(self.state.clone()));
        self.desk
            .note(ReaderNote {
                calls,
                audit,
                state,
            })
            .await;
    }

    async fn skip(&self, rows: impl IntoIterator<Item = i64>) {
        let skipped = rows
            .into_iter()
            .map(|row| ReadCall::of(row, Reading::Skipped, None));
        let skipped: Vec<ReadCall> = skipped.collect();
        for calls in skipped.chunks(AT_ONCE) {
            self.desk.note(calls.to_vec().into()).await;
        }
    }
}

/// The row of the audit log before a card is sent.
#[must_use]
pub fn asked(asker: &Asker, card: &Card, subject: String) -> ReaderAudit {
    let text = asker.text(card);
    let digest = Sha256Digest::of_bytes(text.as_bytes()).to_string();
    let detail = json!({ "digest": digest, "bytes": text.len(), "to": asker.config.to() });
    let action = "reader_asked";
    ReaderAudit {
        action,
        subject,
        detail,
    }
}

/// The row of its answer: places and words of the marks, or the failure's word.
#[must_use]
pub fn answered(subject: String, ms: u64, answer: &Result<Answer, ReaderFault>) -> ReaderAudit {
    let detail = match answer {
        Ok(answer) => {
            let codes: Vec<&str> = answer.marks.iter().map(|mark| mark.code.as_str()).collect();
            let places: Vec<&str> = answer.marks.iter().map(|mark| mark.at.as_str()).collect();
            json!({ "ms": ms, "codes": codes, "places": places, "tokens": answer.tokens })
        }
        Err(fault) => json!({ "ms": ms, "failed": fault.as_str() }),
    };
    let action = "reader_answered";
    ReaderAudit {
        action,
        subject,
        detail,
    }
}
